"""One simulated process of the orchestrator: who it is, its clock, and what it tells the theatre that looks on."""

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

_IDLE_MAX = 2_000  # so often no one sleeps for no time at all
_LONGEST_S = 24 * 3_600.0  # a bridge that takes hours, a machine that sleeps, and both sites slow for six hours each


class Killed(BaseException):
    """What ``kill -9`` is to a process: no handler of the product may catch it."""


class Endless(BaseException):
    """A run that waits for nothing, or goes in a circle."""


class Onlooker(Protocol):
    """What a process tells the theatre."""

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
    """Who it is: ``number`` in order of start, its lease. ``lives``: instants until it dies. ``is_threaded``: its sites
    are spoken to at the same time. ``is_dead``: nothing of it continues; ``is_over``: its engine has ended."""

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
        """Of its lease; 0 before it has one."""
        return 0 if self.lease is None else self.lease.epoch

    def holds_lease(self, now: float) -> bool:
        """Does its lease still run, by a person's clock? One that lasts longer than any can is of a wrong one."""
        return self.lease is not None and 0 < self.lease.expires_at - now <= LEASE_SECONDS + CLOCKS_APART

    @property
    def lease_left(self) -> float:
        """For how many seconds more, by its own clock."""
        return 0.0 if self.lease is None else self.lease.expires_at - self.clock.now()


class SimulatedClock(VirtualClock):
    """Virtual time that does not continue for ever. Raises ``Endless``."""

    def __init__(self) -> None:
        super().__init__()
        self._last = self.now() + _LONGEST_S

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        if self._now > self._last:
            raise Endless(f"the run lasts more than {_LONGEST_S / 3_600:.0f} hours")


class OffsetClock:
    """The simulated run's time as a machine has it whose clock is off."""

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
