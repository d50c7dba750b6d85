"""Actions: intended only when allowed, done only when proven, doubtful until read, repeated only without effect."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from adapters.solace.reading_models import Bridge, Fence, NodeFence
from orchestrator.core.decide import Next, decide
from orchestrator.core.run import Lane, Stage
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from tests.core.builders import (
    ACTIVATE,
    DEMOTE,
    T0,
    Data,
    a_lane,
    a_plan,
    after,
    asked,
    kinds,
    proving,
    role,
    see,
    seen,
    unread,
    wait_of,
)

ABORT = ev.AbortAsked(by="ann", reason="the change was called off")
PLAN = a_plan(DEMOTE, ACTIVATE)
BLIND = a_plan(
    {"id": "nudge", "title": "Idempotent, without a proof", "do": {"on": "source", "action": "nudge"}, "attempts": 2}
)
STANDBY, STILL_ACTIVE = role("source", "standby"), role("source", "active")


def at_activate(**changes: Any) -> Any:
    return a_lane(**{"step": 1, "changed": True, "undo": ("demote",), **changes})


# --- before: nothing is intended without its preconditions ---------------------------------------------------------


def test_an_action_without_preconditions_is_intended_at_once() -> None:
    """The intent says everything that will be sent: number, step, side, action, arguments, attempt."""
    assert decide(PLAN, a_lane(intended=4), T0, attended=False).events == (
        ev.ActionIntended(
            intent=5, step="demote", on="source", action="set_role", args={"role": "standby"}, attempt=1
        ),
    )


def test_every_precondition_is_read_before_the_intent() -> None:
    """Promise 1: the target's activation is not even intended before both roles were read again, in one round."""
    assert asked(decide(PLAN, at_activate(), T0, attended=False)) == [
        ("source", "replication"),
        ("target", "replication"),
    ]


def test_with_every_precondition_true_it_is_intended() -> None:
    """Source and target confirmed standby: the activation is intended."""
    lane = see(at_activate(), role("source", "standby"), role("target", "standby"))
    assert kinds(decide(PLAN, lane, T0, attended=False)) == ["action.intended"]


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (role("source", "active"), role("target", "standby"), ["step.failed"]),
        (role("source", "standby"), role("target", "active"), ["step.failed"]),
        (role("source", None), role("target", "standby"), []),
        (unread("source", "replication"), role("target", "standby"), []),
        (role("source", "standby"), unread("target", "replication"), []),
    ],
)
def test_no_activation_unless_the_source_is_confirmed_standby(
    source: ev.Seen, target: ev.Seen, expected: list[str]
) -> None:
    """Promise 1: a source that is active, or that nobody can read, is not confirmed standby; nothing is intended."""
    assert kinds(decide(PLAN, see(at_activate(), source, target), T0, attended=False)) == expected


def test_nothing_is_decided_while_an_action_is_under_way() -> None:
    """Between intent and outcome nothing is decided, whatever is read."""
    lane = after(a_lane(), decide(PLAN, a_lane(), T0, attended=False), T0)
    assert lane.stage is Stage.ACT
    assert decide(PLAN, see(lane, STANDBY), T0, attended=True).events == ()


# --- after: the reading decides, whatever the device answered ------------------------------------------------------


def test_the_answer_alone_proves_nothing() -> None:
    """An accepted action is read back before the step is done."""
    assert asked(decide(PLAN, proving(Effect.ACCEPTED), T0, attended=False)) == [("source", "replication")]


@pytest.mark.parametrize("effect", [Effect.ACCEPTED, Effect.REJECTED, Effect.DOUBTFUL])
def test_what_is_read_as_true_is_done(effect: Effect) -> None:
    """A step is done when every ``expect`` is read as true after the action, also after a refusal, or a doubt about what
    was not so before."""
    move = decide(PLAN, see(proving(effect, before=(STILL_ACTIVE,)), STANDBY), T0, attended=False)
    (done,) = move.events
    assert isinstance(done, ev.StepDone)
    assert (done.step, done.reversible) == ("demote", True)
    note = f"a reading confirmed the effect, although the action itself was {effect}"
    assert done.note == ("" if effect is Effect.ACCEPTED else note)


