"""Items: prepared transactions are listed, decided one by one, acted on, and listed again until none is left."""

from __future__ import annotations

from typing import Any

import pytest

from adapters.solace.reading_models import Transaction
from orchestrator.core.decide import Ask, Next, apply_ruling, decide
from orchestrator.core.run import Intent, Lane, Stage
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from orchestrator.model.runbook import parse_duration
from tests.core.builders import (
    COMPLETE,
    DELETE_AT_SOURCE,
    DELETE_AT_TARGET,
    T0,
    a_lane,
    a_plan,
    a_transaction,
    after,
    asked,
    kinds,
    listing,
    role,
    see,
    unread,
    wait_of,
)

A, B = a_transaction("1-a-a"), a_transaction("1-a-b")
COMMIT = ev.Ruling(choice="commit", reason="all other branches are committed", by="ann")
ROLLBACK = ev.Ruling(choice="rollback", reason="another branch is rolled back", by="ann")
STANDBY = {"on": "source", "reading": "replication", "where": {"role": "standby"}}
GUARDED = a_plan({**COMPLETE, "require": [STANDBY]})
PLAN = a_plan(COMPLETE, DELETE_AT_SOURCE, DELETE_AT_TARGET)


def ruled(**rulings: ev.Ruling) -> dict[tuple[str, str], ev.Ruling]:
    return {("transactions", f"1-a-{name}"): ruling for name, ruling in rulings.items()}


def working(**changes: Any) -> Lane:
    return a_lane(**{"stage": Stage.MAIN, "changed": True, **changes})


def tried(item: Transaction, effect: Effect, *, at: float = T0, attempt: int = 1, **more: Any) -> Intent:
    detail = "the device's word"
    return Intent(1, "complete_transaction", attempt, item.xid, at, effect=effect, ended_at=at, detail=detail, **more)


def acted(effect: Effect, **changes: Any) -> Lane:
    """A lane that acted on A, with this end of it."""
    given = {"stage": Stage.PROVE, "intents": (tried(A, effect),), "intended": 1, "rulings": ruled(a=COMMIT)}
    return working(**{**given, **changes})


def next_of(lane: Lane, *items: Transaction, plan: ev.Plan = PLAN, at: float = T0, attended: bool = False) -> Next:
    return decide(plan, see(lane, listing(*items, at=at), at=at), at, attended=attended)


# --- listing -------------------------------------------------------------------------------------------------------


def test_items_are_listed_first() -> None:
    """Nothing is decided on or done before the items were listed."""
    assert asked(decide(PLAN, working(), T0, attended=True)) == [("source", "transactions")]


def test_none_listed_is_done() -> None:
    """With no item that fits, the step is done and says so."""
    assert next_of(working()).events == (ev.StepDone(step="transactions", note="there are none"),)


@pytest.mark.parametrize(
    "other",
    [
        a_transaction("1-x-x", "active"),
        a_transaction("1-x-x", "suspended"),
        a_transaction("1-x-x", "idle"),
        a_transaction("1-x-x", "complete"),
        a_transaction("1-x-x", replicated=False),
    ],
)
def test_only_prepared_replicated_ones(other: Transaction) -> None:
    """Promise 7: only prepared, replicated transactions are decided on; others are left alone."""
    assert kinds(next_of(working(), other, attended=True)) == ["step.done"]


@pytest.mark.parametrize("unclear", [a_transaction("1-x-x", None), a_transaction("1-x-x", replicated=None)])
def test_an_unclear_item_is_never_passed_over(unclear: Transaction) -> None:
    """An item of which nobody knows whether it belongs fails the step: neither acted on, nor called "none"."""
    (failed,) = next_of(working(), unclear).events
    assert isinstance(failed, ev.StepFailed)
    assert "1-x-x" in failed.why


def test_an_unreadable_list_is_not_an_empty_one() -> None:
    """A list that cannot be read is asked again for ``patience``, and then the step has failed."""
    lane = see(working(), unread("source", "transactions"))
    assert kinds(decide(PLAN, lane, T0, attended=False)) == []
    lane = see(working(), unread("source", "transactions", T0 + 30), at=T0 + 30)
    assert kinds(decide(PLAN, lane, T0 + 30, attended=False)) == ["step.failed"]


# --- deciding ------------------------------------------------------------------------------------------------------


