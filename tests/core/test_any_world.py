"""Whatever devices, bridge and people do: a named end, a safe pair, and a record that tells the same as the memory."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st

from orchestrator.clock import VirtualClock
from orchestrator.core.run import Run, fold
from orchestrator.errors import AdapterError, CommandRejected, CommandTimedOut, ConnectionLost, Unreachable
from orchestrator.model import events as ev
from orchestrator.model.runbook import Side
from tests.core.builders import CONTROLLED, DRAIN, a_plan, created
from tests.core.killing import Fuse, Killed, KillingJournal, bury, judge_safety
from tests.core.leading import RUN, Lead, ScriptedDesk
from tests.core.scripted import ScriptedPair

RULINGS = {
    "1-a-b": ev.Ruling(choice="commit", reason="all other branches are committed", by="ann"),
    "1-a-c": ev.Ruling(choice="rollback", reason="another branch is rolled back", by="ann"),
}
READINGS = ("replication", "replication_queue", "transactions")
ACTIONS = ("set_role", "complete_transaction", "delete_transaction")
SIDES = st.sampled_from(["source", "target", None])

# What takes effect late shows within 0.9 + 0.9 seconds, which is less than any doubt is left alone (settle, 2s).
LAG = st.sampled_from([0.0, 0.3, 0.9])


@dataclass(frozen=True)
class Mishap:
    """Something that goes wrong with the calls of one reading or action."""

    verb: str
    on: Side | None
    error: AdapterError
    obeyed: bool = False
    late: float = 0.0
    skip: int = 0
    times: int = 1


def mishaps() -> st.SearchStrategy[Mishap]:
    doubts = st.sampled_from([CommandTimedOut("no answer"), ConnectionLost("the session broke")])
    refusals = st.sampled_from([Unreachable("no route"), CommandRejected("busy")])
    counts = {"skip": st.integers(0, 3), "times": st.integers(1, 4), "on": SIDES}
    reading = st.builds(
        Mishap, verb=st.sampled_from(READINGS), error=st.one_of(doubts, st.just(Unreachable("no route"))), **counts
    )
    refused = st.builds(Mishap, verb=st.sampled_from(ACTIONS), error=refusals, **counts)
    doubted = st.builds(Mishap, verb=st.sampled_from(ACTIONS), error=doubts, obeyed=st.booleans(), late=LAG, **counts)
    return st.one_of(reading, refused, doubted)


@dataclass(frozen=True)
class Tale:
    """A pair and what happens to it."""

    depth: int
    rate: float
    lag: float
    mishaps: tuple[Mishap, ...]
    lost_after: float | None
    mended_after: float | None
    prepared: tuple[str, ...]
    decided: bool
    on_gate: dict[str, str]
    answers: dict[str, str] | None

    def pair(self) -> ScriptedPair:
        pair = ScriptedPair(VirtualClock(), depth=self.depth, rate=self.rate, lag=self.lag)
        for xid in self.prepared:
            pair.prepare(xid)
        for one in self.mishaps:
            pair.fail(
                one.verb, one.error, on=one.on, obeyed=one.obeyed, late=one.late, skip=one.skip, times=one.times
            )
        if self.lost_after is not None:
            pair.once_told("set_role", "source", self.lost_after, lambda: self._lose(pair))
        return pair

    def _lose(self, pair: ScriptedPair) -> None:
        pair.lose_bridge()
        if self.mended_after is not None:
            pair.after(self.mended_after, pair.mend_bridge)

    def plan(self) -> ev.Plan:
        """Short times, so that a tale is quickly told."""
        lost = {**DRAIN["when_guard_breaks"], "grace": "4s"}
        stalled = {**DRAIN["when_stalled"], "after": "6s"}
        short: dict[str, dict[str, Any]] = {
            "drain": {"when_guard_breaks": lost, "when_stalled": stalled},
            "delete-at-target": {"delay": "1s"},
        }
        steps = ({**step, "patience": "5s", "within": "4s", **short.get(step["id"], {})} for step in CONTROLLED)
        policy = {"on_gate": self.on_gate, "transactions": RULINGS if self.decided else {}}
        return a_plan(*steps, policy=ev.Policy.model_validate(policy))


GATES = {
    "bridge-lost": ["revert", "escalate"],
    "drain-stalled": ["revert", "escalate"],
    "step-failed": ["retry", "revert", "stop"],
    "undo-failed": ["retry", "stop"],
    "xa": ["commit", "rollback", "stop"],
}


def answers() -> st.SearchStrategy[dict[str, str]]:
    return st.fixed_dictionaries({}, optional={gate: st.sampled_from(choices) for gate, choices in GATES.items()})


def decided_beforehand() -> st.SearchStrategy[dict[str, str]]:
    # A policy that retries for ever is what it says; it has no end in a world that does not mend.
    return answers().map(lambda chosen: {gate: choice for gate, choice in chosen.items() if choice != "retry"})


TALES = st.builds(
    Tale,
    depth=st.sampled_from([0, 1, 30, 200]),
    rate=st.sampled_from([0.0, 20.0, 100.0]),
    lag=LAG,
    mishaps=st.lists(mishaps(), max_size=4).map(tuple),
    lost_after=st.sampled_from([None, 0.0, 0.4, 2.0]),
    mended_after=st.sampled_from([None, 1.0, 5.5]),
    prepared=st.lists(st.sampled_from(sorted(RULINGS)), unique=True).map(tuple),
    decided=st.booleans(),
    on_gate=decided_beforehand(),
    answers=st.one_of(st.none(), answers()),
)
QUICK = settings(
    max_examples=int(os.environ.get("FAILOVER_TEST_EXAMPLES", "40")),
    deadline=None,
    phases=[Phase.reuse, Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.too_slow],
)


class Shadow:
    """A watcher that folds what it is shown, after a trip through JSON, and compares it with the memory."""

    def __init__(self, start: Run) -> None:
        self.run = start
        self.compared = 0

    def __call__(self, record: ev.Record, memory: Run) -> None:
        again = ev.event_from_json(record.event.model_dump_json())
        self.run.fold(ev.Record(record.run, record.seq, record.at, record.lane, again))
        if record.seq == memory.seq:
            assert self.run == memory
            self.compared += 1


def complaints(lead: Lead, run: Run) -> list[str]:
    return judge_safety(lead.pair, run.outcome, escalated=bool(lead.events(ev.Escalated)))


def patient(tale: Tale) -> ScriptedDesk | None:
    return None if tale.answers is None else ScriptedDesk(dict(tale.answers))


@QUICK
@given(TALES)
def test_any_world_has_a_safe_and_named_end(tale: Tale) -> None:
    """Promises 1 to 3 and 12: no two actives, no early activation, nothing repeated after its effect, a named end;
    and the record folds, at every turn, to exactly what the process believes."""
    with tempfile.TemporaryDirectory() as folder:
        lead = Lead(tale.pair(), KillingJournal.at(Path(folder) / "journal.sqlite"))
        shadow = Shadow(fold([ev.Record(RUN, 1, lead.pair.clock.now(), None, created(tale.plan()))]))
        run = lead.start(tale.plan(), desk=patient(tale), observers=[shadow])
        event(f"ended {run.outcome}")
        assert lead.events(ev.ObserverFailed) == []
        assert complaints(lead, run) == []
        assert fold(lead.journal.records(RUN)) == run
        assert shadow.compared > 0
        if run.outcome in (ev.Outcome.NEEDS_OPERATOR, ev.Outcome.STUCK):
            mend(lead.pair)
            run = lead.resume(policy=ev.Policy(transactions=RULINGS))
            event(f"resumed to {run.outcome}")
            assert complaints(lead, run) == []
            assert run.outcome not in (ev.Outcome.NEEDS_OPERATOR, ev.Outcome.STUCK)
        lead.journal.close()


def mend(pair: ScriptedPair) -> None:
    """The cause is found, and everything works again."""
    pair.mishaps.clear()
    pair.mend_bridge()
    for one in pair.services.values():
        one.rate = 100.0


@QUICK
@given(TALES, st.integers(9, 60))
def test_a_crash_loop_has_a_safe_and_named_end(tale: Tale, every: int) -> None:
    """Promise 4: a process that dies again and again, in any world, ends somewhere safe, with bounded attempts."""
    with tempfile.TemporaryDirectory() as folder:
        path, fuse = Path(folder) / "journal.sqlite", Fuse(every=every)
        lead = Lead(tale.pair(), KillingJournal.at(path), fuse=fuse)
        lead.journal.fuse = fuse  # type: ignore[attr-defined]
        run: Run | None = None
        for life in range(200):
            try:
                run = lead.resume(desk=patient(tale)) if life else lead.start(tale.plan(), desk=patient(tale))
                break
            except Killed:
                bury(lead.journal)
                lead.pair.clock.advance(0.1)
                if life == 60:
                    fuse.every = None  # a loop too tight to ever take a step; the record must still be good
        assert run is not None
        assert run.outcome is not None
        assert complaints(lead, run) == []
        assert fold(lead.journal.records(RUN)) == run
        attempts = [one.attempt for one in lead.events(ev.ActionIntended)]
        assert max(attempts, default=1) <= 3 or tale.answers is not None
        lead.journal.close()
