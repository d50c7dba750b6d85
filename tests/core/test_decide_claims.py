"""What belongs to a whole site: changed under a claim, rolled back only by who changed it, if none relies on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from adapters.solace.reading_models import Fence, NodeFence
from orchestrator.core.decide import ClaimSite, Next, decide
from orchestrator.core.run import Lane, Stage
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from orchestrator.model.readings import SiteClaims
from tests.core.builders import (
    ACTIVATE,
    DEMOTE,
    T0,
    a_lane,
    a_plan,
    after,
    all_events,
    asked,
    kinds,
    proving,
    role,
    see,
    seen,
    unread,
)

FENCE: Mapping[str, Any] = {
    "id": "fence",
    "title": "No client can reach the source",
    "claim": "hold",
    "do": {"on": "source", "action": "set_backbone", "state": "down"},
    "expect": [{"on": "source", "reading": "fence", "where": {"closed": True}}],
    "undo": {
        "require": [{"on": "target", "reading": "replication", "where": {"role": "standby"}}],
        "do": {"on": "source", "action": "set_backbone", "state": "up"},
        "expect": [{"on": "source", "reading": "fence", "where": {"open": True}}],
    },
}
UNFENCE: Mapping[str, Any] = {
    "id": "unfence",
    "title": "Clients can reach the source",
    "claim": "release",
    "timeout": "2m",
    "require": [{"on": "source", "reading": "fence", "where": {"idle": True}}],
    "do": {"on": "source", "action": "set_backbone", "state": "up"},
    "expect": [{"on": "source", "reading": "fence", "where": {"open": True}}],
}
PLAN = a_plan(FENCE, DEMOTE, ACTIVATE)
OPENING = a_plan(UNFENCE)


def door(*, up: bool, active: int = 0, at: float = T0) -> ev.Seen:
    node = NodeFence(node="a", backbone_up=up, clients=1 if up else 0, active=active)
    return seen("source", Fence(nodes=(node,)), at)


def answer(wish: Any, *others: str, waiting: bool = False, at: float = T0) -> ev.Seen:
    found = SiteClaims(thing="set_backbone", wish=wish, granted=not others, others=others, is_waiting=waiting)
    return seen("source", found, at)


def claims(move: Next) -> list[str]:
    return [one.wish for one in move.requests if isinstance(one, ClaimSite)]


def told(lane: Lane, plan: ev.Plan, *round_: ev.Seen, at: float = T0) -> Lane:
    """The lane after a round, and after everything it wants recorded then."""
    lane = see(lane, *round_, at=at)
    return after(lane, Next(events=tuple(all_events(plan, lane, at))), at)


def claimed(plan: ev.Plan = PLAN, wish: str = "hold", **changes: Any) -> Lane:
    return told(a_lane(**changes), plan, answer(wish))


def test_a_shared_door_is_claimed_before_anything_is_read_of_it() -> None:
    """Promise 14: first the journal grants the claim; what was read before that does not count."""
    lane = a_lane()
    assert claims(decide(PLAN, lane, T0, attended=False)) == ["hold"]
    lane = told(lane, PLAN, answer("hold"))
    assert (lane.holds, lane.mark) == ((("source", "set_backbone"),), a_lane().mark + 1)
    assert asked(decide(PLAN, lane, T0, attended=False)) == [("source", "fence")]


def test_a_door_that_is_being_opened_is_not_held() -> None:
    """Promise 14: while another run opens it, nobody comes to rely on it: it is asked again, and then the step fails."""
    lane = see(a_lane(), answer("hold", "Orders (run run-7)", at=T0 + 1), at=T0 + 1)
    assert decide(PLAN, lane, T0 + 1, attended=False).wake is not None
    lane = see(a_lane(), answer("hold", "Orders (run run-7)", at=T0 + 31), at=T0 + 31)
    (failed,) = decide(PLAN, lane, T0 + 31, attended=False).events
    assert isinstance(failed, ev.StepFailed)
    assert "is being rolled back for Orders (run run-7)" in failed.why


def test_only_what_this_run_shut_is_its_to_open() -> None:
    """Promise 14: a door that was shut before is relied on and not owed: nothing is sent, and nothing is undone."""
    lane = told(claimed(), PLAN, door(up=False))
    assert (lane.step, lane.undo, lane.holds) == (1, (), (("source", "set_backbone"),))
    lane = told(claimed(), PLAN, door(up=True))
    assert lane.stage is Stage.ACT


def shut_after(*before: ev.Seen) -> Lane:
    """The door was told to shut on top of these readings, and is read shut since."""
    told_to = ev.ActionIntended(
        intent=1, step="fence", on="source", action="set_backbone", args={"state": "down"}, attempt=1
    )
    ended = ev.ActionEnded(intent=1, effect=Effect.ACCEPTED)
    lane = after(see(claimed(), *before), Next(events=(told_to, ended)), T0)
    return told(lane, PLAN, door(up=False))


def test_a_door_that_may_have_been_shut_before_is_not_opened() -> None:
    """Promise 14: whether the door was open could not be read. So it is shut, and its undo is not owed."""
    lane = shut_after(unread("source", "fence"))
    assert (lane.step, lane.undo, lane.left, lane.changed) == (1, (), ("fence",), True)
    lane = shut_after(door(up=True))
    assert (lane.step, lane.undo, lane.left, lane.changed) == (1, ("fence",), (), True)


def given_up_in_doubt(before: ev.Seen) -> Lane:
    """The command that shuts the door is in doubt, and the run is aborted."""
    abort = ev.AbortAsked(by="ann", reason="no")
    return proving(
        Effect.DOUBTFUL, before=(before,), stage=Stage.FAILED, changed=True, failure="no answer", abort=abort
    )


def test_a_step_in_doubt_leaves_a_door_that_may_have_been_shut_before() -> None:
    """Promises 14 and 17: a lane that is rolled back leaves it shut, names it, and is not reverted."""
    lane = told(given_up_in_doubt(door(up=True)), PLAN, answer("leave"))
    assert (lane.undo, lane.left) == (("fence",), ())
    *_, ended = all_events(PLAN, given_up_in_doubt(unread("source", "fence")), T0)
    assert isinstance(ended, ev.LaneEnded)
    assert ended.outcome is ev.Outcome.STUCK
    assert "fence (ny: set_backbone down; no reading from before this run shows another state)" in ended.reason


def test_what_was_shut_already_passes_the_point_of_no_return_too() -> None:
    """Promise 1: a step that has nothing to do is still the point after which a lane only goes forward."""
    plan = a_plan({key: value for key, value in FENCE.items() if key != "undo"} | {"point_of_no_return": True})
    lane = told(claimed(plan), plan, door(up=False))
    assert lane.status in ("committed", "done")


def failed_behind_the_door(**changes: Any) -> Lane:
    """Activation was refused; door and role are to be undone."""
    return a_lane(
        step=2,
        stage=Stage.FAILED,
        failure="it was refused",
        changed=True,
        undo=("fence", "demote"),
        holds=(("source", "set_backbone"),),
        **changes,
    )


def turning(**changes: Any) -> Lane:
    return after(
        failed_behind_the_door(**changes), Next(events=tuple(all_events(PLAN, failed_behind_the_door(), T0))), T0
    )


def test_a_lane_asks_whether_others_rely_on_its_door_before_it_turns_back() -> None:
    """Promise 14: nothing is undone before it is known that everything can be."""
    lane = turning()
    assert (lane.status, claims(decide(PLAN, lane, T0, attended=False))) == ("running", ["leave"])
    lane = told(lane, PLAN, answer("leave"))
    assert (lane.status, lane.undo, lane.holds) == ("reverting", ("fence", "demote"), ())


def test_a_lane_that_cannot_open_its_door_again_stops_and_can_go_forward() -> None:
    """Promises 8 and 14: another service failed over behind the door, so the door and the role stay as they are."""
    lane = told(turning(), PLAN, answer("leave", "Orders (run run-1)"))
    assert (lane.status, lane.outcome) == ("needs-operator", ev.Outcome.NEEDS_OPERATOR)
    assert "because Orders (run run-1) relies on it" in lane.reason
    lane = after(lane, Next(events=(ev.LaneResumed(by="ann"),)), T0 + 60)
    assert (lane.status, lane.step, lane.turning) == ("running", 2, "")


def test_a_lane_waits_for_others_of_its_run_before_it_turns_back() -> None:
    """Promise 14: whether another lane of the same run comes to rely on the door is soon known; that is said once."""
    lane = turning()
    first = see(lane, answer("leave", "Orders (run run-1)", waiting=True), at=T0)
    (waiting,) = decide(PLAN, first, T0, attended=False).events
    assert isinstance(waiting, ev.StepWaiting)
    assert "Orders" in waiting.why
    assert kinds(decide(PLAN, after(first, Next(events=(waiting,)), T0), T0 + 3600, attended=False)) == []


def test_an_abort_that_would_open_a_door_others_rely_on_is_declined() -> None:
    """Promises 8 and 17: it is said that the run was not aborted, and why."""
    lane = failed_behind_the_door(abort=ev.AbortAsked(by="ann", reason="no"))
    assert claims(decide(PLAN, lane, T0, attended=False)) == ["leave"]
    lane = see(lane, answer("leave", "Orders (run run-1)"))
    (declined,) = decide(PLAN, lane, T0, attended=False).events
    assert isinstance(declined, ev.AbortDeclined)
    assert "because Orders (run run-1) relies on it" in declined.reason


def undoing_the_door() -> Lane:
    return a_lane(status="reverting", undo=("fence",), step=2, changed=True)


def test_an_undo_that_opens_a_door_is_a_release() -> None:
    """Promise 14: also at the last moment; whoever came to rely on it meanwhile keeps it shut, and the lane is stuck."""
    lane = undoing_the_door()
    assert claims(decide(PLAN, lane, T0, attended=False)) == ["release"]
    assert asked(decide(PLAN, told(lane, PLAN, answer("release")), T0, attended=False)) == [("target", "replication")]
    lane = told(lane, PLAN, answer("release", "Orders (run run-9)"))
    assert (lane.status, lane.outcome) == ("stuck", ev.Outcome.STUCK)


def test_the_claim_is_asked_again_at_the_point_of_no_return() -> None:
    """Promise 14: between a rollback that came to nothing and this moment another service may have opened the door."""
    lane = a_lane(step=2, changed=True, undo=("fence", "demote"), holds=(("source", "set_backbone"),))
    assert claims(decide(PLAN, lane, T0, attended=False)) == ["hold"]
    lane = told(lane, PLAN, answer("hold"))
    assert asked(decide(PLAN, lane, T0, attended=False)) == [("source", "replication"), ("target", "replication")]


def test_what_an_abort_offered_to_give_up_is_claimed_again() -> None:
    """Promise 14: an abort that comes to nothing has told the journal that the lane would leave. From then on another
    service may open the door, so the claim that was granted before counts no more."""
    lane = a_lane(step=2, changed=True, undo=("fence", "demote"), holds=(("source", "set_backbone"),))
    lane = told(lane, PLAN, answer("hold"))
    asked_to = Next(events=(ev.AbortAsked(by="ann", reason="no"),))
    lane = told(after(lane, asked_to, T0), PLAN, answer("leave", "Orders (run run-1)"))
    assert (lane.status, lane.abort) == ("running", None)
    assert claims(decide(PLAN, lane, T0, attended=False)) == ["hold"]


def test_each_attempt_and_each_process_claims_anew() -> None:
    """Promise 14: a claim that was granted to an earlier process, or before a failure, is no claim of this attempt."""
    lane = claimed()
    assert claims(decide(PLAN, after(lane, Next(events=(ev.LaneResumed(by="ann"),)), T0), T0, attended=False)) == [
        "hold"
    ]
    retried = after(lane, Next(events=(ev.StepFailed(step="fence", why=""), ev.StepRetried(step="fence"))), T0)
    assert claims(decide(PLAN, retried, T0, attended=False)) == ["hold"]


@pytest.mark.parametrize("why", ["others rely on it", "a service is active behind it"])
def test_a_release_waits_for_others_and_then_fails(why: str) -> None:
    """Promise 8: a restore opens the door once no service relies on it and none is active behind it; it waits so long."""
    round_ = (answer("release", "Orders (run run-1)", at=T0 + 1),) if why == "others rely on it" else None
    lane = a_lane() if round_ else told(a_lane(), OPENING, answer("release"))
    early = see(lane, *(round_ or (door(up=False, active=1, at=T0 + 1),)), at=T0 + 1)
    assert kinds(decide(OPENING, early, T0 + 1, attended=False)) == ["step.waiting"]
    round_ = (answer("release", "Orders (run run-1)", at=T0 + 121),) if round_ else None
    late = see(lane, *(round_ or (door(up=False, active=1, at=T0 + 121),)), at=T0 + 121)
    assert kinds(decide(OPENING, late, T0 + 121, attended=False)) == ["step.failed"]


def test_a_refused_door_is_not_owed() -> None:
    """Promise 17: an action that the device refused left nothing to undo."""
    lane = told(claimed(), PLAN, door(up=True))
    ended = ev.ActionEnded(intent=1, effect=Effect.REJECTED, detail="no")
    lane = told(after(lane, Next(events=(ended,)), T0), PLAN, door(up=True))
    assert (lane.status, lane.outcome) == ("refused", ev.Outcome.REFUSED)


def test_roles_alone_need_no_claim() -> None:
    """A role belongs to one service: nothing is asked of the journal for it."""
    lane = see(a_lane(step=1), role("target", "standby"))
    assert claims(decide(PLAN, lane, T0, attended=False)) == []
