"""The course of one service's replication queue at one site: a fold over its readings. Pure, without input or output.

``orchestrator.core.drain_estimate`` and ``orchestrator.family.fill_estimate`` give the rates, and the times until a queue
is empty or full, for the readings within a window of time. A stall means the same as in a run
(``orchestrator.core.run``, ``orchestrator.core.decide.wait``): no progress for some time, although the last reading was
not 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Literal

from adapters.solace.reading_models import QueueDepth, ReplicationStatus
from orchestrator.core.drain_estimate import forecast
from orchestrator.family.fill_estimate import Filling, Sample, filling
from orchestrator.journal.samples import ReadingSample
from orchestrator.model.readings import Role
from pipeline.watch.arrivals import Arrivals, Kept, Rules

# fmt: off
Kind = Literal[
    "drain.stalled", "drain.moving", "queue.drained", "queue.high", "queue.clear", "queue.full", "queue.room",
    "queue.full-soon", "queue.full-later", "queue.unknown", "queue.known", "reading.late",
]
# fmt: on


@dataclass(frozen=True, slots=True, order=True)
class Read(Kept):
    """One reading of a queue; None is unknown."""

    role: Role | None = field(default=None, compare=False)
    bound: bool | None = field(default=None, compare=False)
    messages: int | None = field(default=None, compare=False)
    usage_mb: float | None = field(default=None, compare=False)
    quota_mb: float | None = field(default=None, compare=False)
    rejects: bool | None = field(default=None, compare=False)
    failure: str = field(default="", compare=False)

    @classmethod
    def of(cls, line: ReadingSample) -> Read | None:
        """The reading of the replication queue in a kept line; None when the line has no such reading."""
        queue, status = line.readings.get("replication_queue"), line.readings.get("replication")
        if queue is None and "replication_queue" not in line.failures:
            return None
        role, bound = (status.role, status.queue_bound) if isinstance(status, ReplicationStatus) else (None, None)
        if not isinstance(queue, QueueDepth):
            failure = line.failures["replication_queue"] or "no reason was given"
            return cls(line.at, line.look, line.simulated, role, bound, failure=failure)
        figures = (queue.messages, queue.usage_mb, queue.quota_mb, queue.rejects_on_discard)
        return cls(line.at, line.look, line.simulated, role, bound, *figures)

    @property
    def is_unknown(self) -> bool:
        """Does the reading lack both messages and usage? A standby that reports neither, without failure, is normal."""
        tells_nothing = self.messages is None and self.usage_mb is None
        return tells_nothing and (bool(self.failure) or self.role is not Role.STANDBY)

    @property
    def may_flow(self) -> bool:
        """May as many messages leave as arrive, so that a constant depth is not a stall?"""
        return self.role is Role.ACTIVE and self.bound is True


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of the readings so far. ``drain_rate``: messages a second by which the queue gets shorter; None when
    it does not, or when this is unknown. ``empty_in_s``: seconds after ``read``. ``moved_at``: the time of the last
    progress."""

    read: Read
    seen: Filling
    drain_rate: float | None
    empty_in_s: float | None
    moved_at: float | None


@dataclass(slots=True)
class Course(Arrivals[Read, Figures]):
    """The data kept for one replication queue."""

    waiting: list[Read] = field(default_factory=list)
    taken: list[Read] = field(default_factory=list)
    of: Literal["queue"] = "queue"
    depth: int | None = None
    moved_at: float | None = None
    is_stalled: bool = False
    is_unknown: bool = False

    @property
    def alarms(self) -> list[str]:
        """The active alarms, the worst first."""
        states: dict[Kind, bool] = {
            "queue.full": self.is_full,
            "drain.stalled": self.is_stalled,
            "queue.unknown": self.is_unknown,
            "queue.high": self.is_high,
            "queue.full-soon": self.is_soon,
        }
        return [kind for kind, is_so in states.items() if is_so]

    def kinds_of(self, read: Read, rules: Rules) -> Iterator[str]:
        """The kinds of events of ``read``, the newest of ``taken``."""
        if read.is_unknown is not self.is_unknown:
            self.is_unknown = read.is_unknown
            yield "queue.unknown" if read.is_unknown else "queue.known"
        if read.messages is not None:
            yield from self._progress(read, read.messages, rules)
        seen = self.figures_of(self.taken).seen
        is_told = seen.rate_mb is not None
        yield from self.room("queue", seen.percent, seen.full_in_s, rules, is_told=is_told)

    def figures_of(self, reads: list[Read]) -> Figures:
        """The figures of ``reads``."""
        known = [(one.at, float(one.messages)) for one in reads if one.messages is not None]
        seen = filling([Sample(one.at, one.messages, one.usage_mb, one.quota_mb) for one in reads])
        # A forecast starts at the last reading, so it needs the depth of that reading.
        drain = forecast(known) if reads[-1].messages is not None else None
        rate, eta = (None, None) if drain is None else (drain.rate, drain.eta)
        return Figures(reads[-1], seen, rate, eta, self.moved_at)

    def _progress(self, read: Read, messages: int, rules: Rules) -> Iterator[Kind]:
        """Record progress of the queue, and decide whether it is stalled.

        On a site that gave up its activity nothing new arrives. There, progress is only a depth below all depths of the
        window since then; otherwise a varying depth would count as progress. Earlier depths came from publishers and do
        not count. On an active site publishers continue, so any fall shows that messages leave. While the mate is bound,
        a constant depth is not a stall, because as many messages may leave as arrive. But it does not end a stall. The
        first reading after a gap longer than the window restarts the measurement, because the gap is unknown.
        """
        reads = self.taken[:-1]
        if read.role is Role.STANDBY:
            reads = list(takewhile(lambda one: one.role is not Role.ACTIVE, reversed(reads)))
        earlier = [one.messages for one in reads if one.messages is not None]
        before, self.depth = self.depth, messages
        floor = min(earlier) if earlier and read.role is Role.STANDBY else before
        if messages == 0 or not before or (floor is not None and messages < floor):
            self.moved_at = read.at
            if self.is_stalled:
                self.is_stalled = False
                yield "drain.moving"
            if messages == 0 and before:
                yield "queue.drained"
        elif not earlier or self.moved_at is None or (not self.is_stalled and read.may_flow and messages == before):
            self.moved_at = read.at
        elif not self.is_stalled and read.at - self.moved_at > rules.stall_s:
            self.is_stalled = True
            yield "drain.stalled"
