"""The fold: what each record does to lane and run, which orders are illegal, and that old journals still fold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from orchestrator.core.lane_fold import GAUGE_SAMPLES, fold_lane
from orchestrator.core.run import Lane, Run, Stage, begin, fold, worst
from orchestrator.engine.turn import Draft
from orchestrator.errors import IllegalTransition
from orchestrator.journal.hash_chain import follow_exported, record_of
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from tests.core.builders import T0, a_lane, a_plan, bridge, created, depth, proving, role, see

OLD = Path(__file__).parent / "journals"
INTENT = ev.ActionIntended(intent=1, step="demote", on="source", action="set_role", args={}, attempt=1)
RULING = ev.Ruling(choice="wait", reason="it will come back", by="ann")


def a_record(event: ev.Event, seq: int = 2, lane: str | None = None, at: float = T0) -> ev.Record:
    return ev.Record(run="run-1", seq=seq, at=at, lane=lane, event=event)


def a_run() -> Run:
    return begin(a_record(created(), seq=1))


# --- a lane --------------------------------------------------------------------------------------------------------


def test_every_stage_has_its_own_mark() -> None:
    """Each change of stage raises the mark, and forgets what was read before."""
    lane = see(a_lane(), bridge("bound"))
    for event in (
        ev.RequirementsMet(step="demote"),
        INTENT,
        ev.ActionEnded(intent=1, effect=Effect.ACCEPTED),
        ev.StepDone(step="demote"),
        ev.StepStarted(step="drain"),
        ev.StepFailed(step="drain", why="no"),
        ev.StepRetried(step="drain"),
    ):
        after = fold_lane(lane, event, T0)
        assert (after.mark, after.seen, after.reading("target", "replication")) == (lane.mark + 1, (), None)
        lane = after


@pytest.mark.parametrize("mark", [0, 4, 6])
def test_a_stale_reading_changes_nothing(mark: int) -> None:
    """A round that was asked under another mark is evidence in the record, and changes nothing in the lane."""
    lane = a_lane(mark=5)
    assert fold_lane(lane, ev.Observed(mark=mark, seen=(bridge("bound"),), gauge=3.0), T0) == lane


def test_a_round_replaces_the_one_before() -> None:
    """Only the newest round counts: readings of two rounds are never judged together."""
    lane = see(see(a_lane(), bridge("bound")), depth(0, T0 + 1))
    assert lane.reading("target", "replication") is None
    assert lane.reading("source", "replication_queue") == depth(0, T0 + 1)


def test_a_round_is_as_old_as_its_oldest_reading() -> None:
    """What counts is when a round was asked, by its first reading, not when it was recorded."""
    lane = see(a_lane(), depth(0, T0 + 2), bridge("bound", T0 + 1), at=T0 + 9)
    assert lane.seen_at == T0 + 1


def test_a_reading_after_the_end_is_only_evidence() -> None:
    """Readings and outcomes that come in after a lane ended are recorded; they do not wake it."""
    ended = a_lane(status="done", outcome=ev.Outcome.DONE)
    assert fold_lane(ended, ev.Observed(mark=5, seen=(bridge("bound"),)), T0) == ended


def test_the_gauge_keeps_the_newest_samples() -> None:
    """The lane remembers the newest readings of the number it follows, and when it last fell."""
    lane = a_lane()
    for second in range(20):
        lane = see(lane, depth(50 - second, T0 + second), gauge=50.0 - second)
    assert len(lane.gauge) == GAUGE_SAMPLES
    assert (lane.gauge[-1], lane.moved_at) == ((T0 + 19, 31.0), T0 + 19)
    assert see(lane, depth(31, T0 + 25), gauge=31.0).moved_at == T0 + 19


def test_several_actions_end_one_by_one() -> None:
    """With several actions under way nothing is proven before the last one has ended."""
    lane = a_lane(stage=Stage.MAIN)
    for number in (1, 2):
        lane = fold_lane(lane, INTENT.model_copy(update={"intent": number, "item": f"1-a-{number}"}), T0)
    lane = fold_lane(lane, ev.ActionEnded(intent=2, effect=Effect.ACCEPTED), T0)
    assert (lane.stage, [intent.number for intent in lane.outstanding]) == (Stage.ACT, [1])
    lane = fold_lane(lane, ev.ActionEnded(intent=1, effect=Effect.DOUBTFUL), T0)
    assert (lane.stage, lane.outstanding, lane.changed) == (Stage.PROVE, (), True)


@pytest.mark.parametrize(
    ("effect", "may"), [("accepted", True), ("doubtful", True), ("rejected", False), ("not-sent", False)]
)
def test_what_may_have_been_obeyed(effect: str, may: bool) -> None:
    """Accepted and doubtful actions may have been obeyed, rejected and unsent ones cannot; a disproved doubt did not."""
    lane = proving(Effect(effect))
    assert lane.intents[0].may_have_obeyed is may
    resolved = fold_lane(lane, ev.DoubtResolved(intent=1, evidence="it is active"), T0)
    assert not resolved.intents[0].may_have_obeyed


def test_the_next_step_begins_with_nothing() -> None:
    """What belongs to a step ends with it: attempts, questions, gauge, a broken guard."""
    gate = ev.GateOpened(gate="g", step="drain", choices=("wait",), unattended="wait", why="")
    lane = proving(Effect.ACCEPTED, gates=(gate,), gauge=((T0, 3.0),), stalled=True, guard_broke_at=T0, failure="x")
    lane = fold_lane(lane, ev.StepDone(step="demote", reversible=True), T0)
    assert (lane.step, lane.stage, lane.undo) == (1, Stage.BETWEEN, ("demote",))
    assert (lane.intents, lane.gates, lane.gauge, lane.stalled, lane.guard_broke_at, lane.failure) == (
        (),
        (),
        (),
        False,
        None,
        "",
    )


def test_a_ruling_on_an_item_is_kept_for_the_run() -> None:
    """Decisions on items outlive their step: a later step asks which items were decided."""
    decided = ev.GateDecided(gate="xa", step="transactions", ruling=RULING, item="1-a-b")
    lane = fold_lane(fold_lane(a_lane(), decided, T0), ev.StepDone(step="transactions"), T0)
    assert lane.rulings == {("transactions", "1-a-b"): RULING}


def test_stop_is_no_ruling_on_an_item() -> None:
    """Whoever stops at a transaction has not decided on it: after a resume nothing is done to it without a decision."""
    stop = RULING.model_copy(update={"choice": "stop"})
    lane = fold_lane(proving(Effect.ACCEPTED), ev.GateDecided(gate="xa", step="t", ruling=stop, item="1-a-b"), T0)
    assert lane.rulings == {}


# --- illegal orders ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lane", "event"),
    [
        (Lane("Trading"), ev.LaneEnded(outcome=ev.Outcome.DONE)),
        (Lane("Trading"), ev.Escalated(step="drain", at_risk=1, ruling=RULING)),
        (a_lane(), ev.LaneStarted()),
        (a_lane(), ev.LaneEnded(outcome=ev.Outcome.REVERTED)),
        (a_lane(), ev.LaneEnded(outcome=ev.Outcome.STUCK)),
        (a_lane(), ev.LaneEnded(outcome=ev.Outcome.ESCALATED)),
        (a_lane(status="committed"), ev.RevertStarted(why="", undo=())),
        (a_lane(status="committed"), ev.PointOfNoReturnPassed(step="activate")),
        (a_lane(status="committed"), ev.LaneEnded(outcome=ev.Outcome.REFUSED)),
        (a_lane(status="escalating"), ev.RevertStarted(why="", undo=())),
        (a_lane(status="escalating"), ev.LaneEnded(outcome=ev.Outcome.DONE)),
        (a_lane(status="reverting"), ev.PointOfNoReturnPassed(step="activate")),
        (a_lane(status="reverting"), ev.LaneEnded(outcome=ev.Outcome.DONE)),
        (a_lane(status="done"), ev.StepStarted(step="demote")),
        (a_lane(status="done"), ev.LaneResumed(by="ann")),
        (a_lane(status="reverted"), INTENT),
        (a_lane(status="needs-operator", came_from="running"), ev.StepStarted(step="demote")),
        (a_lane(status="needs-operator", came_from="reverting"), ev.LaneResumed(by="ann")),
        (a_lane(), ev.ActionEnded(intent=1, effect=Effect.ACCEPTED)),
        (proving(Effect.ACCEPTED), ev.ActionEnded(intent=1, effect=Effect.ACCEPTED)),
        (proving(Effect.ACCEPTED), INTENT),
        (a_lane(), INTENT.model_copy(update={"intent": 3})),
        (a_lane(), ev.RunStarted(by="ann", epoch=1, attended=False)),
        (a_lane(), ev.RunFinished(outcome=ev.Outcome.DONE)),
    ],
    ids=lambda value: value.kind if hasattr(value, "kind") else value.status,
)
def test_an_illegal_order_is_refused(lane: Lane, event: ev.Event) -> None:
    """A record that the table does not allow raises ``IllegalTransition``, and nothing is half done."""
    with pytest.raises(IllegalTransition):
        fold_lane(lane, event, T0)


@pytest.mark.parametrize(
    "record",
    [
        a_record(created()),
        a_record(ev.RunPaused(reason="before it began")),
        a_record(ev.RunFinished(outcome=ev.Outcome.DONE)),
        a_record(ev.LaneStarted()),
        a_record(ev.LaneStarted(), lane="Somebody else"),
        a_record(ev.LaneEnded(outcome=ev.Outcome.DONE), lane="Trading"),
    ],
)
def test_a_run_refuses_what_does_not_belong(record: ev.Record) -> None:
    """Out of order, without its lane, or of a lane that is not part of the run: refused, and the run is unchanged."""
    run = a_run()
    with pytest.raises(IllegalTransition):
        run.fold(record)
    assert run == a_run()


@pytest.mark.parametrize(
    "event", [ev.RunPaused(reason="before it began"), ev.RunFinished(outcome=ev.Outcome.DONE), ev.LaneStarted()]
)
def test_what_a_run_refuses_gets_into_no_draft(event: ev.Event) -> None:
    """Legality comes before durability: what cannot be believed afterwards must not be on disk."""
    run = a_run()
    draft = Draft(run, 0.0)
    with pytest.raises(IllegalTransition):
        draft.add_own(event)
    assert draft.events == []


def test_a_run_begins_with_its_creation() -> None:
    """The first record of a run is its creation."""
    with pytest.raises(IllegalTransition, match=r"starts with run\.created"):
        fold([a_record(ev.RunStarted(by="ann", epoch=1, attended=True), seq=1)])


# --- a run ---------------------------------------------------------------------------------------------------------


def test_a_changed_policy_holds_from_then_on() -> None:
    """A policy that is given at a resume replaces the one of the plan, in the record and therefore in every fold."""
    run = a_run()
    policy = ev.Policy(on_gate={"bridge-lost": "wait"})
    run.fold(a_record(ev.PolicyChanged(policy=policy, by="ann")))
    assert run.plan.policy == policy


def test_an_observer_s_failure_changes_nothing() -> None:
    """The failure of something that only watches is in the record, and in no state."""
    run, other = a_run(), a_run()
    run.fold(a_record(ev.ObserverFailed(observer="screen", text="the terminal is gone")))
    assert run.lanes == other.lanes
    assert (run.status, run.seq) == (other.status, 2)


def test_a_run_is_as_good_as_the_worst_of_its_lanes() -> None:
    """``stuck`` outweighs ``needs-operator``, and so on down to ``done``."""
    order = ["done", "refused", "reverted", "escalated", "needs-operator", "stuck"]
    outcomes = [ev.Outcome(name) for name in order]
    for index, outcome in enumerate(outcomes):
        assert worst(outcomes[: index + 1]) is outcome


# --- old journals --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", sorted(OLD.glob("*.jsonl")), ids=lambda path: path.stem)
def test_old_journals_still_fold(path: Path) -> None:
    """A journal that an earlier version wrote is read and folded for ever, to the outcome it had then."""
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert str(fold(record_of(*one) for one in follow_exported(lines)).outcome) == path.stem.rpartition(".")[2]


def test_there_are_old_journals() -> None:
    """At least one journal of each kind of end is kept."""
    assert {path.stem.rpartition(".")[2] for path in OLD.glob("*.jsonl")} >= {str(outcome) for outcome in ev.Outcome}


def test_roles_read_back_as_they_were() -> None:
    """A reading survives the journal to the last value, unknown ones included."""
    seen = role("source", None, T0 + 1 / 3, queue_bound=None, remote_bridge_up=False)
    event = ev.Observed(mark=3, seen=(seen,), gauge=None)
    assert ev.event_from_json(event.model_dump_json()) == event


def test_a_plan_reads_back_as_it_was() -> None:
    """The plan of a run, its runbook's durations included, survives the journal exactly."""
    plan = a_plan(
        {
            "id": "odd",
            "title": "Odd durations",
            "require": [{"on": "source", "reading": "replication_queue", "where": {"messages": {"at_most": 3}}}],
            "within": "1234.5s",
            "patience": "1000500ms",
            "settle": "33.3ms",
            "delay": "0s",
            "timeout": "1.1h",
        }
    )
    assert ev.event_from_json(created(plan).model_dump_json()) == created(plan)


