"""One simulated process of the orchestrator: its identity, its clock, and its notifications to the simulation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from orchestrator.clock import VirtualClock
from orchestrator.engine.engine import Engine
from orchestrator.family.contract import Call
from orchestrator.journal.lease import CLOCKS_APART, LEASE_SECONDS, Lease
from orchestrator.model import events as ev
from orchestrator.model.reading import Reading
from orchestrator.model.runbook import Side

if TYPE_CHECKING:
    from proof.simulation.journal import SimulatedJournal
    from proof.simulation.lagging import Lagging
    from proof.simulation.slowness import Slowness

_IDLE_MAX = 2_000  # no process sleeps this many times in a row without time passing
_LONGEST_S = 24 * 3_600.0  # a bridge that takes hours, a machine that sleeps, and both sites slow for six hours each


class Killed(BaseException):
    """Like ``kill -9`` for a process: no handler of the product may catch it."""


class Endless(BaseException):
    """A run that waits for nothing, or repeats itself for ever."""


class Onlooker(Protocol):
    """The notifications of a process to the simulation."""

    def instant(self, process: Process, place: str) -> None: ...

    def writing(self, rows: Sequence[Mapping[str, Any]]) -> None: ...

    def written(self, process: Process, rows: Sequence[Mapping[str, Any]]) -> None: ...

    def listening(self) -> None: ...

    def asking(self, side: Side, reading: str) -> None: ...

    def answered(self, service: str, gate: ev.GateOpened, ruling: ev.Ruling | None) -> None: ...

    def leaving(self, process: Process, side: Side, action: str, call: Call) -> None: ...

    def told(self, reading: str, answer: Reading) -> Reading: ...

    def asked(self) -> bool: ...

    @property
    def lagging(self) -> Lagging: ...

    @property
    def slowness(self) -> Slowness: ...


class Process:
    """One process. ``number``: its place in the order of starts. ``lives``: instants until it dies. ``is_threaded``: it
    uses both sites at the same time. ``is_dead``: nothing of it continues. ``is_over``: its engine has ended."""

    def __init__(
        self, number: int, clock: OffsetClock, lives: int | None = None, *, is_threaded: bool = False
    ) -> None:
        self.number = number
        self.clock = clock
        self.lives = lives
        self.is_threaded = is_threaded
        self.is_dead = self.is_over = self.is_full = False
        self.lease: Lease | None = None
        self.journal: SimulatedJournal | None = None
        self.engine: Engine | None = None

    @property
    def epoch(self) -> int:
        """The epoch of its lease; 0 before it has a lease."""
        return 0 if self.lease is None else self.lease.epoch

    def holds_lease(self, now: float) -> bool:
        """Does its lease still run at ``now``? A lease that would last longer than possible comes from a wrong clock."""
        return self.lease is not None and 0 < self.lease.expires_at - now <= LEASE_SECONDS + CLOCKS_APART

    @property
    def lease_left(self) -> float:
        """The seconds that are left of its lease, by its own clock."""
        return 0.0 if self.lease is None else self.lease.expires_at - self.clock.now()


class SimulatedClock(VirtualClock):
    """Virtual time with a limit. Raises ``Endless`` at the limit."""

    def __init__(self) -> None:
        super().__init__()
        self._last = self.now() + _LONGEST_S

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        if self._now > self._last:
            raise Endless(f"the run lasts more than {_LONGEST_S / 3_600:.0f} hours")


class OffsetClock:
    """The simulation's time on a machine whose clock is off."""

    def __init__(self, base: VirtualClock, offset: float) -> None:
        self._base = base
        self._idle = 0
        self.offset = offset

    def now(self) -> float:
        return self._base.now() + self.offset

    def sleep(self, seconds: float) -> None:
        before = self._base.now()
        self._base.sleep(seconds)
        self._idle = 0 if self._base.now() > before else self._idle + 1
        if self._idle > _IDLE_MAX:
            raise Endless("does nothing, for ever")