@pytest.mark.parametrize("before", [(), (STANDBY,), (role("source", None),), (unread("source", "replication"),)])
def test_a_doubt_about_what_may_have_been_so_before_waits_until_it_has_settled(before: tuple[ev.Seen, ...]) -> None:
    """That it holds shows nothing then: the command may be on its way, and would undo a later step that sends the
    opposite. It is looked at once more when ``settle`` (2s) is over."""
    lane = see(proving(Effect.DOUBTFUL, before=before), STANDBY)
    move = decide(PLAN, lane, T0, attended=False)
    assert kinds(move) == [] and wait_of(move, T0) == 2.0
    settled = see(lane, role("source", "standby", T0 + 2), at=T0 + 2)
    assert kinds(decide(PLAN, settled, T0 + 2, attended=False)) == ["step.done"]


def test_what_was_read_right_before_an_intent_is_kept_with_it() -> None:
    """The readings of the preconditions, and none of an earlier stage."""
    seen_then = (role("source", "standby"), role("target", "standby"))
    lane = see(at_activate(), *seen_then)
    assert after(lane, decide(PLAN, lane, T0, attended=False), T0).intents[-1].before == seen_then
    unasked = after(a_lane(), decide(PLAN, a_lane(), T0, attended=False), T0)
    assert unasked.intents[-1].before == ()


def test_an_accepted_action_has_time_to_show() -> None:
    """An accepted action whose effect does not show is read again for ``within`` (15s), and then the step failed."""
    lane = proving(Effect.ACCEPTED)
    assert kinds(decide(PLAN, see(lane, STILL_ACTIVE), T0, attended=False)) == []
    late = see(lane, role("source", "active", T0 + 15), at=T0 + 15)
    assert kinds(decide(PLAN, late, T0 + 15, attended=False)) == ["step.failed"]


def test_a_rejected_action_fails_with_the_device_s_word() -> None:
    """A refusal that the reading confirms fails the step, and the reason is what the device said."""
    (failed,) = decide(PLAN, see(proving(Effect.REJECTED), STILL_ACTIVE), T0, attended=False).events
    assert failed == ev.StepFailed(step="demote", why="ny refused: the device's word")


def test_an_unreadable_proof_has_patience() -> None:
    """With the proof unknown the action is neither done nor repeated: it is asked again until patience ends."""
    for effect in (Effect.ACCEPTED, Effect.DOUBTFUL, Effect.REJECTED):
        lane = see(proving(effect), unread("source", "replication"))
        assert kinds(decide(PLAN, lane, T0, attended=False)) == []
        lane = see(proving(effect), unread("source", "replication", T0 + 30), at=T0 + 30)
        assert kinds(decide(PLAN, lane, T0 + 30, attended=False)) == ["step.failed"]


# --- doubt and repetition ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("age", "expected"), [(0.0, []), (1.9, []), (2.0, ["doubt.resolved"])])
def test_a_doubt_is_resolved_by_a_reading_after_settle(age: float, expected: list[str]) -> None:
    """A doubtful action counts as without effect only by a reading later than ``settle`` (2s): it may land late."""
    lane = see(proving(Effect.DOUBTFUL), role("source", "active", T0 + age), at=T0 + age)
    assert kinds(decide(PLAN, lane, T0 + age, attended=False)) == expected


def test_an_old_reading_does_not_resolve_a_doubt() -> None:
    """The moment of asking counts, not the moment of deciding: a reading of before ``settle`` is no proof."""
    lane = see(proving(Effect.DOUBTFUL), role("source", "active", T0 + 1), at=T0 + 60)
    move = decide(PLAN, lane, T0 + 60, attended=False)
    assert (kinds(move), asked(move)) == ([], [("source", "replication")])