def test_a_remedy_belongs_to_the_failure_of_now() -> None:
    """Law: a retry, a resume and the next step forget the remedy of a failure. What is rolled back keeps it. If the
    rollback itself fails, the remedy of that failure is kept beside it until the rollback continues."""
    failed = ev.StepFailed(step="demote", why="the bridge is down", remedy="start the bridge")
    lane = fold_lane(a_lane(step=1), failed, T0)
    assert lane.remedy == "start the bridge"
    for event in (ev.StepRetried(step="demote"), ev.LaneResumed(by="ann"), ev.StepDone(step="demote")):
        assert fold_lane(lane, event, T0).remedy == ""
    reverted = ev.RevertStarted(why="the bridge is down", undo=("demote",))
    undoing = ev.StepFailed(step="demote", why="no route", remedy="check the power of ny", undo=True)
    rolling_back = fold_lane(lane, reverted, T0)
    stuck = fold_lane(rolling_back, undoing, T0)
    assert (stuck.remedy, stuck.undo_remedy) == ("start the bridge", "check the power of ny")
    again: tuple[ev.Event, ...] = (
        ev.StepRetried(step="demote"),
        ev.LaneResumed(by="ann"),
        ev.UndoDone(step="demote"),
    )
    for one in again:
        after = fold_lane(stuck, one, T0)
        assert (after.remedy, after.undo_remedy) == ("start the bridge", "")
