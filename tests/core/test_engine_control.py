"""A run under way, and those who interfere: pauses, aborts, answers from outside, watchers, rivals, a full disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from orchestrator.core.run import Run, fold
from orchestrator.engine.deadline import due_at
from orchestrator.engine.dispatch import Answer, InlineFleet
from orchestrator.errors import CommandRejected
from orchestrator.journal.journal import Journal, Writer
from orchestrator.journal.lease import LEASE_SECONDS, claims, is_led
from orchestrator.model import events as ev
from orchestrator.model.events import Outcome
from tests.core.builders import a_plan, created
from tests.core.killing import judge_safety
from tests.core.leading import RUN, Lead, When, asking, folded, lost_bridge, pausing
from tests.core.scripted import ScriptedPair

COMMIT = ev.Ruling(choice="commit", reason="all other branches are committed", by="ann")
HAPPY = ["source set_role standby", "target set_role active"]
BACK = ["source set_role standby", "source set_role active"]


# --- pause and resume ----------------------------------------------------------------------------------------------


def test_a_pause_stops_at_a_safe_point(lead: Lead) -> None:
    """A pause begins nothing new, awaits what was sent, records it, and lets go of the lease; claims stay."""
    run = lead.start(observers=[When(ev.ActionIntended, pausing(lead))])
    assert (run.status, run.outcome, lead.told()) == ("paused", None, ["source set_role standby"])
    assert lead.kinds()[-2:] == ["action.ended", "run.paused"]
    assert not is_led(lead.journal.row(RUN), lead.pair.clock.now())
    assert len(claims(lead.journal)) == 1


@pytest.mark.parametrize(
    "kind", [ev.LaneStarted, ev.StepStarted, ev.Observed, ev.ActionEnded, ev.PointOfNoReturnPassed]
)
@pytest.mark.parametrize("nth", [1, 2, 3])
def test_a_paused_run_is_resumed_to_the_same_end(lead: Lead, kind: type, nth: int) -> None:
    """Paused anywhere and resumed, a run ends as it would have, and nothing is sent twice."""
    lead.start(observers=[When(kind, pausing(lead), nth=nth)])
    if folded(lead).status == "paused":
        lead.resume()
    assert (folded(lead).outcome, lead.told()) == (Outcome.DONE, HAPPY)


def test_a_paused_run_whose_world_moved_on_looks_again(lead: Lead) -> None:
    """Promise 1: what was read before a pause is not believed after it: an operator's own activation is noticed."""
    lead.start(observers=[When(ev.StepStarted, pausing(lead), nth=5)])
    lead.pair.services["Trading"].roles["source"] = lead.pair.services["Trading"].roles["source"].ACTIVE
    lead.resume()
    assert "target set_role active" not in lead.told()
    assert judge_safety(lead.pair, None) == []


# --- calling off ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "nth", "outcome", "told"),
    [
        (ev.LaneStarted, 1, Outcome.REFUSED, []),
        (ev.Observed, 3, Outcome.REVERTED, BACK),
    ],
)
def test_called_off_from_outside(lead: Lead, kind: type, nth: int, outcome: Outcome, told: list[str]) -> None:
    """Another process calls the run off: refused or reverted, by what has happened already."""
    lead.pair.services["Trading"].rate = 10.0
    lead.start(observers=[When(kind, asking(lead, kind="abort"), nth=nth)])
    assert (folded(lead).outcome, lead.told(), judge_safety(lead.pair, folded(lead).outcome)) == (outcome, told, [])
    (asked,) = lead.events(ev.AbortAsked)
    assert (asked.by, asked.reason) == ("bob", "the change was called off")


def test_called_off_too_late(lead: Lead) -> None:
    """Promise 1: past its point of no return a lane says that it cannot be aborted, and goes on to its end."""
    lead.pair.prepare("1-a-b")
    plan = a_plan(policy=ev.Policy(transactions={"1-a-b": COMMIT}))
    lead.start(plan, observers=[When(ev.PointOfNoReturnPassed, asking(lead, kind="abort"))])
    assert (folded(lead).outcome, judge_safety(lead.pair, Outcome.DONE)) == (Outcome.DONE, [])
    assert [declined.reason for declined in lead.events(ev.AbortDeclined)] == [
        "the run is past the point of no return"
    ]