def test_the_policy_decides_by_xid() -> None:
    """What was decided in advance for an XID is recorded as that ruling, with its reason and who made it."""
    plan = PLAN.model_copy(update={"policy": ev.Policy(transactions={A.xid: COMMIT, B.xid: ROLLBACK})})
    lane = see(working(), listing(A, B))
    move = decide(plan, lane, T0, attended=True)
    assert move.events == (
        ev.GateDecided(gate="xa", step="transactions", ruling=COMMIT, item=A.xid),
        ev.GateDecided(gate="xa", step="transactions", ruling=ROLLBACK, item=B.xid),
    )
    intents = decide(plan, after(lane, move, T0), T0, attended=True).events
    assert [(one.intent, one.item, one.args) for one in intents if isinstance(one, ev.ActionIntended)] == [
        (1, A.xid, {"xid": A.xid, "outcome": "commit"}),
        (2, B.xid, {"xid": B.xid, "outcome": "rollback"}),
    ]


def test_unattended_nothing_is_guessed() -> None:
    """Promise 7: a transaction without a decision stops an unattended lane, and the reason names it."""
    (ended,) = next_of(working(), A).events
    assert ended == ev.LaneEnded(
        outcome=ev.Outcome.NEEDS_OPERATOR, reason="1 prepared transaction needs a decision: 1-a-a"
    )


def test_nothing_is_done_to_any_before_all_are_decided() -> None:
    """With one of two undecided nothing is done to either: the person sees the whole list first."""
    lane = working(rulings=ruled(a=COMMIT))
    assert [event.kind for event in next_of(lane, A, B, attended=True).events] == ["gate.opened"]


def test_a_person_is_asked_for_each() -> None:
    """Each undecided item is a question of its own, which says what is known of it; "stop" is always offered."""
    lane = see(working(), listing(A, B))
    move = decide(PLAN, lane, T0, attended=True)
    gates = [event for event in move.events if isinstance(event, ev.GateOpened)]
    assert [(gate.item, gate.choices) for gate in gates] == [
        (A.xid, ("commit", "rollback", "stop")),
        (B.xid, ("commit", "rollback", "stop")),
    ]
    assert gates[0].why.startswith("1-a-a at ny: type xa, state prepared")
    asks = decide(PLAN, after(lane, move, T0), T0, attended=True).requests
    assert [request.gate.item for request in asks if isinstance(request, Ask)] == [A.xid, B.xid]


def opened(*items: Transaction) -> Lane:
    lane = see(working(), listing(*items))
    return after(lane, decide(PLAN, lane, T0, attended=True), T0)


def test_a_person_s_ruling_is_recorded_and_done() -> None:
    """Promise 7: each with a recorded decision and its reason, and only then done."""
    lane = opened(A)
    lane = after(lane, Next(events=apply_ruling(PLAN, lane, lane.gates[0], COMMIT)), T0)
    assert lane.rulings == ruled(a=COMMIT)
    assert kinds(next_of(lane, A, at=T0 + 1, attended=True)) == ["action.intended"]


def test_a_person_says_stop() -> None:
    """A "stop" on one item stops the lane where it is, resumable, and what was decided so far is kept."""
    lane = opened(A, B)
    lane = after(lane, Next(events=apply_ruling(PLAN, lane, lane.gates[0], COMMIT)), T0)
    stop = ev.Ruling(choice="stop", reason="ask the owners", by="ann")
    lane = after(lane, Next(events=apply_ruling(PLAN, lane, lane.gates[0], stop)), T0)
    assert (lane.status, lane.rulings[("transactions", A.xid)]) == ("needs-operator", COMMIT)
    lane = after(lane, Next(events=(ev.LaneResumed(by="ann"),)), T0 + 60)
    assert asked(decide(PLAN, lane, T0 + 60, attended=True)) == [("source", "transactions")]


def test_a_stop_is_no_decision_on_an_item() -> None:
    """Promise 7: an item on which somebody said "stop" is as undecided as before: it is asked about again, once the
    lane goes on, and never acted on."""
    lane = opened(A)
    stop = ev.Ruling(choice="stop", reason="ask the owners", by="ann")
    lane = after(lane, Next(events=apply_ruling(PLAN, lane, lane.gates[0], stop)), T0)
    lane = after(lane, Next(events=(ev.LaneResumed(by="ann"),)), T0 + 60)
    assert kinds(next_of(lane, A, at=T0 + 60, attended=True)) == ["gate.opened"]


