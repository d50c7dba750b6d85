"""Controls of the rules that hold for every device: who leads, what is on record, what is sent, how a run ends."""

from __future__ import annotations

from typing import Any

from tests.proof.histories import SERVICE, SOURCE, Controls, History, vpn_world

COMMON = Controls("common")
# An action that no family's rules know, so that only the common ones speak.
_STEPS: tuple[dict[str, Any], ...] = tuple({"id": name, "expect": [{}]} for name in ("move", "a", "b"))


def _run(**plan: Any) -> History:
    """Suspending replication: the rules of message VPNs have nothing to say on it."""
    return History("solace/suspend", vpn_world(), _STEPS, **plan)


@COMMON(5, "another process still had it")
def _two_leaders(harm: bool) -> History:
    run = _run()
    run.judge.lead(2, is_held=harm)
    return run


@COMMON(5, "given twice under epoch 1")
def _one_epoch_twice(harm: bool) -> History:
    run = _run()
    run.tell("step.started", step="move")
    run.judge.lead(1 if harm else 2)
    return run


@COMMON(5, "a process of epoch 1 wrote step.started; 2 leads")
def _written_without_the_lease(harm: bool) -> History:
    run = _run()
    run.judge.lead(2)
    run.tell("step.started", step="move", epoch=1 if harm else 2)
    return run


@COMMON(5, "by a process of epoch 1, while 2 leads")
def _sent_without_the_lease(harm: bool) -> History:
    run = _run()
    run.judge.lead(2)
    run.send(run.intend("turn"), epoch=1 if harm else 2)
    return run


@COMMON(6, "the dry run sent turn")
def _a_dry_run_that_sends(harm: bool) -> History:
    run = _run()
    after = vpn_world()
    after["services"][SERVICE]["received"] = ["turn"] if harm else []
    run.judge.previewed(run.world, after)
    return run


@COMMON(4, "B: it is not of this run, and is reported turn")
def _sent_to_another_service(harm: bool) -> History:
    run = _run()
    run.send(run.intend("turn"), **({"service": "B"} if harm else {}))
    return run


@COMMON(4, "B: it is not of this run, and was sent turn")
def _another_service_was_touched(harm: bool) -> History:
    world = vpn_world()
    world["services"]["B"] = vpn_world()["services"][SERVICE]
    run = History("solace/suspend", world, _STEPS)
    # A door of the whole site is everybody's.
    run.world["services"]["B"]["effects"] = [[SOURCE, "turn" if harm else "set_backbone", {}, 1]]
    run.end("refused")
    return run


@COMMON(4, "the run has no named end")
def _no_end(harm: bool) -> History:
    run = _run()
    if not harm:
        run.tell("run.paused", lane=None)
    run.end(None)
    return run


@COMMON(11, "record 4 follows 2")
def _a_record_is_missing(harm: bool) -> History:
    run = _run()
    run.tell("step.started", step="a")
    run.seq += harm
    run.tell("step.started", step="b")
    return run


@COMMON(4, "the run is finished, and not all lanes have an end")
def _finished_too_soon(harm: bool) -> History:
    run = _run()
    if not harm:
        run.tell("lane.ended", outcome="done")
    run.tell("run.finished", lane=None, outcome="done")
    return run


@COMMON(12, "the run ended done, its lanes reverted")
def _a_better_name_than_the_worst_lane(harm: bool) -> History:
    run = _run()
    run.tell("lane.ended", outcome="reverted")
    run.tell("run.finished", lane=None, outcome="done" if harm else "reverted")
    return run


@COMMON(4, "ended nowhere, which is no end")
def _an_unknown_end(harm: bool) -> History:
    run = _run()
    run.tell("lane.ended", outcome="nowhere" if harm else "done")
    return run


@COMMON(4, "intent 2 follows 0")
def _an_intent_is_missing(harm: bool) -> History:
    run = _run()
    number = 2 if harm else 1
    run.tell("action.intended", intent=number, step="move", on="source", action="turn", args={}, undo=False)
    return run


@COMMON(4, "intent 2 repeats 1, which is in doubt")
def _repeated_in_doubt(harm: bool) -> History:
    run = _run()
    run.order("turn")
    run.ended("doubtful")
    if not harm:
        run.tell("doubt.resolved", intent=1)
    run.intend("turn")
    return run


@COMMON(1, "b is rolled back, and the lane is not reverting")
def _undone_while_going_on(harm: bool) -> History:
    run = _run()
    run.tell("step.done", step="b", reversible=True)
    if not harm:
        run.tell("revert.started", undo=["b"])
    run.intend("turn", step="b", undo=True)
    return run


def _turned_back() -> History:
    """Two steps are done, and are to be taken back."""
    run = _run()
    for step in ("a", "b"):
        run.tell("step.done", step=step, reversible=True)
    run.tell("revert.started", undo=["a", "b"])
    return run


@COMMON(1, "a is rolled back before what was done after it")
def _undone_too_soon(harm: bool) -> History:
    run = _turned_back()
    run.intend("turn", step="a" if harm else "b", undo=True)
    return run


@COMMON(1, "a is rolled back out of order")
def _told_as_undone_too_soon(harm: bool) -> History:
    run = _turned_back()
    run.tell("undo.done", step="a" if harm else "b", skipped=True)
    return run


@COMMON(1, "rolls back after its point of no return")
def _turned_back_too_late(harm: bool) -> History:
    run = _run()
    run.tell("step.done", step="a", reversible=True)
    if harm:
        run.tell("point-of-no-return")
    run.tell("revert.started", undo=["a"])
    return run