def test_called_off_when_it_is_resumed(lead: Lead) -> None:
    """A paused run that is called off goes back."""
    lead.start(observers=[When(ev.ActionEnded, pausing(lead))])
    lead.resume(abort=ev.AbortAsked(by="bob", reason="not tonight"))
    assert (folded(lead).outcome, lead.told()) == (Outcome.REVERTED, BACK)


def test_a_lane_that_needs_an_operator_is_called_off(lead: Lead) -> None:
    """A lane that stopped for a decision can be called off instead."""
    lead.pair.prepare("1-a-b")
    lead.start()
    assert folded(lead).outcome is Outcome.NEEDS_OPERATOR
    lead.resume(abort=ev.AbortAsked(by="bob", reason="nobody knows"))
    assert (folded(lead).outcome, lead.told()) == (Outcome.REVERTED, BACK)


def test_one_lane_is_called_off(lead: Lead) -> None:
    """A request that names a lane concerns that lane only."""
    lead.pair = ScriptedPair(lead.pair.clock, ("Trading", "Orders"), rate=10)
    lead.start(observers=[When(ev.Observed, asking(lead, kind="abort", lane="Orders"), nth=4)])
    assert {name: str(lane.outcome) for name, lane in folded(lead).lanes.items()} == {
        "Trading": "done",
        "Orders": "reverted",
    }


def test_fail_fast(lead: Lead) -> None:
    """With ``fail_fast`` one lane that does not get there calls off those that can still turn back."""
    lead.pair = ScriptedPair(lead.pair.clock, ("Trading", "Orders", "Billing"), rate=10)
    lead.pair.services["Orders"].depth = 0.0
    lead.pair.fail("set_role", CommandRejected("no"), on="target")
    lead.start(a_plan(services=("Trading", "Orders", "Billing"), policy=ev.Policy(fail_fast=True)))
    run = folded(lead)
    assert {str(lane.outcome) for lane in run.lanes.values()} == {"reverted"}
    assert {asked.by for asked in lead.events(ev.AbortAsked)} == {"--fail-fast"}
    assert judge_safety(lead.pair, run.outcome) == []


@pytest.mark.parametrize(("timeout", "ends"), [("2s", "reverted"), ("1h", "done")])
def test_a_run_that_is_not_done_in_time(lead: Lead, timeout: str, ends: str) -> None:
    """Once the time of a run is over, a lane before its point of no return is rolled back; a run that is done before has
    nothing of it in its record."""
    lead.pair = ScriptedPair(lead.pair.clock, ("Trading",), rate=10)
    lead.start(a_plan(policy=ev.Policy.model_validate({"timeout": timeout})))
    assert {str(lane.outcome) for lane in folded(lead).lanes.values()} == {ends}
    asked = [(one.by, one.reason) for one in lead.events(ev.AbortAsked)]
    assert asked == ([("--timeout", "the run was not done within 2s")] if ends == "reverted" else [])
    assert judge_safety(lead.pair, folded(lead).outcome) == []


@pytest.mark.parametrize("slow", range(1, 8))
def test_nothing_is_sent_once_the_time_is_over(lead: Lead, slow: int) -> None:
    """A reading that takes longer than the rest of the time lets no action leave: what is due is told first, so the run
    is rolled back, and does not take its point of no return."""
    clock, asked = lead.pair.clock, iter(range(1, 1_000))

    def answer(service: str) -> None:
        clock.sleep(8.0 if next(asked) == slow else 0.0)

    lead.pair.answer["target", "replication"] = answer
    started = clock.now()
    lead.start(a_plan(policy=ev.Policy.model_validate({"timeout": "5s"})))
    late = [
        one.event.action
        for one in lead.journal.records(RUN)
        if isinstance(one.event, ev.ActionIntended) and not one.event.undo and one.at >= started + 5.0
    ]
    assert late == []
    assert folded(lead).outcome in ("refused", "reverted", "done")


def test_the_time_of_a_run_does_not_start_again() -> None:
    """A run that is resumed by another process has what was left of its time, not all of it again."""
    plan = a_plan(policy=ev.Policy.model_validate({"timeout": "1m"}))
    started = [ev.RunStarted(epoch=epoch, attended=False, by="ann") for epoch in (1, 2)]
    run = fold(
        [
            ev.Record(run="R", seq=1, at=0.0, lane=None, event=created(plan)),
            ev.Record(run="R", seq=2, at=5.0, lane=None, event=started[0]),
            ev.Record(run="R", seq=3, at=50.0, lane=None, event=started[1]),
        ]
    )
    assert due_at(run) == 65.0


