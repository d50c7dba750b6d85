"""The course of one AMPS service at one site: a fold over its readings, mainly of the link to its mate. Pure.

AMPS does not count the messages that a destination lacks (``adapters.amps.offers.outlook``). A link reports how many
seconds it is behind. The decrease from one reading to the next gives a rate, and the time until the link is level. A
single reading does not estimate that time (docs/sources/amps.md, 6.2).

Stalled: the link is connected and further behind than is normal under load, and for some time it neither sent a
message nor reduced its delay. While the link is not connected, this is reported instead of a stall, and the
measurement of a stall restarts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Literal

from adapters.amps.offers.outlook import HARDLY_S, Observation
from adapters.amps.reading_models import Links, Queues
from orchestrator.core.drain_estimate import forecast
from orchestrator.journal.samples import ReadingSample
from orchestrator.model.outcome import Failure
from pipeline.watch.arrivals import Arrivals, Kept, Rules

# fmt: off
LinkKind = Literal[
    "link.unknown", "link.known", "link.cut", "link.connected", "link.downgraded", "link.upgraded", "link.caught-up",
    "drain.stalled", "drain.moving", "journals.high", "journals.clear", "journals.full", "journals.room",
    "journals.full-soon", "journals.full-later", "reading.late",
]
# fmt: on


@dataclass(frozen=True, slots=True, order=True)
class LinkRead(Kept):
    """One reading of an instance; None is unknown. ``behind_s`` and ``messages_out``: of the link to the mate.
    ``owned``: the number of queue messages owned here. ``line``: the whole line, kept for the newest reading and for
    waiting readings only."""

    connected: bool | None = field(default=None, compare=False)
    behind_s: float | None = field(default=None, compare=False)
    messages_out: int | None = field(default=None, compare=False)
    owned: int | None = field(default=None, compare=False)
    line: ReadingSample | None = field(default=None, compare=False)

    @classmethod
    def of(cls, line: ReadingSample) -> LinkRead | None:
        """The reading of an AMPS instance in a kept line; None when the line has no reading of links."""
        if "links" not in line.readings and "links" not in line.failures:
            return None
        links, queues = line.readings.get("links"), line.readings.get("queues")
        link = links.to_mate() if isinstance(links, Links) else None
        told = (None, None, None) if link is None else (link.connected, link.behind_s, link.messages_out)
        owned = queues.owned if isinstance(queues, Queues) else None
        return cls(line.at, line.look, line.simulated, *told, owned, line)

    @property
    def is_behind(self) -> bool | None:
        """Is the link further behind than is normal under load (``HARDLY_S``)?"""
        return None if self.behind_s is None else self.behind_s > HARDLY_S


@dataclass(frozen=True, slots=True)
class LinkFigures:
    """The figures of the readings so far. ``drain_rate``: seconds a second by which the link's delay shrinks; None
    when it does not, or when this is unknown. ``level_in_s``: seconds after ``read`` until the link is level at
    this rate. ``sent_per_s``: messages a second over the link. ``owned_rate``: queue messages a second that are handed
    over. ``owned_gone_in_s``: seconds until none is owned here. Both are known only while clients are kept out.
    ``moved_at``: the last progress of the link."""

    read: LinkRead
    look: Observation
    drain_rate: float | None
    level_in_s: float | None
    sent_per_s: float | None
    owned_rate: float | None
    owned_gone_in_s: float | None
    moved_at: float | None


@dataclass(slots=True)
class LinkCourse(Arrivals[LinkRead, LinkFigures]):
    """The data kept for one AMPS service at one site."""

    waiting: list[LinkRead] = field(default_factory=list)
    taken: list[LinkRead] = field(default_factory=list)
    of: Literal["link"] = "link"
    behind_s: float | None = None
    messages_out: int | None = None
    moved_at: float | None = None
    cut_at: float | None = None
    is_unknown: bool = False
    is_cut: bool = False
    is_downgraded: bool = False
    is_stalled: bool = False
    lacks: bool = False

    @property
    def alarms(self) -> list[str]:
        """The active alarms, the worst first."""
        states: dict[LinkKind, bool] = {
            "journals.full": self.is_full,
            "link.unknown": self.is_unknown,
            "link.cut": self.is_cut,
            "drain.stalled": self.is_stalled,
            "link.downgraded": self.is_downgraded,
            "journals.high": self.is_high,
            "journals.full-soon": self.is_soon,
        }
        return [kind for kind, is_so in states.items() if is_so]

    def kinds_of(self, read: LinkRead, rules: Rules) -> Iterator[str]:
        """The kinds of events of ``read``, the newest of ``taken``."""
        if len(self.taken) > 1:
            self.taken[-2] = replace(self.taken[-2], line=None)
        is_unknown = read.connected is None
        if is_unknown is not self.is_unknown:
            self.is_unknown = is_unknown
            yield "link.unknown" if is_unknown else "link.known"
        yield from self._link(read)
        yield from self._progress(read, rules)
        look = self._look(read)
        if look.log is not None:
            # A connected mate takes the messages that the journals keep for it, so journals do not fill because of it.
            left = look.log.survives_s
            is_told = left is not None and read.connected is not None
            fills = left if left == 0.0 or read.connected is False else None
            yield from self.room("journals", look.percent_full, fills, rules, is_told=is_told)

    def figures_of(self, reads: list[LinkRead]) -> LinkFigures:
        """The figures of ``reads``."""
        last = reads[-1]
        joined = list(takewhile(lambda one: one.connected is not False, reversed(reads)))[::-1]
        behind = [(one.at, one.behind_s) for one in joined if one.behind_s is not None]
        drain = forecast(behind) if last.connected and last.is_behind else None
        look = self._look(last)
        # While clients take messages, the number only varies. While clients are kept out, the owner hands messages over.
        is_closed = look.transports is not None and look.transports.closed
        owned = [(one.at, float(one.owned)) for one in reads if one.owned is not None]
        handed = forecast(owned) if is_closed and last.owned is not None else None
        return LinkFigures(
            last,
            look,
            drain_rate=None if drain is None else drain.rate,
            level_in_s=None if drain is None else drain.eta,
            sent_per_s=_sent_per_s(joined),
            owned_rate=None if handed is None else handed.rate,
            owned_gone_in_s=None if handed is None else handed.eta,
            moved_at=self.moved_at,
        )

    def _look(self, read: LinkRead) -> Observation:
        cut_s = read.at - self.cut_at if self.cut_at is not None and read.at > self.cut_at else None
        return Observation() if read.line is None else replace(look_of(read.line), cut_s=cut_s)

    def _link(self, read: LinkRead) -> Iterator[LinkKind]:
        """The events of the link's connection and acknowledgement mode. Unknown values change no state."""
        if read.connected is not None:
            if read.connected is self.is_cut:
                self.is_cut = not read.connected
                yield "link.cut" if self.is_cut else "link.connected"
            self.cut_at = None if read.connected else read.at if self.cut_at is None else self.cut_at
        links = None if read.line is None else read.line.readings.get("links")
        if not isinstance(links, Links):
            return
        if links.downgraded is not None and links.downgraded is not self.is_downgraded:
            self.is_downgraded = links.downgraded
            yield "link.downgraded" if self.is_downgraded else "link.upgraded"
        if read.is_behind or self.is_cut:
            self.lacks = True
        elif self.lacks and links.caught_up:
            self.lacks = False
            yield "link.caught-up"

    def _progress(self, read: LinkRead, rules: Rules) -> Iterator[LinkKind]:
        """Record progress of the link, and decide whether it is stalled.

        Progress means that the link sent a message or reduced its delay. A counter that is lower than before comes
        from a restarted instance. The first reading after a gap longer than the window, or after a disconnection,
        restarts the measurement, because the time between is unknown.
        """
        if read.behind_s is None:
            return
        earlier = [one for one in self.taken[:-1] if one.behind_s is not None]
        was_joined = bool(earlier) and earlier[-1].connected is True
        fell = self.behind_s is not None and read.behind_s < self.behind_s
        sent = None not in (read.messages_out, self.messages_out) and read.messages_out != self.messages_out
        self.behind_s, self.messages_out = read.behind_s, read.messages_out
        if read.connected and (fell or sent or not read.is_behind):
            self.moved_at = read.at
            if self.is_stalled:
                self.is_stalled = False
                yield "drain.moving"
        elif self.moved_at is None or not was_joined or not read.connected:
            self.moved_at = read.at
        elif not self.is_stalled and read.at - self.moved_at > rules.stall_s:
            self.is_stalled = True
            yield "drain.stalled"


def look_of(line: ReadingSample) -> Observation:
    """A kept line as an observation of ``failover watch``. A line without any reading means that the instance does not
    answer."""
    why = {name: text or "no reason was given" for name, text in line.failures.items()}
    if not line.readings:
        return Observation(silence=why.get("links", ""))
    return Observation.of(
        dict(line.readings) | {name: Failure(kind="Unread", text=text) for name, text in why.items()}
    )


def _sent_per_s(reads: list[LinkRead]) -> float | None:
    """Messages a second over the newest half of these readings, at least two readings; None: unknown."""
    known = [(one.at, one.messages_out) for one in reads if one.messages_out is not None]
    recent = known[-max(2, len(known) // 2) :]
    if len(recent) < 2 or recent[-1][1] < recent[0][1] or recent[-1][0] == recent[0][0]:
        return None  # two commands may have read at the same time
    return (recent[-1][1] - recent[0][1]) / (recent[-1][0] - recent[0][0])