def test_the_transaction_manager_may_answer_first() -> None:
    """An item that is gone while its question is open withdraws the question; with none left the step is done."""
    move = next_of(opened(A), at=T0 + 1, attended=True)
    assert kinds(move) == ["gate.withdrawn", "step.done"]


def test_a_question_about_a_gone_item_is_withdrawn_while_others_stay() -> None:
    """With A decided and B gone, B's question is withdrawn before anything is done to A."""
    lane = opened(A, B)
    lane = after(lane, Next(events=apply_ruling(PLAN, lane, lane.gates[0], COMMIT)), T0)
    lane = see(lane, listing(A, at=T0 + 1), at=T0 + 1)
    move = decide(PLAN, lane, T0 + 1, attended=True)
    assert kinds(move)[0] == "gate.withdrawn"
    lane = after(lane, move, T0 + 1)
    assert lane.gates == ()


@pytest.mark.parametrize(("status", "unattended"), [("running", "revert"), ("escalating", "stop")])
def test_a_question_says_what_happens_without_an_answer(status: str, unattended: str) -> None:
    """Law: a lane that cannot go back stops where no one answers, and its question says so."""
    plan = a_plan({**COMPLETE, "decide": {**COMPLETE["decide"], "unattended": "revert"}})
    (opened,) = next_of(working(status=status), A, plan=plan, attended=True).events
    assert isinstance(opened, ev.GateOpened)
    assert opened.unattended == unattended


def test_a_new_item_is_a_new_question() -> None:
    """A transaction that turns up after the others were decided is decided on too, before anything more is done."""
    lane = acted(Effect.ACCEPTED)
    assert kinds(next_of(lane, B, at=T0 + 1, attended=True)) == ["gate.opened"]


# --- acting --------------------------------------------------------------------------------------------------------


def test_listed_no_more_is_done() -> None:
    """An item is done when it is not listed any more, whatever the device answered. That this run did it is only said
    of an accepted command (promise 17)."""
    unsure = "; no longer listed, but it is unknown whether this run did that: 1-a-a"
    for effect, more in ((Effect.ACCEPTED, ""), (Effect.DOUBTFUL, unsure), (Effect.REJECTED, unsure)):
        move = next_of(acted(effect), at=T0 + 1)
        assert move.events == (ev.StepDone(step="transactions", note=f"1 of them{more}"),)


def test_accepted_and_still_listed_has_time() -> None:
    """An accepted item that is still listed is looked at again for ``within`` (15s), and then the step has failed."""
    assert kinds(next_of(acted(Effect.ACCEPTED), A, at=T0 + 14)) == []
    (failed,) = next_of(acted(Effect.ACCEPTED), A, at=T0 + 15).events
    why = "1-a-a is still listed 15s after the accepted action"
    assert failed == ev.StepFailed(step="transactions", why=why)


def test_a_rejected_item_fails_the_step() -> None:
    """A refusal with the item still listed fails the step with the device's word."""
    (failed,) = next_of(acted(Effect.REJECTED), A, at=T0 + 1).events
    assert failed == ev.StepFailed(step="transactions", why="the action on 1-a-a was refused: the device's word")


def test_a_doubtful_item_is_left_alone_until_settle() -> None:
    """A doubt about an item is resolved only by a list later than ``settle`` (2s); then it is tried again."""
    early = next_of(acted(Effect.DOUBTFUL), A, at=T0 + 1.5)
    assert (kinds(early), wait_of(early, T0)) == ([], 2.0)
    lane = see(acted(Effect.DOUBTFUL), listing(A, at=T0 + 2), at=T0 + 2)
    resolved = decide(PLAN, lane, T0 + 2, attended=False)
    assert resolved.events == (ev.DoubtResolved(intent=1, evidence="1-a-a is still listed without a change"),)
    lane = after(lane, resolved, T0 + 2)
    (again,) = decide(PLAN, lane, T0 + 2, attended=False).events
    assert isinstance(again, ev.ActionIntended)
    assert (again.item, again.attempt, again.intent) == (A.xid, 2, 2)


def test_after_a_resume_a_doubtful_item_has_its_settle_again() -> None:
    """Promise 4: the clock of the bastion that takes the run may be ahead of the one that sent the command."""
    lane = after(acted(Effect.DOUBTFUL), Next(events=(ev.LaneResumed(by="ann"),)), T0 + 600)
    early = next_of(lane, A, at=T0 + 600)
    assert (kinds(early), wait_of(early, T0 + 600)) == ([], 2.0)
    assert kinds(next_of(lane, A, at=T0 + 602)) == ["doubt.resolved"]


