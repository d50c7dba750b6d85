"""One simulated process of the orchestrator: its clock, its journal, its sessions, each with the instants it can die at.

Everything the engine uses is the product's own; what is here stands around it and lets the theatre look on. Must never
answer for a device, or change what is written.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol, cast

from orchestrator import events as ev
from orchestrator.clock import VirtualClock
from orchestrator.contract import Adapter, Call, Failure, Permit, Result
from orchestrator.journal import Journal
from orchestrator.lease import Lease
from orchestrator.readings import Reading
from orchestrator.runbook import Choice, Side
from orchestrator.tables import METADATA
from proof.simulation.effects import AT_THE_DESK, answered, left_out
from proof.simulation.lagging import Lagging
from proof.simulation.story import Omission, Person

_EMPTY = ";".join(f"DELETE FROM {table.name}" for table in METADATA.sorted_tables)
_HEARD_S = 1.5  # how long a question stays on the screen once somebody elsewhere has answered it
_IDLE_MAX = 2_000  # so often nobody sleeps for no time at all
_LONGEST_S = 5 * 3_600.0  # the slowest bridge that is drawn, with the longest queue, takes more than an hour


class Killed(BaseException):
    """What ``kill -9`` is to a process: no handler of the product may catch it."""


class Endless(BaseException):
    """A run that waits for nothing, or goes in a circle."""


class Onlooker(Protocol):
    """What a process tells the theatre."""

    def instant(self, process: Process, place: str) -> None: ...

    def writing(self, rows: Sequence[Mapping[str, Any]]) -> None: ...

    def written(self, process: Process, rows: Sequence[Mapping[str, Any]]) -> None: ...

    def asking(self, side: Side, reading: str) -> None: ...

    def answered(self, service: str, gate: ev.GateOpened, ruling: ev.Ruling | None) -> None: ...

    def leaving(self, process: Process, side: Side, action: str, call: Call) -> None: ...

    def told(self, reading: str, answer: Reading) -> Reading: ...

    def asked(self) -> bool: ...

    @property
    def lagging(self) -> Lagging: ...


class Process:
    """Who it is: ``number`` in order of birth, and its lease. ``lives``: instants until it dies."""

    def __init__(self, number: int, clock: OffsetClock, lives: int | None = None) -> None:
        self.number = number
        self.clock = clock
        self.lives = lives
        self.lease: Lease | None = None
        self.journal: NightJournal | None = None

    @property
    def epoch(self) -> int:
        """Of its lease; 0 before it has one."""
        return 0 if self.lease is None else self.lease.epoch

    def holds_lease(self, now: float) -> bool:
        """Does its lease still run, by somebody's clock?"""
        return self.lease is not None and self.lease.expires_at > now


class NightClock(VirtualClock):
    """Virtual time that does not go on for ever. Raises ``Endless``."""

    def __init__(self) -> None:
        super().__init__()
        self._last = self.now() + _LONGEST_S

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        if self._now > self._last:
            raise Endless("the run goes on for more than five hours")


class OffsetClock:
    """The night's time as a machine has it whose clock is off."""

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


class NightJournal(Journal):
    """The product's journal, in memory or in a file. Its process may die right before or after each write."""

    onlooker: Onlooker
    process: Process

    def __init__(self, path: Path | None = None) -> None:
        super().__init__("sqlite://" if path is None else f"sqlite:///{path}")
        self.path = path
        self.tail = (0, 0)  # sizes of the write-ahead log around the last write

    def of(self, process: Process, onlooker: Onlooker) -> NightJournal:
        """The same store, as one process has it open."""
        opened = copy.copy(self)
        opened._writing = None
        opened.process, opened.onlooker = process, onlooker
        return opened

    def leave(self) -> None:
        """The process is gone; the store stays."""
        if self._writing is not None:
            if self.path is None:
                self.database.give_back(self._writing)
            else:
                self._writing.invalidate()  # or the next process would find this one's limits
            self._writing = None

    def _write(
        self, run: str, move: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], taken: Sequence[int]
    ) -> None:
        self.onlooker.writing(rows)
        self.onlooker.instant(self.process, "before writing")
        before = _size(self.path)
        super()._write(run, move, rows, taken)
        self.tail = (before, _size(self.path))
        self.onlooker.instant(self.process, "after writing")
        self.onlooker.written(self.process, rows)

    def fill_disk(self) -> None:
        """From now on the database cannot grow, as far as this process is concerned."""
        kept = self._kept()
        assert kept is not None  # it is a file
        with closing(kept.cursor()) as cursor:
            (pages,) = cursor.execute("PRAGMA page_count").fetchone()
            cursor.execute(f"PRAGMA max_page_count={pages}")

    def bury(self, run: str) -> None:
        """What the next process on that machine finds out by itself: the holder of the lease is dead."""
        with self.engine.begin() as connection:
            connection.exec_driver_sql("UPDATE runs SET expires_at = 0 WHERE run = ?", (run,))

    def empty(self) -> None:
        """As new, for the next story."""
        lent = self.database.lend()
        lent.cursor().executescript(_EMPTY)
        self.database.give_back(lent)


