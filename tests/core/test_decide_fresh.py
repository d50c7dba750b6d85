"""What a command stands on: fresh, read together, and at the point of no return what the waits had proven, read again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from orchestrator.core.decide import Next, decide
from orchestrator.core.run import Intent, Lane, Stage
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from orchestrator.model.runbook import Answer
from tests.core.builders import (
    ACTIVATE,
    COMPLETE,
    DEMOTE,
    T0,
    a_lane,
    a_plan,
    a_transaction,
    after,
    all_events,
    asked,
    depth,
    kinds,
    listing,
    proving,
    role,
    see,
    unread,
)

# The point of no return, with what the drain has proven.
PROVEN: Mapping[str, Any] = {
    **ACTIVATE,
    "reconfirm": [
        {
            "on": "source",
            "reading": "replication_queue",
            "where": {"drained": True},
            "say": "it is not empty any more",
        },
        {"on": "target", "reading": "replication", "where": {"bridge": "bound"}, "say": "the bridge is lost"},
    ],
    "when_guard_breaks": {
        "grace": "60s",
        "gate": "bridge-lost",
        "choices": ["wait", "revert", "escalate"],
        "unattended": "revert",
    },
    "progress": {"on": "source", "reading": "replication_queue", "field": "messages"},
}
PLAN = a_plan(DEMOTE, PROVEN)


def at_the_point(**changes: Any) -> Lane:
    return a_lane(**{"step": 1, "changed": True, "undo": ("demote",), **changes})


def round_of(messages: int | None, bridge: str | None, at: float = T0) -> tuple[ev.Seen, ...]:
    return role("source", "standby", at), role("target", "standby", at, bridge=bridge), depth(messages, at)


def seen_at(lane: Lane, messages: int | None, bridge: str | None, at: float) -> Lane:
    gauge = None if messages is None else float(messages)
    return see(lane, *round_of(messages, bridge, at), at=at, gauge=gauge)


# --- reconfirm -----------------------------------------------------------------------------------------------------


def test_roles_queue_and_bridge_are_read_in_one_round() -> None:
    """Promise 15: at the point of no return everything that it stands on is read together."""
    assert asked(decide(PLAN, at_the_point(), T0, attended=False)) == [
        ("source", "replication"),
        ("target", "replication"),
        ("source", "replication_queue"),
    ]
    lane = seen_at(at_the_point(), 0, "bound", T0)
    assert kinds(decide(PLAN, lane, T0, attended=False)) == ["action.intended"]


@pytest.mark.parametrize(("messages", "bridge"), [(9, "bound"), (0, "down"), (9, "down")])
def test_what_does_not_hold_any_more_stops_the_activation(messages: int, bridge: str) -> None:
    """Promises 2, 3 and 15: within the grace it may recover; then the gate opens with what is at risk, and unattended
    the lane reverts."""
    lane = seen_at(at_the_point(), messages, bridge, T0)
    assert kinds(decide(PLAN, lane, T0, attended=False)) == ["guard.broke"]
    lane = after(lane, decide(PLAN, lane, T0, attended=False), T0)
    early = seen_at(lane, messages, bridge, T0 + 59)
    assert kinds(decide(PLAN, early, T0 + 59, attended=False)) == []
    late = seen_at(lane, messages, bridge, T0 + 61)
    (gate,) = decide(PLAN, late, T0 + 61, attended=False).events
    assert isinstance(gate, ev.GateOpened)
    assert (gate.gate, gate.choices, gate.at_risk) == ("bridge-lost", ("wait", "revert", "escalate"), messages)
    assert [one.kind for one in all_events(PLAN, late, T0 + 61)][:3] == [
        "gate.opened",
        "gate.decided",
        "revert.started",
    ]


def test_what_holds_again_is_acted_on() -> None:
    """A bridge that was lost for a moment costs that moment; the very round that shows it bound is acted on."""
    lane = seen_at(at_the_point(), 0, "down", T0)
    lane = after(lane, decide(PLAN, lane, T0, attended=False), T0)
    lane = seen_at(lane, 0, "bound", T0 + 5)
    assert [one.kind for one in all_events(PLAN, lane, T0 + 5)] == ["guard.healed", "action.intended"]


@pytest.mark.parametrize(("messages", "bridge"), [(None, "bound"), (0, None)])
def test_unknown_is_not_drained(messages: int | None, bridge: str | None) -> None:
    """Promise 2: a depth or a bridge that is not told proves nothing: it is as one that does not hold."""
    lane = seen_at(at_the_point(), messages, bridge, T0)
    assert kinds(decide(PLAN, lane, T0, attended=False)) == ["guard.broke"]


def test_a_role_that_is_not_told_ends_the_patience() -> None:
    """A depth that is told does not make up for a role that is not: after ``patience`` (30s) the step fails."""
    for at, then in ((T0 + 1, []), (T0 + 31, ["step.failed"])):
        round_ = (role("source", None, at), role("target", "standby", at, bridge="bound"), depth(0, at))
        lane = see(at_the_point(), *round_, at=at, gauge=0.0)
        assert kinds(decide(PLAN, lane, at, attended=False)) == then


def at_the_gate() -> tuple[Lane, ev.GateOpened]:
    lane = seen_at(at_the_point(), 9, "down", T0)
    lane = after(lane, decide(PLAN, lane, T0, attended=True), T0)
    lane = seen_at(lane, 9, "down", T0 + 61)
    lane = after(lane, decide(PLAN, lane, T0 + 61, attended=True), T0 + 61)
    return lane, lane.gates[0]


def ruled(lane: Lane, gate: ev.GateOpened, choice: Answer) -> Lane:
    from orchestrator.core.decide import apply_ruling

    ruling = ev.Ruling(choice=choice, reason="I looked", by="ann")
    return after(lane, Next(events=apply_ruling(PLAN, lane, gate, ruling)), T0 + 62)


def test_only_an_escalation_goes_without_it() -> None:
    """Promise 3: an escalated lane stays at its step, and needs the roles alone from then on."""
    lane = ruled(*at_the_gate(), "escalate")
    assert (lane.status, lane.step, lane.escalated_at_risk) == ("escalating", 1, 9)
    assert asked(decide(PLAN, lane, T0 + 62, attended=True)) == [("source", "replication"), ("target", "replication")]


def test_a_person_may_wait() -> None:
    """To wait is to be asked again after another grace."""
    lane = ruled(*at_the_gate(), "wait")
    assert kinds(decide(PLAN, seen_at(lane, 9, "down", T0 + 100), T0 + 100, attended=True)) == []
    assert kinds(decide(PLAN, seen_at(lane, 9, "down", T0 + 130), T0 + 130, attended=True)) == ["gate.opened"]


def test_a_role_that_is_wrong_is_not_waited_for() -> None:
    """Promise 1: what must never be ends the step at once, whatever the queue holds."""
    lane = see(at_the_point(), role("source", "active"), role("target", "standby", bridge="bound"), depth(0))
    assert kinds(decide(PLAN, lane, T0, attended=False)) == ["step.failed"]


# --- max_age -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("age", [31.0, 8 * 3600.0])
def test_what_was_read_too_long_ago_is_read_again(age: float) -> None:
    """Promise 15: nothing is sent on readings older than ``max_age`` (30s); a new round begins, under a new mark."""
    lane = seen_at(at_the_point(), 0, "bound", T0)
    (expired,) = decide(PLAN, lane, T0 + age, attended=False).events
    assert expired == ev.ReadingsExpired(step="activate", age_s=age)
    anew = after(lane, Next(events=(expired,)), T0 + age)
    assert (anew.mark, anew.stage) == (lane.mark + 1, Stage.REQUIRE)
    assert len(asked(decide(PLAN, anew, T0 + age, attended=False))) == 3


def test_a_step_may_say_less_or_more() -> None:
    """``max_age`` belongs to the step."""
    for said, age, then in (("5s", 6.0, "readings.expired"), ("10m", 500.0, "action.intended")):
        plan = a_plan(DEMOTE, {**PROVEN, "max_age": said})
        assert kinds(decide(plan, seen_at(at_the_point(), 0, "bound", T0), T0 + age, attended=False)) == [then]


def test_devices_that_are_always_too_slow_fail_the_step() -> None:
    """Promise 15: a round that takes longer than ``max_age`` is tried three times more, and never acted on."""
    lane, now, expired = at_the_point(), T0, 0
    while True:
        lane = see(lane, *round_of(0, "bound", now), at=now + 40)
        now += 40
        (event,) = decide(PLAN, lane, now, attended=False).events
        lane = after(lane, Next(events=(event,)), now)
        if isinstance(event, ev.StepFailed):
            break
        assert isinstance(event, ev.ReadingsExpired)
        expired += 1
    assert (expired, event.unknown) == (3, True)
    assert "the readings took 40s, but a command needs readings that are at most " in event.why


def test_a_process_that_was_away_does_not_count_against_the_devices() -> None:
    """A lease that had run out begins a new round each time; no step fails of that."""
    lane = seen_at(at_the_point(), 0, "bound", T0)
    for _ in range(9):
        lane = after(lane, Next(events=(ev.ReadingsExpired(step=""),)), T0)
    for hours in range(9):  # nor do lanes that wait for room: what they read was young when it came
        lane = seen_at(lane, 0, "bound", T0 + 3600 * hours)
        (expired,) = decide(PLAN, lane, T0 + 3600 * hours + 60, attended=False).events
        lane = after(lane, Next(events=(expired,)), T0 + 3600 * hours + 60)
    now = lane.stage_at
    assert (lane.expired, asked(decide(PLAN, lane, now, attended=False))[0]) == (0, ("source", "replication"))


def test_a_failure_is_not_concluded_from_what_was_read_long_ago() -> None:
    """Promise 17: what was wrong hours ago is read again before it is held against anything."""
    lane = see(at_the_point(), role("source", "active"), role("target", "standby"), depth(0))
    assert kinds(decide(PLAN, lane, T0 + 60, attended=False)) == ["readings.expired"]


def test_items_are_acted_on_from_a_fresh_listing() -> None:
    """Promises 7 and 15: a listing that is hours old is taken again before a transaction is touched."""
    plan = a_plan(COMPLETE)
    ruling = ev.Ruling(choice="commit", reason="the log says so", by="ann")
    lane = a_lane(stage=Stage.MAIN, rulings={("transactions", "1-a-b"): ruling})
    lane = see(lane, listing(a_transaction("1-a-b")))
    assert kinds(decide(plan, lane, T0 + 31, attended=True)) == ["readings.expired"]
    assert kinds(decide(plan, lane, T0 + 29, attended=True)) == ["action.intended"]


# --- what was withheld ---------------------------------------------------------------------------------------------


def withheld(times: int, effect: Effect = Effect.NOT_SENT) -> Lane:
    intents = tuple(
        Intent(n, "set_role", n, None, T0, effect=effect, ended_at=T0, withheld=True) for n in range(1, times + 1)
    )
    return a_lane(stage=Stage.PROVE, intents=intents, intended=times)


def test_what_never_left_is_no_attempt() -> None:
    """Promise 4: refusals of the permit (an expired lease, a slow journal) exhaust nothing: the action is tried again."""
    assert kinds(decide(PLAN, withheld(3), T0 + 60, attended=False)) == ["action.intended"]


def test_a_permit_that_always_refuses_ends_the_step() -> None:
    """Every wait ends: after 20 refusals in a row the step fails."""
    assert kinds(decide(PLAN, withheld(19), T0 + 60, attended=False)) == ["action.intended"]
    assert kinds(decide(PLAN, withheld(20), T0 + 60, attended=False)) == ["step.failed"]


def test_what_a_device_did_not_take_is_an_attempt() -> None:
    """A command that never left because the device was away counts: ``attempts`` is 3."""
    lane = proving(Effect.NOT_SENT, attempt=3)
    lane = after(a_lane(), Next(), T0) if lane is None else lane
    intents = tuple(Intent(n, "set_role", n, None, T0, effect=Effect.NOT_SENT, ended_at=T0) for n in (1, 2, 3))
    tried = a_lane(stage=Stage.PROVE, intents=intents, intended=3)
    assert kinds(decide(PLAN, tried, T0 + 60, attended=False)) == ["step.failed"]


# --- what is left --------------------------------------------------------------------------------------------------

BATCH: Mapping[str, Any] = {
    "id": "batch",
    "title": "The batch is stopped",
    "do": {"on": "source", "action": "ensure", "command": "stop-batch"},
}
LEFT = a_plan(BATCH, DEMOTE, ACTIVATE)


def left_changed(attended: bool = False, **policy: Any) -> list[ev.Event]:
    """The batch was stopped, the demotion was refused, and the lane is rolled back."""
    plan = LEFT.model_copy(update={"policy": ev.Policy(**policy)}) if policy else LEFT
    lane = a_lane(step=1, stage=Stage.FAILED, failure="it was refused", changed=True, left=("batch",))
    return all_events(plan, lane, T0, attended=attended)


def test_a_change_without_an_undo_is_not_reverted() -> None:
    """Promise 17: an empty list of undos is no ``reverted`` while something that was changed is left."""
    *_, ended = left_changed()
    assert isinstance(ended, ev.LaneEnded)
    assert ended.outcome is ev.Outcome.STUCK
    assert "the changes of these steps are not undone: batch (ny: ensure stop-batch)" in ended.reason


def test_what_leaves_nothing_is_reverted() -> None:
    """A step whose author says that a rollback finds nothing to do there is passed over, done or in doubt: unattended
    the lane ends reverted, and nothing is called left."""
    plan = a_plan({**BATCH, "leaves": "nothing"}, DEMOTE, ACTIVATE)
    proven = a_lane(
        stage=Stage.PROVE, intents=(Intent(1, "set_role", 1, None, T0, effect=Effect.ACCEPTED, ended_at=T0),)
    )
    (done,) = [one for one in all_events(plan, proven, T0) if isinstance(one, ev.StepDone)]
    assert done.reversible
    doubtful = proving(Effect.DOUBTFUL, abort=ev.AbortAsked(by="ann", reason="no"), stage=Stage.FAILED, changed=True)
    (revert,) = decide(plan, doubtful, T0, attended=False).events
    assert revert == ev.RevertStarted(why="aborted by ann: no", undo=("batch",), left=())
    lane = a_lane(step=1, stage=Stage.FAILED, failure="it was refused", changed=True, undo=("batch",))
    skipped, ended = all_events(plan, lane, T0)[-2:]
    assert skipped == ev.UndoDone(step="batch", skipped="there is nothing to roll back")
    assert isinstance(ended, ev.LaneEnded)
    assert ended.outcome is ev.Outcome.REVERTED


def test_what_is_left_is_remembered_from_its_step() -> None:
    """A step that may have been obeyed and has no undo is left; so is the one that failed in doubt."""
    done = after(proving(Effect.ACCEPTED), Next(events=(ev.StepDone(step="batch"),)), T0)
    assert done.left == ("batch",)
    doubtful = proving(Effect.DOUBTFUL, abort=ev.AbortAsked(by="ann", reason="no"), stage=Stage.FAILED, changed=True)
    (revert,) = decide(LEFT, doubtful, T0, attended=False).events
    assert revert == ev.RevertStarted(why="aborted by ann: no", undo=(), left=("batch",))


def test_what_is_left_may_be_accepted_by_name() -> None:
    """A person who looked may end it: then it is reverted, and the decision is on record."""
    *_, decided, ended = left_changed(on_gate={"left-changed": "accept"}, reasons={"left-changed": "started by hand"})
    assert isinstance(decided, ev.GateDecided)
    assert isinstance(ended, ev.LaneEnded)
    assert (decided.ruling.choice, decided.ruling.reason) == ("accept", "started by hand")
    assert ended.outcome is ev.Outcome.REVERTED


def test_what_is_left_does_not_keep_others_from_their_undo() -> None:
    """What can be undone is undone first, whatever was changed after it."""
    plan = a_plan(DEMOTE, BATCH, ACTIVATE)
    lane = a_lane(step=2, stage=Stage.FAILED, failure="x", changed=True, undo=("demote",), left=("batch",))
    events = all_events(plan, lane, T0)
    assert [event.kind for event in events] == ["gate.opened", "gate.decided", "revert.started"]
    assert isinstance(events[-1], ev.RevertStarted)
    assert (events[-1].undo, events[-1].left) == (("demote",), ("batch",))


def test_a_decided_transaction_is_named_when_the_lane_is_reverted() -> None:
    """Promises 7 and 17: a completed transaction stays completed; the end says so."""
    ruling = ev.Ruling(choice="commit", reason="the log says so", by="ann")
    lane = a_lane(status="reverting", reason="refused", rulings={("transactions", "1-a-b"): ruling})
    assert decide(LEFT, lane, T0, attended=False).events[0] == ev.LaneEnded(
        outcome=ev.Outcome.REVERTED, reason="refused"
    )
    lane = a_lane(status="reverting", reason="refused", rulings=lane.rulings, completed=("1-a-b",))
    (ended,) = decide(LEFT, lane, T0, attended=False).events
    assert isinstance(ended, ev.LaneEnded)
    assert ended.reason == "refused; these transactions were completed and are final: 1-a-b (commit)"


# --- what is known in advance --------------------------------------------------------------------------------------

FORESEE: Mapping[str, Any] = {"id": "foresee", "title": "Transactions are listed", "foresee": "transactions"}
FORESEEN = a_plan(FORESEE, DEMOTE, COMPLETE, ACTIVATE)


def foreseeing(*xids: str, attended: bool = False, **policy: Any) -> list[ev.Event]:
    plan = FORESEEN.model_copy(update={"policy": ev.Policy.model_validate(policy)})
    lane = see(a_lane(stage=Stage.MAIN), listing(*(a_transaction(xid) for xid in xids)))
    return list(decide(plan, lane, T0, attended=attended).events)


DECIDED = {"1-a-b": {"choice": "commit", "reason": "the log says so", "by": "ann"}}


@pytest.mark.parametrize(
    ("xids", "attended", "policy", "passes"),
    [
        ((), False, {}, True),
        (("1-a-b",), False, {}, False),
        (("1-a-b",), True, {}, True),
        (("1-a-b",), False, {"transactions": DECIDED}, True),
        (("1-a-b", "1-a-c"), False, {"transactions": DECIDED}, False),
        (("1-a-b",), False, {"on_gate": {"xa": "stop"}}, True),
        (("1-a-b",), True, {"on_gate": {"xa": "stop"}}, True),
        (("1-a-b",), False, {"on_gate": {"xa": "revert"}}, False),
        (("1-a-b",), True, {"on_gate": {"xa": "revert"}}, False),
    ],
)
def test_a_known_question_needs_an_answer_or_an_operator(
    xids: tuple[str, ...], attended: bool, policy: dict[str, Any], passes: bool
) -> None:
    """Promise 16: nothing is given up on the way to a question that was listed and has no answer. To stop is one."""
    (event,) = foreseeing(*xids, attended=attended, **policy)
    assert event.kind == ("step.done" if passes else "step.failed")
    if isinstance(event, ev.StepFailed):
        assert "add --xa FILE" in event.why


def test_transactions_that_cannot_be_listed_refuse_the_lane() -> None:
    """Promise 16: what cannot be listed before the demotion could not be afterwards, with no site active."""
    lane = see(a_lane(stage=Stage.MAIN), unread("source", "transactions", T0 + 31), at=T0 + 31)
    events = all_events(FORESEEN, lane, T0 + 31)
    assert [event.kind for event in events] == ["step.failed", "lane.ended"]
    assert isinstance(events[-1], ev.LaneEnded)
    assert events[-1].outcome is ev.Outcome.REFUSED


ASKS: Mapping[str, Any] = {
    "id": "at-risk",
    "title": "Loss is accepted",
    "ask": {
        "gate": "leave-behind",
        "text": "t",
        "choices": ["accept", "revert"],
        "unattended": "revert",
        "option": "--reason",
    },
}


@pytest.mark.parametrize(
    ("steps", "attended", "policy", "starts"),
    [
        ((DEMOTE, ASKS), False, {}, False),
        ((DEMOTE, ASKS), True, {}, True),
        ((DEMOTE, ASKS), False, {"on_gate": {"leave-behind": "accept"}}, True),
        ((ASKS, DEMOTE), False, {}, True),
        (
            ({**ASKS, "ask": {**ASKS["ask"], "choices": ["accept", "stop"], "unattended": "stop"}}, DEMOTE),
            False,
            {},
            False,
        ),
        ((DEMOTE, {**ASKS, "only_if": DEMOTE["expect"]}), False, {}, True),
    ],
)
def test_a_certain_question_is_answered_before_the_start(
    steps: tuple[Mapping[str, Any], ...], attended: bool, policy: dict[str, Any], starts: bool
) -> None:
    """Promise 16: a gate that certainly opens after a change needs an answer or an operator; one before it changes
    nothing unless the lane would only stop there, and one that depends on a reading is not certain."""
    plan = a_plan(*steps, policy=ev.Policy.model_validate(policy))
    (event,) = decide(plan, Lane("Trading"), T0, attended=attended).events
    assert event.kind == ("lane.started" if starts else "lane.ended")
    if isinstance(event, ev.LaneEnded):
        assert event.outcome is ev.Outcome.REFUSED
        assert event.reason.endswith("no operator can answer: add --reason. t")
