"""Controls of what a whole run is asked: what each decision stands on, and whether it comes in its time."""

from __future__ import annotations

from typing import Any

from tests.proof.histories import SERVICE, TURN, Controls, Whole, check, step

CONDUCT = Controls("common")
_READY = check(serving=True)
_DONE = check(on="target", serving=True)
_UNDO = {"require": [check(spool_active=True)], "do": TURN, "expect": [check(serving=False)]}


def _acting(**more: Any) -> Whole:
    """An action that requires a reading, and is proven by one of the target."""
    run = Whole(step(require=[_READY], do=TURN, expect=[_DONE], **more))
    run.started()
    return run


@CONDUCT(15, "move is done, and nothing was read since the lane moved last")
def _acts_on_nothing(harm: bool) -> Whole:
    run = _acting()
    if not harm:
        run.shows(serving=True)
    run.tries()
    return run


@CONDUCT(15, "and what it requires was read as false")
def _acts_on_a_no(harm: bool) -> Whole:
    run = _acting()
    run.shows(serving=not harm)
    run.tries()
    return run


@CONDUCT(15, "move is done, and nothing was read since the lane moved last")
def _acts_on_what_was_asked_before(harm: bool) -> Whole:
    """The reading was asked before the step started, and arrives in it."""
    run = Whole(step(require=[_READY], do=TURN, expect=[_DONE]))
    if harm:
        run.judge.asked("source", "health", run.now)
    asked = run.now
    run.wait(1.0)
    run.started()
    if not harm:
        asked = run.now
        run.judge.asked("source", "health", run.now)
    run.arrives(asked=asked, serving=True)
    run.tries()
    return run


@CONDUCT(15, "on readings that are hours old")
def _acts_on_what_is_old(harm: bool) -> Whole:
    run = _acting()
    run.shows(serving=True)
    run.wait(8 * 3_600.0 if harm else 29.0)
    run.tries()
    return run


@CONDUCT(15, "and its readings are too old now")
def _leaves_on_what_is_old(harm: bool) -> Whole:
    """It had to wait."""
    run = _acting()
    run.shows(serving=True)
    order = run.intend("turn")
    run.wait(40.0 if harm else 29.0)
    run.send(order, now=run.now)
    return run


@CONDUCT(15, "health of ny is dated when it was not asked")
def _dated_wrongly(harm: bool) -> Whole:
    run = _acting()
    run.judge.asked("source", "health", run.now)
    asked = run.now
    run.wait(5.0)
    run.arrives(asked=run.now if harm else asked, serving=True)
    return run


@CONDUCT(17, "move is done, and whether it applies was not read since it started")
def _does_not_apply(harm: bool) -> Whole:
    run = _acting(only_if=[_READY])
    run.shows(serving=True)
    if not harm:
        run.tell("step.applies", step="move")
        run.shows(serving=True)
    run.tries()
    return run


@CONDUCT(4, "move is tried more often than 3 times")
def _tried_too_often(harm: bool) -> Whole:
    """A resume forgives no attempt; a person who asks for another try does."""
    run = _acting()
    for number in range(4):
        if number == 3 and not harm:
            run.tell("step.retried", step="move")
        run.shows(serving=True)
        run.tries("rejected")
        if number == 1:
            run.leads()
            run.tell("lane.resumed")
    return run


@CONDUCT(4, "move is sent again, and the last attempt may have been obeyed")
def _sent_before_proof(harm: bool) -> Whole:
    run = _acting()
    run.shows(serving=True)
    run.tries("accepted" if harm else "rejected")
    run.shows(serving=True)
    run.tries()
    return run


@CONDUCT(17, "move counts as done, and what shows it was read as unknown since")
def _not_shown(harm: bool) -> Whole:
    run = _acting()
    run.shows(serving=True)
    run.shows(on="target", serving=True)  # of before: it proves nothing
    run.shows(serving=True)
    run.tries()
    if not harm:
        run.shows(on="target", serving=True)
    run.tell("step.done", step="move")
    return run


@CONDUCT(17, "move counts as rolled back, and what shows it was read as false since")
def _undo_not_shown(harm: bool) -> Whole:
    run = Whole(step(do=TURN, expect=[_DONE], undo=_UNDO))
    run.started()
    run.tries()
    run.tell("step.failed", step="move")
    run.tell("abort.asked")
    run.tell("revert.started", undo=["move"])
    run.shows(spool_active=True)
    run.tries(undo=True)
    run.shows(serving=harm)
    run.tell("undo.done", step="move")
    return run