@pytest.mark.parametrize("kind", ["AuthenticationFailed", "Unreachable"])
def test_nobody_gives_up_on_a_command_that_may_still_be_on_its_way(kind: str) -> None:
    """Promise 4: what cannot be read does not fail a step in doubt before ``settle`` (2s): the command could land after
    the opposite that would be sent then. Nor are devices asked all the time where asking cannot help."""
    lane = replace(proving(Effect.DOUBTFUL), known_at=T0 - 600)
    unknown = see(lane, unread("source", "replication", kind=kind))
    move = decide(PLAN, unknown, T0, attended=False)
    assert (kinds(move), wait_of(move, T0) == 2.0) == ([], kind == "AuthenticationFailed")
    settled = see(lane, unread("source", "replication", T0 + 2, kind=kind), at=T0 + 2)
    assert kinds(decide(PLAN, settled, T0 + 2, attended=False)) == ["step.failed"]


def test_a_resolved_doubt_is_sent_again_as_another_attempt() -> None:
    """Only after the doubt is resolved the action is intended again, after a pause, counted as attempt 2."""
    lane = see(proving(Effect.DOUBTFUL, at=T0), role("source", "active", T0 + 2), at=T0 + 2)
    lane = after(lane, decide(PLAN, lane, T0 + 2, attended=False), T0 + 2)
    (again,) = decide(PLAN, lane, T0 + 2, attended=False).events
    assert isinstance(again, ev.ActionIntended)
    assert (again.intent, again.attempt) == (2, 2)


def test_what_never_left_is_sent_again_after_a_pause() -> None:
    """An action that was not sent may be repeated without a reading, a little later each time."""
    lane = proving(Effect.NOT_SENT)
    assert wait_of(decide(PLAN, lane, T0, attended=False), T0) == 0.4
    assert kinds(decide(PLAN, lane, T0 + 0.4, attended=False)) == ["action.intended"]
    third = proving(Effect.NOT_SENT, attempt=2)
    assert wait_of(decide(PLAN, third, T0, attended=False), T0) == 0.8


def test_attempts_are_counted_and_end() -> None:
    """After ``attempts`` (3) attempts without effect the step fails and names the last answer."""
    lane = proving(Effect.NOT_SENT)
    lane = a_lane(stage=Stage.PROVE, intents=lane.intents * 3, intended=3)
    (failed,) = decide(PLAN, lane, T0 + 60, attended=False).events
    assert isinstance(failed, ev.StepFailed)
    assert "the device's word" in failed.why


def test_attempts_before_a_retry_by_a_person_do_not_count() -> None:
    """A person who says "retry" gives the step its whole number of attempts again."""
    lane = proving(Effect.NOT_SENT)
    lane = a_lane(stage=Stage.FAILED, intents=lane.intents * 3, intended=3)
    lane = after(lane, decide_retry(), T0)
    assert kinds(decide(PLAN, lane, T0, attended=True)) == ["action.intended"]


def decide_retry() -> Any:
    return Next(events=(ev.StepRetried(step="demote"),))


@pytest.mark.parametrize("effect", [Effect.DOUBTFUL, Effect.ACCEPTED])
def test_a_retry_of_what_may_have_been_obeyed_reads_first(effect: Effect) -> None:
    """A step that failed in doubt begins with the proof again, never with the action."""
    lane = after(proving(effect, stage=Stage.FAILED, failure="unknown"), decide_retry(), T0)
    assert asked(decide(PLAN, lane, T0, attended=True)) == [("source", "replication")]


def without_effect(*, repeatable: bool = True) -> Lane:
    """A lane whose accepted action had no effect that a reading shows."""
    return proving(Effect.ACCEPTED, stage=Stage.FAILED, failure="no effect", repeatable=repeatable)


