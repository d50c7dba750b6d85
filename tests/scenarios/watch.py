"""Shows a run to the judge of ``proof.promises``: each record once it is on disk, each change as it leaves.

With each goes the world at that moment, taken from the world itself, of whichever family it is. What anybody reads or
believes is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, overload

from orchestrator.core.run import Run
from orchestrator.family.contract import ActionSpec, Adapter, Call, Permit, ReadingSpec, Result
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import Lease
from orchestrator.model import events as ev
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.runbook import Side
from proof.promises import Judge
from proof.simulation.afterwards import record_findings, tampering


class Look(Protocol):
    """What is true of a world now, as ``proof.promises`` wants it; with ``count`` also what became of the messages."""

    def __call__(self, *, count: bool = False) -> dict[str, Any]: ...


class Watch:
    """One run from its beginning, which is when this is made; whoever leads it says so. An observer of engines."""

    def __init__(self, look: Look, run: str, plan: ev.Plan) -> None:
        self._look = look
        self._run = run
        self._plan = plan
        self._judge = Judge(plan.model_dump(mode="json"), look(count=True))
        self._journal: Journal | None = None
        self._epoch = 0

    def lead(self, journal: Journal, lease: Lease) -> None:
        """A process has taken the run."""
        self._journal = journal
        self._catch_up()
        self._epoch = lease.epoch
        self._judge.lead(lease.epoch)

    def __call__(self, record: ev.Record, run: Run) -> None:
        if record.seq > self._judge.case.seq:  # else it came with one before it
            self._catch_up()

    def adapter(self, side: Side, inner: Adapter) -> Adapter:
        """The adapter of a side, watched."""

        class Declared(_WatchedAdapter):
            readings = inner.readings
            actions = inner.actions
            simulated = inner.simulated

        return Declared(inner, side, self)

    def leaving(self, side: Side, action: str, call: Call) -> None:
        """A change is on its way to a site."""
        self._catch_up()
        seen = self._look()
        order = {
            "service": call.service,
            "on": side,
            "site": self._plan.site_name(side),
            "action": action,
            "args": dict(call.args),
            "epoch": self._epoch,
            "moment": seen["moment"],
        }
        self._judge.order(order, seen)
        self._judge.look(seen)

    def verdict(self, journal: Journal, believed: Run, *, tampered: bool = False) -> list[str]:
        """Every promise that is broken, one sentence each, now that nobody leads the run and all has arrived.

        ``believed``: what the last process took the run to be. ``tampered``: is tampering with the record found, too?
        """
        self._journal = journal
        self._catch_up()
        seen = self._look(count=True)
        self._judge.end(seen)
        findings = list(record_findings(journal, self._run, believed, self._judge, seen))
        if tampered:
            findings += tampering(journal, self._run, seed=0)
        return [str(one) for one in (*self._judge.broken, *findings)]

    def _catch_up(self) -> None:
        assert self._journal is not None, "nobody leads this run yet"
        seen = self._look()
        for line in self._journal.lines(self._run, after=self._judge.case.seq):
            self._judge.written(line, seen, epoch=self._epoch)
        self._judge.look(seen)


class _WatchedAdapter:
    readings: ClassVar[Mapping[str, ReadingSpec]]
    actions: ClassVar[Mapping[str, ActionSpec]]
    simulated: ClassVar[bool]

    def __init__(self, inner: Adapter, side: Side, watch: Watch) -> None:
        self._inner = inner
        self._side: Side = side
        self._watch = watch

    def open(self) -> None:
        self._inner.open()

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        return self._inner.probe(reading, services)

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        taken = _Taken(calls)
        yield from self._inner.apply(action, taken, _WatchedPermit(permit, self, action, taken))

    def close(self) -> None:
        self._inner.close()

    def leaving(self, action: str, call: Call) -> None:
        self._watch.leaving(self._side, action, call)


class _Taken(Sequence[Call]):
    """Calls, and which of them was taken up last; adapters take one up when they are about to carry it out."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls
        self.last = calls[0]

    def __iter__(self) -> Iterator[Call]:
        for call in self._calls:
            self.last = call
            yield call

    def __len__(self) -> int:
        return len(self._calls)

    @overload
    def __getitem__(self, index: int) -> Call: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Call]: ...
    def __getitem__(self, index: int | slice) -> Call | Sequence[Call]:
        return self._calls[index]


@dataclass(frozen=True, slots=True)
class _WatchedPermit:
    """The permit itself, and then a word to the watch: from here on the command leaves."""

    inner: Permit
    adapter: _WatchedAdapter
    action: str
    calls: _Taken

    def check(self) -> None:
        self.inner.check()
        self.adapter.leaving(self.action, self.calls.last)