# --- answers from outside ------------------------------------------------------------------------------------------


def test_a_question_is_answered_from_outside(lead: Lead) -> None:
    """An attended run without a desk takes the answers that another process leaves for it."""
    lost_bridge(lead)
    answer = asking(lead, kind="decide", gate="bridge-lost", choice="escalate", reason="flooded")
    lead.start(attended=True, observers=[When(ev.GateOpened, answer)])
    assert folded(lead).outcome is Outcome.ESCALATED
    (decided,) = lead.events(ev.GateDecided)
    assert decided.ruling == ev.Ruling(choice="escalate", reason="flooded", by="bob")


def test_an_item_is_decided_from_outside(lead: Lead) -> None:
    """A ruling on one transaction names its item."""
    lead.pair.prepare("1-a-b")
    answer = asking(lead, kind="decide", gate="xa", item="1-a-b", choice="commit", reason="branches committed")
    lead.start(attended=True, observers=[When(ev.GateOpened, answer)])
    assert folded(lead).outcome is Outcome.DONE
    assert "source complete_transaction commit 1-a-b" in lead.told()


@pytest.mark.parametrize(
    "request_",
    [
        {"gate": "bridge-lost", "choice": "commit"},
        {"gate": "drain-stalled", "choice": "escalate"},
        {"gate": "bridge-lost", "choice": "escalate", "lane": "Orders"},
        {"gate": "bridge-lost", "choice": "escalate", "item": "1-a-b"},
    ],
)
def test_an_answer_that_does_not_fit_is_ignored(lead: Lead, request_: Mapping[str, str]) -> None:
    """An answer to another question, lane or item, or one that is not offered, decides nothing."""
    lost_bridge(lead)
    lead.start(
        attended=True,
        observers=[
            When(ev.GateOpened, asking(lead, kind="decide", **request_)),
            When(ev.Observed, pausing(lead), nth=200),
        ],
    )
    assert lead.events(ev.GateDecided) == []


def test_a_request_is_used_up_with_its_record(lead: Lead) -> None:
    """A request is taken in the very commit that records what came of it: once, and never lost."""
    lost_bridge(lead)
    answer = asking(lead, kind="decide", gate="bridge-lost", choice="revert")
    lead.start(attended=True, observers=[When(ev.GateOpened, answer)])
    assert lead.journal.requests(RUN) == []
    assert len(lead.events(ev.GateDecided)) == 1


def test_an_abort_survives_the_death_of_the_process(lead: Lead) -> None:
    """Promise 4: a request whose process dies before it is recorded is there for the next one."""

    class Dying(BaseException):
        """The process dies."""

    class Deaf(Journal):
        def append(self, writer: Writer, at: float, events: Any, *, taken: Sequence[int] = ()) -> Writer:
            if taken:
                raise Dying
            return super().append(writer, at, events, taken=taken)

    lead.pair.services["Trading"].rate = 10.0
    path = lead.journal.url
    lead.journal = Deaf(path)
    with pytest.raises(Dying):
        lead.start(observers=[When(ev.Observed, asking(lead, kind="abort"), nth=3)])
    lead.journal.close()
    lead.pair.clock.advance(LEASE_SECONDS + 1)
    lead.resume(journal=Journal(path))
    assert folded(lead).outcome is Outcome.REVERTED
    lead.journal.close()


def test_a_request_that_came_too_late_is_no_surprise_later(lead: Lead) -> None:
    """An abort that nobody read before the run had finished does not strike when the run is resumed much later."""
    lead.pair.prepare("1-a-b")
    lead.start(observers=[When(ev.LaneEnded, asking(lead, kind="abort"))])
    assert (folded(lead).outcome, len(lead.journal.requests(RUN))) == (Outcome.NEEDS_OPERATOR, 1)
    lead.resume(policy=ev.Policy(transactions={"1-a-b": COMMIT}))
    assert (folded(lead).outcome, lead.journal.requests(RUN)) == (Outcome.DONE, [])


# --- watchers ------------------------------------------------------------------------------------------------------


def test_a_failing_observer_is_recorded_and_stops_nothing(lead: Lead) -> None:
    """A watcher that raises at every record is named in the record, once, and the run goes on to its end."""

    def broken_screen(record: ev.Record, run: Run) -> None:
        raise OSError("the terminal is gone")

    seen: list[int] = []
    lead.start(observers=[broken_screen, lambda record, run: seen.append(record.seq)])
    assert (folded(lead).outcome, lead.told()) == (Outcome.DONE, HAPPY)
    (failure,) = lead.events(ev.ObserverFailed)
    assert "broken_screen" in failure.observer
    assert failure.text == "OSError: the terminal is gone"
    assert seen == list(range(2, seen[-1] + 1))


