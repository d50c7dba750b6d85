"""Reads and shows an AMPS instance for a watch: its link, the messages that its mate may lack, and the room for
journals while the mate is away.

There is nothing to suspend: AMPS keeps journals until every destination has acknowledged them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from adapters.amps.offers.outlook import HAPPENED, Observation, Outlook, figures_of, outlook
from orchestrator.family.contract import Adapter
from orchestrator.family.fill_estimate import crossing
from orchestrator.family.reachability import REACHABILITY, probe
from orchestrator.family.watch import Answers, Figures, Follower, WatchLine, WatchPart, WatchRow, WatchTarget
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Reachability

READINGS = ("transports", "clients", "links", "queues", "transaction_log")
_ALARMS = frozenset({"silent", "cut", "downgraded", "high"})


class InstanceFollower(Follower):
    """Follows the instance of one service at one site. An unknown value changes nothing."""

    def __init__(self, target: WatchTarget) -> None:
        self._target = target
        self._answered: bool | None = None
        self._connected: bool | None = None
        self._downgraded: bool | None = None
        self._cut_at: float | None = None
        self._is_high = False
        self._state, self._advised = "", ""
        self._figures: Figures | None = None

    def take(self, found: Mapping[str, Reading | Failure], now: float) -> WatchRow:
        """See ``Follower``."""
        seen, was_silent = _observation(found), self._answered is False
        happened = [*self._answering(seen), *self._linked(seen, now), *self._filled(seen)]
        seen = replace(seen, cut_s=None if self._cut_at is None else now - self._cut_at)
        judged = outlook(seen, service=self._target.service, mate=self._target.mate)
        self._figures = {"state": judged.state, **figures_of(seen), "advice": judged.advice}
        if judged.state != self._state:
            self._state, self._advised = judged.state, ""
        # An instance that still does not answer is shown once.
        lines = self._lines(judged, happened, is_news=not (was_silent and judged.state == "silent"))
        self._advised = judged.advice or self._advised
        return WatchRow({**self._figures, "happened": happened}, lines)

    def figures(self) -> Figures | None:
        """See ``Follower``."""
        return self._figures

    def _answering(self, seen: Observation) -> Iterator[str]:
        answers, before = not seen.silence, self._answered
        self._answered = answers
        if before is not None and answers is not before:
            yield "answers" if answers else "silent"

    def _linked(self, seen: Observation, now: float) -> Iterator[str]:
        links = seen.links
        if links is not None and links.connected is not None:
            if self._connected is not None and links.connected is not self._connected:
                yield "connected" if links.connected else "cut"
            self._connected = links.connected
            self._cut_at = None if links.connected else (now if self._cut_at is None else self._cut_at)
        if links is not None and links.downgraded is not None:
            if self._downgraded is not None and links.downgraded is not self._downgraded:
                yield "downgraded" if links.downgraded else "upgraded"
            self._downgraded = links.downgraded

    def _filled(self, seen: Observation) -> Iterator[str]:
        crossed = crossing(self._is_high, seen.percent_full)
        if crossed is not None:
            self._is_high = crossed == "high"
            yield crossed

    def _lines(self, judged: Outlook, happened: Sequence[str], *, is_news: bool) -> list[WatchLine]:
        lines = [WatchLine(judged.sentence)] if is_news else []
        lines += [WatchLine(HAPPENED[event], event in _ALARMS) for event in happened]
        if judged.advice and judged.advice != self._advised:
            lines.append(WatchLine(f"what to do: {judged.advice}", is_alarm=True))
        return lines


def _read(adapter: Adapter, services: Sequence[str]) -> Answers:
    reached = probe(adapter, REACHABILITY, services)
    if not any(isinstance(one, Reachability) and one.answers for one in reached.values()):
        silence = {
            service: Failure(
                kind="Unreachable", text=one.why if isinstance(one, Reachability) else "it does not answer"
            )
            for service, one in reached.items()
        }
        return {REACHABILITY: reached, **dict.fromkeys(READINGS, silence)}
    return {REACHABILITY: reached, **{name: probe(adapter, name, services) for name in READINGS}}


def _observation(found: Mapping[str, Reading | Failure]) -> Observation:
    reached = found[REACHABILITY]
    if isinstance(reached, Reachability) and not reached.answers:
        return Observation(silence=reached.why)
    return Observation.of({name: found[name] for name in READINGS})


WATCH = WatchPart(
    read=_read,
    follow=InstanceFollower,
    ended="stopped; the instances are no longer watched",
    no_suspension="AMPS cannot suspend replication: it keeps journals until every destination has acknowledged them",
)
