"""Controls of the course of a run: the order of steps and ends, aborts, waves, approvals, and who leads."""

from __future__ import annotations

from typing import Any

from tests.proof.histories import SERVICE, SOURCE, TURN, Controls, Whole, check, step, vpn_world

COURSE = Controls("common")
_OTHER = "B"


def _acting(**more: Any) -> Whole:
    run = Whole(step(do=TURN, expect=[check(serving=True)], **more))
    run.started()
    return run


@COURSE(12, "step.started b, after it was aborted")
def _starts_though_aborted(harm: bool) -> Whole:
    run = Whole(step("a", do=TURN), step("b", do=TURN))
    run.started("a")
    run.tries()
    run.tell("step.done", step="a")
    if harm:
        run.tell("abort.asked", by="--fail-fast")
    run.tell("step.started", step="b")
    return run


@COURSE(5, "step.done by a process that has not resumed this lane")
def _led_on_without_a_word(harm: bool) -> Whole:
    run = Whole(step(require=[check(serving=True)]))
    run.started()
    run.leads()
    if not harm:
        run.tell("lane.resumed")
    run.shows(serving=True)
    run.tell("step.done", step="move")
    return run


@COURSE(17, "b starts, and a is next")
def _out_of_turn(harm: bool) -> Whole:
    run = Whole(step("a", do=TURN), step("b", do=TURN))
    run.started("b" if harm else "a")
    return run


@COURSE(3, "rolls back without a decision")
def _rolls_back_unasked(harm: bool) -> Whole:
    run = _acting()
    if not harm:
        run.tell("abort.asked", by="--fail-fast")
    run.tell("revert.started", undo=[])
    return run


@COURSE(1, "rolls back at move, which the device may have obeyed")
def _rolls_back_behind_the_point(harm: bool) -> Whole:
    run = _acting(point_of_no_return=True)
    run.tries("doubtful" if harm else "rejected")
    run.tell("step.failed", step="move")
    run.tell("abort.asked", by="--fail-fast")
    run.tell("revert.started", undo=["move"] if harm else [])
    return run


@COURSE(4, "rolls back before a reading shows whether move was obeyed")
def _rolls_back_in_doubt(harm: bool) -> Whole:
    run = _acting(undo={"require": [], "do": TURN, "expect": []})
    run.tries("doubtful")
    if not harm:
        run.tell("step.failed", step="move")
    run.tell("abort.asked", by="--fail-fast")
    run.tell("revert.started", undo=["move"])
    return run


@COURSE(12, "declines an abort, and could have rolled back")
def _declines(harm: bool) -> Whole:
    run = _acting(point_of_no_return=True)
    run.tries("accepted" if not harm else "rejected")
    run.tell("abort.asked", by="--fail-fast")
    run.tell("abort.declined")
    return run


@COURSE(17, "ended done, and b is not done")
def _done_too_soon(harm: bool) -> Whole:
    run = Whole(step("a", do=TURN), *([step("b", do=TURN)] if harm else []))
    run.started("a")
    run.tries()
    run.tell("step.done", step="a")
    run.tell("lane.ended", outcome="done")
    return run


@COURSE(17, "ended escalated, and its guarantee was kept")
def _escalated_by_name_only(harm: bool) -> Whole:
    run = Whole(step("a", do=TURN))
    run.started("a")
    run.tries()
    run.tell("step.done", step="a")
    run.tell("lane.ended", outcome="escalated" if harm else "done")
    return run


@COURSE(17, "ended stuck, and it was not rolling back")
def _stuck_going_forward(harm: bool) -> Whole:
    run = _acting()
    run.tell("lane.ended", outcome="stuck" if harm else "needs-operator")
    return run


@COURSE(17, "ended reverted, and move is not rolled back")
def _reverted_and_left(harm: bool) -> Whole:
    run = Whole(step(do=TURN, undo={"require": [], "do": TURN, "expect": []}))
    run.started()
    run.tries()
    run.tell("step.done", step="move", reversible=True)
    run.tell("abort.asked", by="--fail-fast")
    run.tell("revert.started", undo=["move"])
    if not harm:
        run.tries(undo=True)
        run.tell("undo.done", step="move")
    run.tell("lane.ended", outcome="reverted")
    return run