@pytest.mark.parametrize("settle", ["100ms", "300ms", "700ms", "1100ms"])
@pytest.mark.parametrize("start", [T0 + 0.1, T0 + 0.7, T0 + 1 / 3])
def test_the_settle_time_ends_on_any_clock(settle: str, start: float) -> None:
    """Looking exactly when the settle time is over resolves the doubt, however the numbers are rounded."""
    plan = a_plan({**COMPLETE, "settle": settle})
    intent = tried(A, Effect.DOUBTFUL, at=start)
    lane, now = acted(Effect.DOUBTFUL, intents=(intent,), stage_at=start), start
    for _ in range(10):
        move = next_of(lane, A, plan=plan, at=now)
        if move.events:
            break
        assert move.wake is not None
        assert move.wake > now
        now = move.wake
    assert kinds(move) == ["doubt.resolved"]


def test_what_never_left_is_tried_again_after_a_pause() -> None:
    """An item whose action was not sent is tried again after a pause, at most ``attempts`` (3) times."""
    lane = acted(Effect.NOT_SENT)
    assert kinds(next_of(lane, A)) == []
    assert kinds(next_of(lane, A, at=T0 + 1)) == ["action.intended"]
    spent = acted(Effect.NOT_SENT, intents=(tried(A, Effect.NOT_SENT),) * 3)
    assert kinds(next_of(spent, A, at=T0 + 60)) == ["step.failed"]


def test_items_are_sent_together() -> None:
    """All decided items that are due are intended at once, so that one request can carry them."""
    lane = working(rulings=ruled(a=COMMIT, b=ROLLBACK))
    assert kinds(next_of(lane, A, B)) == ["action.intended", "action.intended"]


def test_after_a_retry_a_doubt_still_waits_for_its_settle() -> None:
    """A person's "retry" does not make a doubtful item be sent again at once."""
    lane = acted(Effect.DOUBTFUL, stage=Stage.FAILED, failure="unknown")
    lane = after(lane, Next(events=(ev.StepRetried(step="transactions"),)), T0 + 1)
    lane = after(lane, decide(PLAN, lane, T0 + 1, attended=True), T0 + 1)
    assert kinds(next_of(lane, A, at=T0 + 1, attended=True)) == []


@pytest.mark.parametrize(
    ("source", "expected"),
    [(role("source", "standby"), ["action.intended"]), (role("source", "active"), ["step.failed"]), (None, [])],
)
def test_preconditions_are_read_with_the_list(source: ev.Seen | None, expected: list[str]) -> None:
    """An item is acted on only if the step's preconditions hold in the very round that lists it."""
    lane = see(working(rulings=ruled(a=COMMIT)), listing(A))
    assert asked(decide(GUARDED, lane, T0, attended=False)) == [("source", "transactions"), ("source", "replication")]
    lane = see(lane, listing(A), source or unread("source", "replication"))
    assert kinds(decide(GUARDED, lane, T0, attended=False)) == expected


def test_preconditions_are_not_read_for_nothing() -> None:
    """With nothing to act on there is nothing to permit: no round of readings is spent on it."""
    assert asked(decide(GUARDED, working(), T0, attended=False)) == [("source", "transactions")]
    assert next_of(working(), plan=GUARDED).events == (ev.StepDone(step="transactions", note="there are none"),)


# --- deleting ------------------------------------------------------------------------------------------------------


def test_only_decided_ones_are_deleted() -> None:
    """Promise 7: completed transactions are deleted only if this run decided on them; others are somebody else's."""
    lane = working(step=1, rulings=ruled(a=COMMIT))
    mine, other = a_transaction("1-a-a", "complete"), a_transaction("1-z-z", "complete")
    (intent,) = next_of(lane, mine, other).events
    assert isinstance(intent, ev.ActionIntended)
    assert (intent.action, intent.item, intent.args) == ("delete_transaction", "1-a-a", {"xid": "1-a-a"})
    assert kinds(next_of(working(step=1), mine, other)) == ["step.done"]


def test_an_unclear_item_of_somebody_else_is_nobody_s_business() -> None:
    """An item that this run did not decide on is not even judged."""
    assert kinds(next_of(working(step=1), a_transaction("1-z-z", None))) == ["step.done"]