@CONDUCT(17, "move counts as done, and no one has answered")
def _not_answered(harm: bool) -> Whole:
    run = Whole(step(ask={"gate": "go", "choices": ["accept"], "unattended": "accept"}))
    run.started()
    if not harm:
        run.ask("go", "accept")
        run.judge.answered(SERVICE, {"gate": "go", "item": None, "why": ""}, "accept", "ann")
        run.say("go", "accept")
    run.tell("step.done", step="move")
    return run


@CONDUCT(4, "and that was so before; the effect of the doubtful action may still come")
def _held_before(harm: bool) -> Whole:
    run = Whole(step(do=TURN, expect=[_READY]))
    run.started()
    run.shows(serving=True)
    run.tries("doubtful")
    run.wait(1.0 if harm else 2.5)
    run.shows(serving=True)
    run.tell("step.done", step="move")
    return run


def _listing() -> Whole:
    each = {"on": "source", "reading": "transactions", "where": {"state": "prepared"}, "decided_in": None}
    run = Whole(step(for_each=each, do=TURN))
    run.started()
    return run


@CONDUCT(7, "move counts as done, and no list was read since")
def _never_listed(harm: bool) -> Whole:
    run = _listing()
    if not harm:
        run.shows(reading="transactions", items=[])
    run.tell("step.done", step="move")
    return run


@CONDUCT(7, "move counts as done, and 1-a is on its list")
def _still_listed(harm: bool) -> Whole:
    run = _listing()
    run.shows(reading="transactions", items=[{"xid": "1-a", "state": "prepared" if harm else "idle"}])
    run.tell("step.done", step="move")
    return run


@CONDUCT(12, "move is done, and its point of no return is not on record")
def _unmarked(harm: bool) -> Whole:
    run = Whole(step(do=TURN, point_of_no_return=True))
    run.started()
    run.tries()
    if not harm:
        run.tell("point-of-no-return", step="move")
    run.tell("step.done", step="move")
    return run


@CONDUCT(17, "move is left out, and that it does not apply was not read")
def _left_out(harm: bool) -> Whole:
    run = Whole(step(only_if=[_READY], do=TURN))
    run.started()
    run.shows(serving=None if harm else False)
    run.tell("step.skipped", step="move")
    return run


@CONDUCT(17, "move is left out, and that it does not apply was not read")
def _left_out_without_an_escalation(harm: bool) -> Whole:
    return _given_up(harm, "step.skipped")


@CONDUCT(3, "move is done after an escalation, and drops what the source alone has")
def _drops_what_was_given_up(harm: bool) -> Whole:
    return _given_up(not harm, "action.intended")


def _given_up(is_kept: bool, then: str) -> Whole:
    """A step that is left out after an escalation, with one before it or without."""
    run = Whole(step(do=TURN, unless_escalated=True))
    run.started()
    if not is_kept:
        run.ask("go", "escalate")
        run.judge.answered(SERVICE, {"gate": "go", "item": None, "why": ""}, "escalate", "ann")
        run.say("go", "escalate")
        ruling = {"choice": "escalate", "by": "ann", "reason": "known"}
        run.tell("lane.escalated", step="move", at_risk=None, ruling=ruling)
    if then == "action.intended":
        run.tries()
    else:
        run.tell(then, step="move")
    return run


def _doubtful(effect: str = "doubtful", **more: Any) -> Whole:
    run = Whole(step(do=TURN, expect=[_READY], **more))
    run.started()
    run.tries(effect)
    return run


@CONDUCT(4, "intent 1 is said to have had no effect, and was in no doubt")
def _no_doubt(harm: bool) -> Whole:
    run = _doubtful("accepted" if harm else "doubtful")
    run.wait(3.0)
    run.shows(serving=False)
    run.tell("doubt.resolved", intent=1)
    return run


@CONDUCT(4, "and nothing was read since its effect could have come")
def _settled_too_soon(harm: bool) -> Whole:
    run = _doubtful()
    run.wait(1.9 if harm else 2.1)
    run.shows(serving=False)
    run.tell("doubt.resolved", intent=1)
    return run


@CONDUCT(4, "intent 1 is said to have had no effect, and no reading shows that")
def _settled_on_a_yes(harm: bool) -> Whole:
    run = _doubtful()
    run.wait(3.0)
    run.shows(serving=harm)
    run.tell("doubt.resolved", intent=1)
    return run


@CONDUCT(4, "had no effect at all, and it is not as it was")
def _a_part_is_nothing(harm: bool) -> Whole:
    undo = {"require": [], "do": TURN, "expect": [check(spool_active=True)]}
    run = _doubtful(undo=undo)
    run.wait(3.0)
    run.shows(serving=False, spool_active=not harm)
    run.tell("doubt.resolved", intent=1)
    return run