@COURSE(17, "ended refused, and something may have been changed")
def _refused_in_doubt(harm: bool) -> Whole:
    run = _acting()
    run.tries("doubtful" if harm else "rejected")
    run.tell("lane.ended", outcome="refused")
    return run


def _asking(*, attended: bool = False) -> Whole:
    run = _acting()
    run.leads(attended=attended)
    run.tell("lane.resumed")
    run.ask("go", "accept", "stop")
    return run


@COURSE(3, "go is decided accept by ann, who said no such thing")
def _said_by_no_one(harm: bool) -> Whole:
    """Somebody else said it, or to another question."""
    run = _asking()
    run.judge.hear({"kind": "decide", "lane": SERVICE, "gate": "go", "choice": "stop", "by": "ann"})
    run.judge.answered(
        SERVICE, {"gate": "go", "item": None, "why": "something else" if harm else ""}, "accept", "ann"
    )
    run.say("go", "accept")
    return run


@COURSE(3, "go is decided stop in the place of a person who is there")
def _decided_for_a_person(harm: bool) -> Whole:
    run = _asking(attended=True)
    if not harm:
        run.judge.left()
    run.say("go", "stop", by="policy")
    return run


def _two(**plan: Any) -> Whole:
    """Two services."""
    world = vpn_world()
    world["services"][_OTHER] = vpn_world()["services"][SERVICE]
    run = Whole(step(do=TURN), world=world, services=[SERVICE, _OTHER], **plan)
    run.leads()
    return run


def _waves(**more: Any) -> Whole:
    return _two(waves={"size": 1, "canary": None, "max_failed": 1, **more})


@COURSE(4, "B starts, after 1 others had failed")
def _starts_after_failures(harm: bool) -> Whole:
    run = _waves()
    run.tell("lane.started")
    run.tell("lane.ended", outcome="refused")
    if not harm:
        run.leads()  # somebody resumed the run in spite of that
    run.tell("lane.started", lane=_OTHER)
    return run


@COURSE(4, "A starts, before the canary has ended")
def _starts_before_the_canary(harm: bool) -> Whole:
    run = _waves(canary=_OTHER)
    run.tell("lane.started", lane=_OTHER)
    if harm:
        run.tell("lane.started")
    return run


@COURSE(4, "B starts, before the wave before it has ended")
def _starts_before_its_wave(harm: bool) -> Whole:
    run = _waves(size=1 if harm else 2)
    run.tell("lane.started")
    run.tell("lane.started", lane=_OTHER)
    return run


def _sought(**more: Any) -> Whole:
    rule = {"needed": 1, "requester": "ann", "break_glass": False, "within": 60.0, **more}
    run = Whole(step(do=TURN), approval=rule)
    run.judge.planned("digest")
    run.leads()
    return run


def _word(run: Whole, by: str, choice: str = "approve", **more: str) -> None:
    run.judge.hear({"kind": "approval", "by": by, "choice": choice, "plan": "digest", "reason": "known", **more})


@COURSE(12, "the run starts, and 0 of 1 have agreed to its plan")
def _starts_unapproved(harm: bool) -> Whole:
    """Neither who asked for it counts, nor who saw another plan."""
    run = _sought()
    _word(run, "ann")
    _word(run, "bob", plan="another")
    if not harm:
        _word(run, "eve")
    run.tell("lane.started")
    return run


@COURSE(12, "an approval by eve, who did not approve this plan")
def _approved_by_no_one(harm: bool) -> Whole:
    run = _sought()
    _word(run, "eve", plan="another" if harm else "digest")
    run.tell("approval.given", lane=None, by="eve", plan="digest")
    return run


@COURSE(4, "the run pauses, and does not await what it has sent")
def _pauses_in_the_middle(harm: bool) -> Whole:
    run = _acting()
    run.tries(None if harm else "accepted")
    run.tell("run.paused", lane=None)
    return run