def test_the_transaction_manager_has_its_chance() -> None:
    """At the target what is left is deleted only after ``delay`` (5s); what goes by itself is not touched."""
    left = a_transaction("1-a-a", "complete")
    lane = working(step=2, status="committed", rulings=ruled(a=COMMIT), left_at=T0)
    early = decide(PLAN, see(lane, listing(left, on="target", at=T0 + 4), at=T0 + 4), T0 + 4, attended=False)
    assert (kinds(early), early.wake) == ([], T0 + 5)
    late = decide(PLAN, see(lane, listing(left, on="target", at=T0 + 5), at=T0 + 5), T0 + 5, attended=False)
    assert kinds(late) == ["action.intended"]
    gone = decide(PLAN, see(lane, listing(on="target", at=T0 + 1), at=T0 + 1), T0 + 1, attended=False)
    assert kinds(gone) == ["step.done"]


@pytest.mark.parametrize(("told", "at"), [("20s", 20.0), ("1s", 1.0), (None, 5.0)])
def test_a_pair_says_how_long_its_transaction_managers_get(told: str | None, at: float) -> None:
    """Law: ``transaction_wait`` of the pair replaces the runbook's ``delay``; a step without a delay stays without."""
    [pair] = PLAN.inventory.pairs
    wait = None if told is None else parse_duration(told)
    pairs = (pair.model_copy(update={"transaction_wait": wait}),)
    plan = PLAN.model_copy(update={"inventory": PLAN.inventory.model_copy(update={"pairs": pairs})})
    assert [plan.delay_of(step) for step in plan.runbook.steps] == [0.0, 0.0, at]


def test_the_time_of_others_lasts_through_a_resume() -> None:
    """Law: the time for which earlier processes watched counts, by their clocks; the time between them does not."""
    left = a_transaction("1-a-a", "complete")
    lane = working(step=2, status="committed", rulings=ruled(a=COMMIT), step_at=T0, left_at=T0)
    lane = see(lane, listing(left, on="target", at=T0 + 3), at=T0 + 3)
    for resumed_at in (T0 + 1_000, T0 + 500):  # the second process died before it listed; its clock was ahead
        lane = after(lane, Next(events=(ev.LaneResumed(by="ann"),)), resumed_at)
    early = see(lane, listing(left, on="target", at=T0 + 501), at=T0 + 501)
    assert kinds(decide(PLAN, early, T0 + 501, attended=False)) == []
    late = see(lane, listing(left, on="target", at=T0 + 502), at=T0 + 502)
    assert kinds(decide(PLAN, late, T0 + 502, attended=False)) == ["action.intended"]


def test_after_a_stop_an_accepted_item_still_has_its_time() -> None:
    """A lane that was stopped and resumed does not send again what was accepted a moment ago and still shows."""
    lane = after(acted(Effect.ACCEPTED), Next(events=(ev.LaneEnded(outcome=ev.Outcome.NEEDS_OPERATOR),)), T0)
    lane = after(lane, Next(events=(ev.LaneResumed(by="ann"),)), T0 + 1)
    assert kinds(next_of(lane, A, at=T0 + 1, attended=True)) == []
    assert kinds(next_of(lane, A, at=T0 + 20, attended=True)) == ["action.intended"]


def test_it_is_listed_again_before_it_is_deleted() -> None:
    """Law: what the transaction manager did at the end of its time counts: no listing from before is used."""
    left = a_transaction("1-a-a", "complete")
    lane = working(step=2, status="committed", rulings=ruled(a=COMMIT), left_at=T0)
    seen = see(lane, listing(left, on="target", at=T0 + 4), at=T0 + 4)
    assert asked(decide(PLAN, seen, T0 + 7, attended=False)) == [("target", "transactions")]
    assert kinds(decide(PLAN, seen, T0 + 7, attended=False)) == []


def test_what_is_passed_over_is_named_and_counted() -> None:
    """Law: a prepared transaction that the step leaves alone is in its note, and so is a completed one of others."""
    stays = a_transaction("1-z-z", replicated=False)
    assert next_of(working(), stays).events == (
        ev.StepDone(step="transactions", note="there are none; the step did not change 1 in the same state: 1-z-z"),
    )
    others = [a_transaction(f"1-z-{number}", "complete") for number in range(7)]
    (done,) = next_of(working(step=1), *others).events
    assert isinstance(done, ev.StepDone)
    assert done.note.startswith("there are none; the step did not change 7 in the same state: 1-z-0, ")
    assert done.note.endswith("1-z-4 and 2 more")