def test_a_late_failure_is_recorded_too(lead: Lead) -> None:
    """A watcher that fails at the last record of a lane is recorded before the run is finished."""

    def fail(*_: object) -> None:
        raise ValueError("too late")

    lead.start(observers=[When(ev.LaneEnded, fail)])
    assert lead.kinds()[-3:] == ["lane.ended", "observer.failed", "run.finished"]


def test_watchers_see_the_record_and_the_state_it_leads_to(lead: Lead) -> None:
    """Every record is shown once, in order, exactly as it is on disk, with the state that the record folds to."""
    shown: list[ev.Record] = []

    def watch(record: ev.Record, run: Run) -> None:
        shown.append(record)
        if record.seq == run.seq:
            assert fold(lead.journal.records(RUN)) == run

    lead.start(observers=[watch])
    assert shown == list(lead.journal.records(RUN, after=1))


def test_an_answer_to_a_question_that_has_changed_is_not_taken(lead: Lead) -> None:
    """Promise 1: "revert", said of a question that by now stands past the point of no return, is asked again."""
    asked: list[tuple[str, ...]] = []

    class Late:
        """Answers the first question as if it had been another one, put before the point of no return."""

        def ask(self, service: str, gate: ev.GateOpened) -> ev.Ruling | None:
            asked.append(gate.choices)
            return ev.Ruling(choice="retry", reason="mended", by="ann")

    class Mixing(InlineFleet):
        def collect(self, until: float | None) -> list[Any]:
            done = super().collect(until)
            for index, one in enumerate(done):
                if isinstance(one, Answer) and len(asked) == 1:
                    older = one.gate.model_copy(update={"choices": ("retry", "revert", "stop")})
                    done[index] = Answer(one.service, older, ev.Ruling(choice="revert", reason="before", by="ann"))
            return done

    lead.pair.prepare("1-a-b")
    lead.pair.fail("delete_transaction", CommandRejected("busy"))
    lead.fleet = Mixing
    lead.start(a_plan(policy=ev.Policy(transactions={"1-a-b": COMMIT})), desk=Late())
    assert (folded(lead).outcome, asked) == (Outcome.DONE, [("retry", "stop")] * 2)


def test_a_choice_that_is_not_offered_is_nobody_s(lead: Lead) -> None:
    """A desk that answers something else than it was offered counts as empty: the unattended choice is made."""

    class Confused:
        def ask(self, service: str, gate: ev.GateOpened) -> ev.Ruling | None:
            return ev.Ruling(choice="commit", reason="?", by="ann")

    lost_bridge(lead)
    lead.start(desk=Confused())
    assert (folded(lead).outcome, lead.told()) == (Outcome.REVERTED, BACK)


def test_an_approval_in_the_middle_gives_no_more_time() -> None:
    """The time counts from the approval that let the run start, and not while people think about that. Once a lane has
    started, the approval of other decisions starts nothing again."""
    rule = ev.ApprovalRule(needed=1, within=100.0, requester="ann")
    plan = a_plan(policy=ev.Policy.model_validate({"timeout": "1m"})).model_copy(update={"approval": rule})
    agreed = ev.GateDecided(gate="approval", step="", ruling=ev.Ruling(choice="approve", reason="", by="bob"))
    sought = ev.ApprovalSought(needed=1, plan="digest", expires_at=100.0)
    choices = ("approve", "deny")
    asked = ev.GateOpened(gate="approval", step="", choices=choices, unattended="deny", why="", approval=sought)
    events: list[tuple[float, str | None, ev.Event]] = [
        (0.0, None, created(plan)),
        (5.0, None, ev.RunStarted(epoch=1, attended=False, by="ann")),
        (6.0, None, asked),
        (20.0, None, agreed),
        (20.0, "Trading", ev.LaneStarted()),
        (40.0, None, asked),
        (50.0, None, agreed),
    ]
    records = [
        ev.Record(run="R", seq=seq, at=at, lane=lane, event=one) for seq, (at, lane, one) in enumerate(events, 1)
    ]
    assert due_at(fold(records[:3])) is None
    assert due_at(fold(records)) == 80.0