@COURSE(12, "action.intended move, after the time of the run was over")
def _acts_when_its_time_is_over(harm: bool) -> Whole:
    policy = {"fail_fast": False, "on_gate": {}, "transactions": {}, "timeout": "30s"}
    run = Whole(step(do=TURN), policy=policy)
    run.started()
    run.wait(31.0 if harm else 29.0)
    run.tries()
    return run


@COURSE(3, "ended needs-operator and is left so permanently, which no one decided by name")
def _left_by_no_one(harm: bool) -> Whole:
    run = _acting(point_of_no_return=True)
    run.tries()
    run.tell("abort.asked", by="ann", reason="rebuilt by hand", leave=not harm)
    run.tell("abort.declined")
    run.tell("lane.ended", outcome="needs-operator", left=True)
    return run


@COURSE(12, "aborted 2 times, and that was requested 1 times")
def _aborted_again(harm: bool) -> Whole:
    run = _acting()
    run.judge.hear({"kind": "abort"})
    for _ in range(2 if harm else 1):
        run.tell("abort.asked")
    run.tell("lane.ended", outcome="refused")
    run.tell("run.finished", lane=None, outcome="refused")
    run.end(None)
    return run


@COURSE(12, "B: the run was aborted, and this lane was not")
def _aborted_in_part(harm: bool) -> Whole:
    run = _two()
    run.judge.hear({"kind": "abort"})
    for service in (SERVICE, _OTHER):
        if service == SERVICE or not harm:
            run.tell("abort.asked", lane=service)
    for service in (SERVICE, _OTHER):
        run.tell("lane.ended", lane=service, outcome="refused")
    run.tell("run.finished", lane=None, outcome="refused")
    run.end(None)
    return run


@COURSE(12, "B: move starts, after A had failed")
def _goes_on_after_a_failure(harm: bool) -> Whole:
    run = _two(policy={"on_gate": {}, "transactions": {}, "fail_fast": harm})
    run.tell("lane.started", lane=_OTHER)
    run.tell("lane.started")
    run.tell("lane.ended", outcome="refused")
    run.tell("step.started", lane=_OTHER, step="move")
    return run


@COURSE(12, "record 3 is dated before the one before it")
def _dated_into_the_past(harm: bool) -> Whole:
    run = Whole(step(do=TURN))
    run.leads()
    run.wait(-1.0 if harm else 1.0)
    run.tell("lane.started")
    return run


@COURSE(11, "the run continues, and its record is lost")
def _continues_on_no_record(harm: bool) -> Whole:
    run = _acting()
    line = {"seq": run.seq + 1, "lane": None, "at": run.now, "event": '{"kind": "run.paused"}'}
    if harm:
        run.judge.lose_record(run.seq)
    run.judge.written(line, run.world)
    return run


@COURSE(11, "a command leaves, and its intent is on no record")
def _sends_on_no_record(harm: bool) -> Whole:
    run = _acting()
    order = run.intend("turn")
    if harm:
        run.judge.lose_record(run.seq)
    run.send(order)
    return run


@COURSE(5, "with hardly any time left of the lease")
def _sent_by_the_skin(harm: bool) -> Whole:
    run = _acting()
    run.send(run.intend("turn"), lease_left=0.5 if harm else 2.0)
    return run


@COURSE(5, "while the journal cannot say who leads")
def _sent_blindly(harm: bool) -> Whole:
    run = _acting()
    run.send(run.intend("turn"), is_away=harm)
    return run


@COURSE(5, "by a process that no longer leads")
def _sent_after_the_engine(harm: bool) -> Whole:
    run = _acting()
    run.send(run.intend("turn"), is_over=harm)
    return run


@COURSE(5, "something took effect, and no permit was asked for")
def _took_effect_unasked(harm: bool) -> Whole:
    run = _acting()
    if not harm:
        run.order("turn")
    run.service["effects"] = [[SOURCE, "turn", {}, 1]]
    run.judge.look(run.world)
    return run
