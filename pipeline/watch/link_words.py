"""Events and state of an AMPS instance and its link, in the words and with the figures of ``failover watch``. AMPS does
not report how many messages the mate lacks, so this number is always unknown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from adapters.amps.offers.outlook import HAPPENED, Outlook, outlook
from adapters.amps.offers.outlook import figures_of as figures_of_look
from adapters.amps.reading_models import CALM_INTERVALS
from orchestrator.ages import span
from orchestrator.clock import iso
from pipeline.watch.arrivals import Rules
from pipeline.watch.link import LinkFigures
from pipeline.watch.queue_words import rounded

# Events that need an operator's action. Other events end one of these, or are only recorded.
ALARMS: frozenset[str] = frozenset(
    {
        *("drain.stalled", "link.unknown", "link.cut", "link.downgraded"),
        *("journals.full", "journals.high", "journals.full-soon"),
    }
)


def sentence_of(kind: str, figures: LinkFigures, rules: Rules) -> str:
    """The sentence for one event of ``LinkKind``."""
    read, look, mate = figures.read, figures.look, _mate(figures)
    behind = "the delay is unknown" if read.behind_s is None else f"{read.behind_s:g} s behind"
    waits = f" and publishers wait for {mate}" if look.links is not None and look.links.sync else ""
    room = None if look.log is None else look.log.survives_s
    silence = "the instance does not report whether its link is connected"
    if look.silence:
        silence = f"the instance does not answer: {look.silence}"
    sentences: Mapping[str, str] = {
        "link.unknown": f"UNKNOWN: {silence}",
        "link.known": "the state of the link can be read again",
        "link.cut": f"the link to {mate} is NOT CONNECTED{waits}; it is unknown how many messages {mate} lacks",
        "link.connected": f"{HAPPENED['connected']}, {behind}",
        "link.downgraded": HAPPENED["downgraded"],
        "link.upgraded": HAPPENED["upgraded"],
        "link.caught-up": f"the link has caught up: connected and 0 s behind for {CALM_INTERVALS} whole intervals",
        "drain.stalled": f"STALLED: the link is connected but has made no progress for {span(_stood(figures))}, {behind}",
        "drain.moving": f"the link moves again, {behind}",
        "journals.high": HAPPENED["high"],
        "journals.clear": HAPPENED["clear"],
        "journals.full": "FULL: journals have used all their disk space",
        "journals.room": "there is disk space for journals again",
        "journals.full-soon": f"the disk space for journals lasts about {span(room or 0.0)}, and {mate} is away",
        "journals.full-later": f"the disk space for journals now lasts longer than {span(rules.full_within_s)}",
        "reading.late": f"a reading of {iso(read.at)} arrived after a newer one, so it is ignored",
    }
    return sentences[kind]


def figures_of(figures: LinkFigures, service: str) -> dict[str, Any]:
    """The figures for machines; null is unknown."""
    look, told = figures.look, _outlook_of(figures, service)
    links = look.links
    return {
        "state": told.state,
        **figures_of_look(look),
        "caught_up": None if links is None else links.caught_up,
        "keeping_up": None if links is None else links.keeping_up,
        "drain_rate_s_per_s": rounded(figures.drain_rate),
        "level_in_s": rounded(figures.level_in_s),
        "sent_per_s": rounded(figures.sent_per_s),
        "owned_drain_rate_per_s": rounded(figures.owned_rate),
        "owned_gone_in_s": rounded(figures.owned_gone_in_s),
        "moved_at": None if figures.moved_at is None else iso(figures.moved_at),
        "advice": told.advice,
        **({"failure": look.silence} if look.silence else {}),
    }


def standing(figures: LinkFigures, service: str) -> str:
    """The state of the instance as a sentence for a person."""
    parts = [_outlook_of(figures, service).sentence]
    if figures.drain_rate is not None:
        level = span(figures.level_in_s or 0.0)
        parts.append(f"the delay falls by {figures.drain_rate:.2g} s per second and is 0 in about {level}")
    if figures.owned_rate is not None:
        parts.append(f"owned messages are gone in about {span(figures.owned_gone_in_s or 0.0)}")
    return ", ".join(parts)


def _outlook_of(figures: LinkFigures, service: str) -> Outlook:
    line = figures.read.line
    told = outlook(figures.look, service=service, mate=_mate(figures))
    # The advice is a command that names the mate, so it needs the name of the mate.
    return told if line is not None and line.mate is not None else replace(told, advice="")


def _mate(figures: LinkFigures) -> str:
    line = figures.read.line
    return "its mate" if line is None or line.mate is None else line.mate


def _stood(figures: LinkFigures) -> float:
    return figures.read.at - (figures.moved_at or figures.read.at)