@CONDUCT(3, "move is waived, and that it failed is no mere silence")
def _waived_though_known(harm: bool) -> Whole:
    run = Whole(step("wait", until=[_READY]), step(require=[_READY]))
    run.started("wait")
    run.ask("go", "escalate")
    run.judge.answered(SERVICE, {"gate": "go", "item": None, "why": ""}, "escalate", "ann")
    run.say("go", "escalate")
    ruling = {"choice": "escalate", "by": "ann", "reason": "known"}
    run.tell("lane.escalated", step="wait", at_risk=None, ruling=ruling)
    run.tell("step.started", step="move")
    run.tell("step.failed", step="move", unknown=not harm)
    run.tell("step.waived", step="move")
    return run


# Waits


def _waiting(**more: Any) -> Whole:
    run = Whole(step("wait", until=[_READY], **more))
    run.started("wait")
    run.tell("step.ready", step="wait")
    return run


@CONDUCT(2, "wait counts as reached, and did not hold for 10s")
def _not_held(harm: bool) -> Whole:
    run = _waiting(hold="10s")
    run.shows(serving=True)
    run.wait(6.0)
    run.shows(serving=not harm)
    run.wait(5.0)
    run.shows(serving=True)
    run.tell("step.done", step="wait")
    return run


@CONDUCT(2, "wait counts as reached, beside what must never be")
def _beside_what_must_never_be(harm: bool) -> Whole:
    run = _waiting(never=[check(spool_active=False)])
    run.shows(serving=True, spool_active=not harm)
    run.tell("step.done", step="wait")
    return run


_BREAK = {"grace": "60s", "gate": "lost", "choices": ["wait"], "unattended": "wait", "wait_at_most": "1h"}
_STALL = {"after": "2m", "gate": "stalled", "choices": ["wait"], "unattended": "wait", "wait_at_most": "1h"}
_DEPTH = {"on": "source", "reading": "replication_queue", "field": "messages"}


def _broken_guard() -> Whole:
    run = _waiting(guard=[check(spool_active=True)], when_guard_breaks=_BREAK)
    run.shows(serving=False, spool_active=False)
    run.tell("guard.broke", step="wait")
    return run


@CONDUCT(3, "lost is asked, and the guard was not broken for longer than 60s")
def _asked_in_the_grace(harm: bool) -> Whole:
    run = _broken_guard()
    run.wait(59.0 if harm else 61.0)
    run.shows(serving=False, spool_active=False)
    run.tell("gate.opened", gate="lost", step="wait", choices=["wait"], unattended="wait")
    return run


def _draining(first: float) -> Whole:
    run = _waiting(progress=_DEPTH, when_stalled=_STALL)
    run.shows(first, serving=False)
    return run


@CONDUCT(3, "stalled is asked, and it fell within the last 2m")
def _asked_while_it_falls(harm: bool) -> Whole:
    run = _draining(9.0)
    run.wait(80.0)
    run.shows(8.0 if harm else 9.0, serving=False)
    run.wait(80.0)
    run.shows(8.0 if harm else 9.0, serving=False)
    run.tell("gate.opened", gate="stalled", step="wait", choices=["wait"], unattended="wait")
    return run


@CONDUCT(1, "go offers revert behind the point of no return")
def _way_back_offered(harm: bool) -> Whole:
    run = Whole(step(do=TURN, point_of_no_return=True))
    run.started()
    run.tries()
    if harm:
        run.tell("point-of-no-return", step="move")
    run.tell("gate.opened", gate="go", step="move", choices=["stop" if not harm else "revert"], unattended="stop")
    return run


@CONDUCT(3, "step-failed is asked, and nothing failed")
def _asked_for_no_reason(harm: bool) -> Whole:
    run = _acting()
    if not harm:
        run.tell("step.failed", step="move")
    run.tell("gate.opened", gate="step-failed", step="move", choices=["stop"], unattended="stop")
    return run


@CONDUCT(3, "undo-failed is asked of a lane that does something else")
def _asked_of_another(harm: bool) -> Whole:
    run = _acting()
    run.tell("step.failed", step="move")
    gate = "undo-failed" if harm else "step-failed"
    run.tell("gate.opened", gate=gate, step="move", choices=["stop"], unattended="stop")
    return run


@CONDUCT(3, "stalled says 7 messages, and another number was read")
def _another_number(harm: bool) -> Whole:
    run = _draining(9.0)
    run.wait(130.0)
    run.shows(9.0, serving=False)
    more: dict[str, Any] = {"choices": ["wait"], "unattended": "wait", "at_risk": 7 if harm else 9}
    run.tell("gate.opened", gate="stalled", step="wait", **more)
    return run


@CONDUCT(4, "wait continues after its timeout has passed")
def _overdue(harm: bool) -> Whole:
    run = _waiting(timeout="10s")
    for _ in range(10):
        run.wait(2.0 if harm else 1.0)
        run.shows(serving=False)
    return run
