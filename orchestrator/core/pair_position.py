"""How the two ends of a service are, judged once from the facets of what both report. Pure; it knows no family.

A field that neither end reports has no say; one that an end should report and does not makes the verdict unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from orchestrator.counting import counted
from orchestrator.model.facets import Facet
from orchestrator.model.families import Family
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading

BOTH_ACTIVE, NONE_ACTIVE = "BOTH ACTIVE", "no active site"

Answers = Mapping[str, Mapping[str, Reading | Failure]]
Serving = Literal["first", "second", "both", "none", "unknown"]


@dataclass(frozen=True, slots=True)
class End:
    """One site's end of a service; None is unknown. ``unit``: what ``backlog`` counts; ``error``: what was not read."""

    site: str
    serves: bool | None = None
    link: bool | None = None
    backlog: int | None = None
    unit: str = ""
    in_doubt: int | None = None
    clients: int | None = None
    suspended: bool | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class PairPosition:
    """How a pair is. ``word``: ``ok``, or what is wrong or unknown, as every screen says it."""

    serving: Serving
    word: str

    @property
    def is_good(self) -> bool:
        """Was everything that counts read, and does it fit?"""
        return self.word == "ok"


def end_of(family: Family, site: str, answers: Answers, service: str) -> End:
    """The facets of one end, from the readings that ``family`` names for it."""
    found = {name: answers.get(name, {}).get(service) for name in family.surveyed}
    values = [one for one in found.values() if isinstance(one, Reading)]
    failures = [
        one.text if isinstance(one, Failure) else f"{name} was not read"
        for name, one in found.items()
        if not isinstance(one, Reading)
    ]
    return End(
        site=site,
        serves=_flag(values, Facet.SERVES),
        link=_flag(values, Facet.LINK),
        backlog=_number(values, Facet.BACKLOG),
        unit=family.unit_of(Facet.BACKLOG),
        in_doubt=_number(values, Facet.IN_DOUBT),
        clients=_number(values, Facet.CLIENTS),
        suspended=_flag(values, Facet.SUSPENDED),
        error=failures[0] if failures else "",
    )


def _flag(values: Sequence[Reading], facet: Facet) -> bool | None:
    return next((found for one in values if (found := one.flag(facet)) is not None), None)


def _number(values: Sequence[Reading], facet: Facet) -> int | None:
    return next((found for one in values if (found := one.number(facet)) is not None), None)


def position_of(family: Family, ends: tuple[End, End]) -> PairPosition:
    """The one judgement: who serves, whether the link holds, what is left at the wrong end."""
    serving = _serving(ends)
    for end in ends:
        if end.error:
            return PairPosition(serving, f"unknown: {end.error}")
    word = _word(family, serving, ends)
    if any(end.suspended and end.serves is not False for end in ends):
        suspended = "replication is suspended"
        word = suspended if word == "ok" else f"{word}; {suspended}"
    return PairPosition(serving, word)


def _serving(ends: tuple[End, End]) -> Serving:
    match (ends[0].serves, ends[1].serves):
        case (True, True):
            return "both"
        case (True, False):
            return "first"
        case (False, True):
            return "second"
        case (False, False):
            return "none"
        case _:
            return "unknown"


def _word(family: Family, serving: Serving, ends: tuple[End, End]) -> str:
    is_exclusive = all(model.exclusive for model in family.readings.values())
    if serving == "unknown":
        return f"unknown: {next(end.site for end in ends if end.serves is None)} does not report whether it serves"
    if serving == "none":
        return NONE_ACTIVE
    if serving == "both" and is_exclusive:
        return BOTH_ACTIVE
    links = [end.link for end in ends]
    if False in links:
        return f"the link is down ({next(end.site for end in ends if end.link is False)})"
    if family.offers(Facet.LINK) and True not in links:
        return "unknown: no end reports its link"
    idle = next((end for end in ends if end.serves is False), None)
    if idle is not None and idle.backlog:  # the serving site did not get it
        return f"{counted(idle.backlog, idle.unit or 'entry', '' if idle.unit else 'entries')} left at {idle.site}"
    return "ok"