@COMMON(1, "did ['a', 'b'], and intends to roll back ['b']")
def _not_all_is_taken_back(harm: bool) -> History:
    run = _run()
    for step in ("a", "b"):
        run.tell("step.done", step=step, reversible=True)
    run.tell("revert.started", undo=["b"] if harm else ["a", "b"])
    return run


@COMMON(1, "intends to roll back ['a', 'b'], and did ['a']")
def _more_is_taken_back_than_was_tried(harm: bool) -> History:
    run = _run()
    run.tell("step.done", step="a", reversible=True)
    run.order("turn", step="b")
    run.ended("not-sent" if harm else "doubtful")
    run.tell("revert.started", undo=["a", "b"])
    return run


@COMMON(4, "action 1 ends, and is not under way")
def _ended_twice(harm: bool) -> History:
    run = _run()
    run.order("turn")
    run.ended()
    if harm:
        run.ended()
    return run


@COMMON(3, "go is decided by '' for 'known'")
def _decided_by_nobody(harm: bool) -> History:
    run = _run()
    run.ask("go", "stop")
    run.say("go", "stop", by="" if harm else "ann")
    return run


@COMMON(3, "go is decided by 'ann' for ''")
def _decided_without_a_reason(harm: bool) -> History:
    run = _run()
    run.ask("go", "stop")
    run.say("go", "stop", reason="" if harm else "known")
    return run


@COMMON(7, "1-a is decided, and no question was asked")
def _a_transaction_nobody_was_asked_about(harm: bool) -> History:
    beforehand = {"1-a": {"choice": "rollback" if harm else "commit"}}
    run = _run(policy={"on_gate": {}, "transactions": beforehand})
    run.say("transactions", "commit", item="1-a")
    return run


@COMMON(3, "go is decided, and was not open")
def _decided_and_not_open(harm: bool) -> History:
    run = _run()
    run.ask("other" if harm else "go", "stop")
    run.say("go", "stop")
    return run


@COMMON(3, "go is decided revert, which was not offered")
def _decided_and_not_offered(harm: bool) -> History:
    run = _run()
    run.ask("go", "wait", *(() if harm else ("revert",)))
    run.say("go", "revert")
    return run


@COMMON(3, "there was no operator, and go was decided escalate")
def _decided_alone(harm: bool) -> History:
    run = _run(policy={"on_gate": {} if harm else {"go": "escalate"}, "transactions": {}})
    run.ask("go", "escalate", "stop")
    run.say("go", "escalate", by="policy")
    return run


@COMMON(3, "there was no operator, and go was decided revert")
def _turned_back_alone_too_late(harm: bool) -> History:
    """The runbook says to turn back when nobody is there; who cannot any more, stops."""
    rule = {"gate": "go", "unattended": "revert"}
    run = History("solace/suspend", vpn_world(), ({"id": "move", "when_stalled": rule},))
    if harm:
        run.tell("point-of-no-return")
    run.tell("gate.opened", gate="go", item=None, choices=["revert", "stop"], step="move", unattended="stop")
    run.say("go", "revert", by="policy")
    return run


@COMMON(3, "escalated without a recorded decision")
def _escalated_by_nobody(harm: bool) -> History:
    run = _run()
    run.answered("go", "escalate")
    ruling = {"choice": "escalate", "by": "bob" if harm else "ann", "reason": "known"}
    run.tell("lane.escalated", at_risk=3, ruling=ruling)
    return run


@COMMON(4, "and no intent is on disk that says so")
def _sent_without_an_intent(harm: bool) -> History:
    run = _run()
    run.send(run.intend("turn"), args={"to": "elsewhere"} if harm else {})
    return run


@COMMON(4, "after the lane had ended done")
def _sent_after_the_end(harm: bool) -> History:
    run = _run()
    order = run.intend("turn")
    if harm:
        run.tell("lane.ended", outcome="done")
    run.send(order)
    return run


def _completing() -> History:
    """A transaction is about to be completed, which cannot be taken back; there is no reading of it afterwards."""
    run = History("solace/suspend", vpn_world(), ({"id": "move"},))
    run.read(("source", "transactions", {"items": [{"xid": "1-a", "state": "prepared"}]}))
    run.answered("transactions", "commit", item="1-a")
    return run


@COMMON(4, "2 times for one intent")
def _sent_twice(harm: bool) -> History:
    run = _completing()
    order = run.intend("complete_transaction", xid="1-a", outcome="commit")
    run.send(order)
    if harm:
        run.send(order)
    return run


@COMMON(4, "while attempt 1 is in doubt")
def _tried_again_in_doubt(harm: bool) -> History:
    run = _completing()
    run.order("complete_transaction", xid="1-a", outcome="commit")
    run.ended("doubtful" if harm else "rejected")
    run.order("complete_transaction", xid="1-a", outcome="commit")
    return run


@COMMON(4, "after it had taken effect")
def _done_already(harm: bool) -> History:
    run = _completing()
    done = {"xid": "1-a", "outcome": "commit"}
    run.service["effects"] = [[SOURCE, "complete_transaction", done, int(harm)]]
    run.order("complete_transaction", **done)
    return run


@COMMON(4, "took effect 2 times at ny")
def _took_effect_twice(harm: bool) -> History:
    run = _run()
    run.service["effects"] = [[SOURCE, "delete_transaction", {"xid": "1-a"}, 2 if harm else 1]]
    run.judge.look(run.world)
    return run