@pytest.mark.parametrize("how", [ev.StepRetried(step="demote"), ev.LaneResumed(by="ann")])
def test_an_accepted_action_without_its_effect_is_sent_again(how: ev.Event) -> None:
    """Law: if the effect of an accepted action is not there, for example after a restart of the device, a retry and a
    resume send it again: once a reading shows that after the settle time."""
    lane = after(without_effect(), Next(events=(how,)), T0 + 100)
    lane = see(lane, role("source", "active", T0 + 101), at=T0 + 101)
    assert kinds(decide(PLAN, lane, T0 + 101, attended=True)) == []
    lane = see(lane, role("source", "active", T0 + 103), at=T0 + 103)
    resolved = decide(PLAN, lane, T0 + 103, attended=True)
    assert kinds(resolved) == ["doubt.resolved"]
    lane = after(lane, resolved, T0 + 103)
    again = decide(PLAN, lane, T0 + 110, attended=True)
    assert kinds(again) == ["action.intended"]
    ended = ev.ActionEnded(intent=2, effect=Effect.ACCEPTED, repeatable=True)
    lane = after(after(lane, again, T0 + 110), Next(events=(ended,)), T0 + 111)
    lane = see(lane, role("source", "active", T0 + 140), at=T0 + 140)
    assert kinds(decide(PLAN, lane, T0 + 140, attended=True)) == ["step.failed"]


def test_an_accepted_action_that_must_not_be_repeated() -> None:
    """Law (promise 4): after a retry such an action is only read again, and its step fails as before."""
    lane = after(without_effect(repeatable=False), Next(events=(ev.StepRetried(step="demote"),)), T0 + 100)
    lane = see(lane, role("source", "active", T0 + 103), at=T0 + 103)
    assert kinds(decide(PLAN, lane, T0 + 103, attended=True)) == []
    lane = see(lane, role("source", "active", T0 + 116), at=T0 + 116)
    assert kinds(decide(PLAN, lane, T0 + 116, attended=True)) == ["step.failed"]


@pytest.mark.parametrize("how", [ev.StepRetried(step="demote"), ev.LaneResumed(by="ann")])
def test_an_effect_that_came_late_is_not_sent_again(how: ev.Event) -> None:
    """Law: a retry and a resume first read whether the effect of an accepted action is there."""
    lane = after(without_effect(), Next(events=(how,)), T0 + 100)
    lane = see(lane, role("source", "standby", T0 + 101), at=T0 + 101)
    assert kinds(decide(PLAN, lane, T0 + 101, attended=True)) == ["step.done"]


def test_a_resume_reads_before_it_repeats() -> None:
    """Promise 4: after a crash the outcome is in doubt, and the settle time begins anew."""
    lane = after(a_lane(), decide(PLAN, a_lane(), T0, attended=False), T0)
    opening = (ev.ActionEnded(intent=1, effect=Effect.DOUBTFUL), ev.LaneResumed(by="ann"))
    lane = after(lane, Next(events=opening), T0 + 100)
    assert asked(decide(PLAN, lane, T0 + 100, attended=False)) == [("source", "replication")]
    early = see(lane, role("source", "active", T0 + 101), at=T0 + 101)
    assert kinds(decide(PLAN, early, T0 + 101, attended=False)) == []


@pytest.mark.parametrize("effect", [Effect.NOT_SENT, Effect.DOUBTFUL])
def test_no_second_attempt_on_old_preconditions(effect: Effect) -> None:
    """Promise 1: every attempt is intended only after its preconditions were read anew, in the first one and in all
    later ones: between two attempts an operator, or a crash and an hour, may have changed everything."""
    lane = proving(effect, step=1, changed=True)
    if effect is Effect.DOUBTFUL:
        lane = see(lane, role("target", "standby", T0 + 2), at=T0 + 2)
        lane = after(lane, decide(PLAN, lane, T0 + 2, attended=False), T0 + 2)
    move = decide(PLAN, lane, T0 + 60, attended=False)
    assert (kinds(move), asked(move)) == ([], [("source", "replication"), ("target", "replication")])
    taken_back = see(lane, role("source", "active", T0 + 60), role("target", "standby", T0 + 60), at=T0 + 60)
    assert kinds(decide(PLAN, taken_back, T0 + 60, attended=False)) == ["step.failed"]
    as_before = see(lane, role("source", "standby", T0 + 60), role("target", "standby", T0 + 60), at=T0 + 60)
    assert kinds(decide(PLAN, as_before, T0 + 60, attended=False)) == ["action.intended"]