def _size(path: Path | None) -> int:
    """Of the write-ahead log."""
    if path is None:
        return 0
    log = path.with_name(path.name + "-wal")
    return log.stat().st_size if log.exists() else 0


class NightAdapter:
    """A site's adapter, watched. Calls go out one by one, so that a process can die between any two of them."""

    def __init__(self, inner: Adapter, side: Side, site: str, process: Process, onlooker: Onlooker) -> None:
        self._inner = inner
        self._side = side
        self._site = site
        self._process = process
        self._onlooker = onlooker
        self.readings = inner.readings
        self.actions = inner.actions
        self.simulated = inner.simulated

    def open(self) -> None:
        self._inner.open()

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        self._onlooker.asking(self._side, reading)
        self._onlooker.instant(self._process, f"before reading {reading}")
        answers = self._onlooker.lagging.shown(self._site, reading, self._inner.probe(reading, services))
        self._onlooker.instant(self._process, f"after reading {reading}")
        return {service: self._told(reading, answer) for service, answer in answers.items()}

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        for call in calls:
            self._onlooker.instant(self._process, f"before {action}")
            self._onlooker.lagging.before_change(self._site, self._inner)
            watched = _WatchedPermit(permit, self, action, call)
            yield from self._inner.apply(action, [call], watched)
            self._onlooker.instant(self._process, f"after {action}")

    def close(self) -> None:
        self._inner.close()

    def leaving(self, action: str, call: Call) -> None:
        """A command is on its way."""
        self._onlooker.leaving(self._process, self._side, action, call)

    def _told(self, reading: str, answer: Reading | Failure) -> Reading | Failure:
        """The answer as this family gives it: some leave out what others tell."""
        if isinstance(answer, Failure):
            return answer
        return self._onlooker.told(reading, answer)


class _WatchedPermit:
    """The permit itself, and then a word to the onlooker: from here on the command leaves."""

    def __init__(self, inner: Permit, adapter: NightAdapter, action: str, call: Call) -> None:
        self._inner, self._adapter, self._action, self._call = inner, adapter, action, call

    def check(self) -> None:
        self._inner.check()
        self._adapter.leaving(self._action, self._call)


class Omissions:
    """What a family leaves out; ``effects`` counts what would have been told otherwise."""

    def __init__(self, omissions: Sequence[Omission], effects: Counter[str]) -> None:
        self._effects = effects
        self._left = [(one, [one.skip, one.times]) for one in omissions]

    def told(self, reading: str, answer: Reading) -> Reading:
        """What is left of the answer this time."""
        for omission, left in self._left:
            if omission.reading == reading and self._is_due(left):
                answer = self._without(answer, omission)
        return answer

    @staticmethod
    def _is_due(left: list[int]) -> bool:
        if left[0]:
            left[0] -= 1
            return False
        left[1] -= 1
        return left[1] >= 0

    def _without(self, answer: Reading, omission: Omission) -> Reading:
        name, _, inner = omission.field.partition(".")
        if name not in type(answer).model_fields:
            return answer  # a kept story may leave out what has no field of its own
        value = getattr(answer, name)
        if inner:
            is_known = any(getattr(one, inner) is not None for one in value)
            value = tuple(one.model_copy(update={inner: None}) for one in value)
        else:
            is_known, value = value is not None, None
        if is_known:
            self._effects[left_out(omission.reading, omission.field)] += 1
        return answer.model_copy(update={name: value})


class NightDesk:
    """A person who answers in turn, rightly, wrongly or late, and is then gone; ``effects`` counts what was said."""

    def __init__(self, person: Person, clock: OffsetClock, onlooker: Onlooker, effects: Counter[str]) -> None:
        self._onlooker = onlooker
        self._effects = effects
        self._left = list(person.answers)
        self._thinks = person.thinks
        self._clock = clock

    def ask(self, lane: str, gate: ev.GateOpened) -> ev.Ruling | None:
        if self._onlooker.asked():
            self._clock.sleep(_HEARD_S)
        ruling = self._next(gate)
        self._onlooker.answered(lane, gate, ruling)
        return ruling

    def _next(self, gate: ev.GateOpened) -> ev.Ruling | None:
        if not self._left:
            return None
        self._clock.sleep(self._thinks)
        choice = self._left.pop(0)
        if choice == "first":
            choice = gate.choices[0]
        self._effects[answered(AT_THE_DESK, choice, gate.choices, is_late=self._thinks > 0)] += 1
        return ev.Ruling.model_construct(choice=cast("Choice", choice), reason="as agreed on the call", by="ann")