# --- without a proof -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("effect", "expected"),
    [
        (Effect.ACCEPTED, ["step.done"]),
        (Effect.REJECTED, ["step.failed"]),
        (Effect.DOUBTFUL, ["action.intended"]),
        (Effect.NOT_SENT, ["action.intended"]),
    ],
)
def test_without_a_proof_the_answer_has_to_do(effect: Effect, expected: list[str]) -> None:
    """An idempotent action without ``expect``: its own answer counts, and a doubt is sent again."""
    assert kinds(decide(BLIND, proving(effect), T0 + 5, attended=False)) == expected


def test_without_a_proof_attempts_end_too() -> None:
    """Doubts of an action without proof are repeated ``attempts`` times, not for ever."""
    lane = a_lane(stage=Stage.PROVE, intents=proving(Effect.DOUBTFUL).intents * 2, intended=2)
    assert kinds(decide(BLIND, lane, T0 + 60, attended=False)) == ["step.failed"]


# --- the point of no return ----------------------------------------------------------------------------------------


def test_an_accepted_activation_is_the_point_of_no_return() -> None:
    """Once the device accepted it the lane only goes forward, even before the effect is confirmed."""
    lane = proving(Effect.ACCEPTED, step=1, changed=True)
    assert kinds(decide(PLAN, lane, T0, attended=False)) == ["point-of-no-return"]


def test_a_doubtful_activation_is_none_until_it_is_read() -> None:
    """A doubtful activation that a reading confirms passes the point of no return and is done."""
    lane = proving(Effect.DOUBTFUL, step=1, changed=True, before=(role("target", "standby"),))
    assert asked(decide(PLAN, lane, T0, attended=False)) == [("target", "replication")]
    move = decide(PLAN, see(lane, role("target", "active")), T0, attended=False)
    assert kinds(move) == ["point-of-no-return", "step.done"]


def test_it_is_passed_only_once() -> None:
    """A committed or escalating lane does not pass the point of no return again."""
    for status in ("committed", "escalating"):
        lane = see(proving(Effect.ACCEPTED, step=1, status=status), role("target", "active"))
        assert kinds(decide(PLAN, lane, T0, attended=False)) == ["step.done"]


def test_what_a_doubt_turned_out_to_have_changed_is_remembered() -> None:
    """A doubtful action that a reading confirms has changed the service, undo or not: never "nothing changed"."""
    was = (role("target", "standby"),)
    lane = see(proving(Effect.DOUBTFUL, step=1, status="escalating", before=was), role("target", "active"))
    lane = after(lane, decide(PLAN, lane, T0, attended=False), T0)
    assert lane.changed


# --- a site has several nodes --------------------------------------------------------------------------------------

SHUT: Data = {
    "id": "fence",
    "title": "No client can come",
    "do": {"on": "source", "action": "set_backbone", "state": "down"},
    "expect": [{"on": "source", "reading": "fence", "where": {"closed": True}}],
    "undo": {
        "do": {"on": "source", "action": "set_backbone", "state": "up"},
        "expect": [{"on": "source", "reading": "fence", "where": {"open": True}}],
    },
}

CLOSED: Data = {
    "id": "close",
    "title": "No one writes, and no session is left",
    "do": {"on": "source", "action": "set_role", "role": "standby"},
    "expect": [{"on": "source", "reading": "replication", "where": {"role": "standby", "bridge": "bound"}}],
}
OPENED: Data = {
    "id": "open",
    "title": "Clients can come",
    "point_of_no_return": True,
    "do": {"on": "source", "action": "set_backbone", "state": "up"},
    "expect": [{"on": "source", "reading": "fence", "where": {"open": True}}],
}


def fence(*ups: bool) -> ev.Seen:
    nodes = tuple(NodeFence(node=f"n{number}", backbone_up=up, clients=0) for number, up in enumerate(ups))
    return seen("source", Fence(nodes=nodes), T0 + 5)


@pytest.mark.parametrize(("ups", "partly", "ends"), [((True, False), True, False), ((True, True), False, True)])
def test_half_an_effect_is_a_change(ups: tuple[bool, ...], partly: bool, ends: bool) -> None:
    """One node of two is shut: the command is sent again; called off, the lane opens it, and is not called unchanged."""
    plan = a_plan(SHUT)
    lane = see(proving(Effect.DOUBTFUL), fence(*ups), at=T0 + 5)
    move = decide(plan, lane, T0 + 5, attended=False)
    (resolved,) = move.events
    assert isinstance(resolved, ev.DoubtResolved)
    assert resolved.partly is partly
    lane = after(lane, move, T0 + 5)
    assert kinds(decide(plan, lane, T0 + 60, attended=False)) == ["action.intended"]
    (event,) = decide(plan, replace(lane, abort=ABORT), T0 + 60, attended=False).events
    expected = ev.LaneEnded if ends else ev.RevertStarted
    assert isinstance(event, expected)
    assert getattr(event, "undo", ("fence",)) == ("fence",)


@pytest.mark.parametrize(
    ("ups", "follows"), [((False, True), ["abort.declined"]), ((False, False), ["lane.ended"])], ids=["half", "none"]
)
def test_half_an_effect_without_an_undo_is_a_change_too(ups: tuple[bool, ...], follows: list[str]) -> None:
    """A step that is never taken back does not say what held before. One node of two that obeyed shows in the reading
    itself: the lane is not called unchanged, nor called off as if it were."""
    plan = a_plan(OPENED)
    lane = see(proving(Effect.DOUBTFUL), fence(*ups), at=T0 + 5)
    lane = after(lane, decide(plan, lane, T0 + 5, attended=False), T0 + 5)
    assert kinds(decide(plan, replace(lane, abort=ABORT), T0 + 60, attended=False)) == follows


@pytest.mark.parametrize(
    ("before", "found", "partly"),
    [
        ((), ("standby", "unbound"), True),
        ((("active", "unbound"),), ("standby", "unbound"), True),
        ((("standby", "unbound"),), ("standby", "unbound"), False),
        ((), ("active", "unbound"), False),
    ],
    ids=["not read before", "otherwise before", "so before", "nothing of it"],
)
def test_an_expectation_that_holds_alone_is_half_an_effect(
    before: tuple[tuple[str, str], ...], found: tuple[str, str], partly: bool
) -> None:
    """A change in several requests that broke off: what it expects holds in part, and was not read so before. A lane that
    gives up then is not called unchanged."""
    plan = a_plan({**CLOSED, "point_of_no_return": True, "attempts": 1})

    def shown(role_: str, bridge_: str, at: float) -> ev.Seen:
        return role("source", role_, at, bridge=Bridge(bridge_))

    lane = proving(Effect.DOUBTFUL, before=tuple(shown(*one, T0) for one in before))
    lane = see(lane, shown(*found, T0 + 5), at=T0 + 5)
    move = decide(plan, lane, T0 + 5, attended=False)
    (resolved,) = move.events
    assert isinstance(resolved, ev.DoubtResolved)
    assert resolved.partly is partly
    lane = after(lane, move, T0 + 5)
    lane = after(lane, decide(plan, lane, T0 + 60, attended=False), T0 + 60)
    (follows,) = decide(plan, lane, T0 + 60, attended=False).events
    assert getattr(follows, "outcome", "asked") == ("asked" if partly else "refused")
