"""Controls of the rules of message VPNs."""

from __future__ import annotations

from typing import Any

from tests.proof.histories import SOURCE, TARGET, Controls, History, vpn_world

SOLACE = Controls("solace")


def _run(runbook: str, *steps: dict[str, Any], **plan: Any) -> History:
    return History(f"solace/{runbook}", vpn_world(), steps, **plan)


def _turn(run: History, site: str, role: str, by: str = "command", *, at: float = 10.0) -> None:
    """In the world a site has this role from now on."""
    run.service["roles"][site] = role
    run.service["changes"] = [*run.service["changes"], [at, site, role, by]]


def _give_up(run: History, *, is_read: bool = True) -> None:
    """The source is told to be standby, obeys, and is read."""
    run.order("set_role", role="standby")
    _turn(run, SOURCE, "standby")
    run.ended()
    if is_read:
        run.read(("source", "replication", {"role": "standby"}))


def _drain(run: History) -> None:
    """One round shows the queue empty with the bridge bound."""
    run.read(("source", "replication_queue", {"messages": 0}), ("target", "replication", {"bridge": "bound"}))


def _activate(run: History) -> None:
    run.order("set_role", "target", role="active")


@SOLACE(1, "nj is told set_role active, while ny is active")
def _two_active_by_an_order(harm: bool) -> History:
    run = _run("uncontrolled")
    if not harm:
        run.world["sites"][SOURCE]["doors"] = [False]
    _activate(run)
    return run


@SOLACE(1, "nothing read since had shown that ny does not serve")
def _activated_unconfirmed(harm: bool) -> History:
    run = _run("uncontrolled")
    run.read(("source", "replication", {"role": "standby"}))  # of before: it proves nothing
    _give_up(run, is_read=not harm)
    _activate(run)
    return run


@SOLACE(8, "nothing read since had shown ny as fenced")
def _activated_beside_no_fence(harm: bool) -> History:
    run = _run("uncontrolled-commanded")
    run.world["sites"][SOURCE]["doors"] = [False]
    run.read(("source", "external_fence", {"closed": not harm}))
    _activate(run)
    return run


@SOLACE(2, "no reading had shown that nothing is left at ny")
def _activated_undrained(harm: bool) -> History:
    run = _run("controlled")
    _drain(run)  # of before: it proves nothing
    _give_up(run)
    if not harm:
        _drain(run)
    _activate(run)
    return run


@SOLACE(2, "no reading had shown that nothing is left at ny")
def _drained_through_no_bridge(harm: bool) -> History:
    run = _run("controlled")
    _give_up(run)
    bridge = "unbound" if harm else "bound"
    run.read(("source", "replication_queue", {"messages": 0}), ("target", "replication", {"bridge": bridge}))
    _activate(run)
    return run


@SOLACE(2, "with 17 messages still queued at ny")
def _activated_although_queued(harm: bool) -> History:
    run = _run("controlled")
    _give_up(run)
    _drain(run)
    run.service["queued"][SOURCE] = 17 if harm else 0
    _activate(run)
    return run


def _listed(run: History, state: str, on: str = "source") -> None:
    run.read((on, "transactions", {"items": [{"xid": "1-a", "state": state}]}))


@SOLACE(7, "without a recorded decision and its reason")
def _completed_undecided(harm: bool) -> History:
    run = _run("uncontrolled")
    _listed(run, "prepared")
    if not harm:
        run.answered("transactions", "commit", item="1-a")
    run.order("complete_transaction", xid="1-a", outcome="commit")
    return run


@SOLACE(7, "which is not the formerly active site")
def _completed_at_the_target(harm: bool) -> History:
    run = _run("uncontrolled")
    on = "target" if harm else "source"
    _listed(run, "prepared", on)
    run.answered("transactions", "commit", item="1-a")
    run.order("complete_transaction", on, xid="1-a", outcome="commit")
    return run


@SOLACE(7, "and rollback was decided")
def _completed_the_other_way(harm: bool) -> History:
    run = _run("uncontrolled")
    _listed(run, "prepared")
    run.answered("transactions", "rollback", item="1-a")
    run.order("complete_transaction", xid="1-a", outcome="commit" if harm else "rollback")
    return run


@SOLACE(7, "and it was last read as complete")
def _completed_unprepared(harm: bool) -> History:
    run = _run("uncontrolled")
    _listed(run, "complete" if harm else "prepared")
    run.answered("transactions", "commit", item="1-a")
    run.order("complete_transaction", xid="1-a", outcome="commit")
    return run


@SOLACE(7, "before the transaction manager had its chance")
def _deleted_too_soon(harm: bool) -> History:
    run = _run("uncontrolled")
    _listed(run, "complete", "target")
    run.answered("transactions", "commit", item="1-a")
    run.service["manager_due"] = harm
    run.order("delete_transaction", "target", xid="1-a")
    return run


_DOOR = {"on": "source", "action": "set_backbone", "args": {"state": "down"}}
_FENCE = {"id": "fence", "do": _DOOR, "expect": [{"where": {"closed": True}}]}


@SOLACE(8, "and this run had not shut it")
def _opened_what_another_had_shut(harm: bool) -> History:
    world = vpn_world()
    world["sites"][SOURCE]["doors"] = [not harm]
    run = History("solace/uncontrolled-isolated", world, (_FENCE,))
    if not harm:
        run.order("set_backbone", step="fence", state="down")
        run.ended()
        run.world["sites"][SOURCE]["doors"] = [False]
    run.tell("step.done", step="fence", reversible=True)
    run.tell("revert.started", undo=["fence"])
    run.order("set_backbone", step="fence", undo=True, state="up")
    return run


@SOLACE(14, "and another had shut it before this run")
def _opened_what_it_had_found_shut(harm: bool) -> History:
    """It had sent the command too, which changed nothing."""
    world = vpn_world()
    world["sites"][SOURCE]["doors"] = [not harm]
    run = History("solace/uncontrolled-isolated", world, (_FENCE,))
    run.order("set_backbone", step="fence", state="down")
    run.ended()
    run.world["sites"][SOURCE]["doors"] = [False]
    run.tell("step.done", step="fence", reversible=True)
    run.tell("revert.started", undo=["fence"])
    run.order("set_backbone", step="fence", undo=True, state="up")
    return run


def _two_behind_one_door(harm: bool, other: str) -> History:
    """A rolls back, and B has failed over behind the same door, or has not."""
    world = vpn_world()
    world["services"]["B"] = vpn_world()["services"]["A"]
    run = History("solace/uncontrolled-isolated", world, (_FENCE,), services=["A", "B"])
    run.order("set_backbone", step="fence", state="down")
    run.ended()
    run.world["sites"][SOURCE]["doors"] = [False]
    run.tell("step.done", step="fence", reversible=True)
    run.world["services"]["B"]["roles"] = {SOURCE: "standby", TARGET: "active"}
    if harm:
        run.tell("step.done", lane="B", step="fence", reversible=True)
    run.tell("lane.ended", lane="B", outcome=other if harm else "refused")
    run.tell("revert.started", undo=["fence"])
    return run


@SOLACE(14, "and B relies on its being shut")
def _opened_behind_another(harm: bool) -> History:
    run = _two_behind_one_door(harm, "done")
    run.order("set_backbone", step="fence", undo=True, state="up")
    return run


@SOLACE(8, "B: done, and clients can reach ny")
def _unfenced_behind_another(harm: bool) -> History:
    """Whoever opened it."""
    run = _two_behind_one_door(harm, "done")
    run.world["sites"][SOURCE]["doors"] = [True]
    run.judge.look(run.world)
    return run


@SOLACE(17, "reverted, and the doors of ny are still shut")
def _left_shut(harm: bool) -> History:
    run = History("solace/uncontrolled-isolated", vpn_world(), (_FENCE,))
    run.order("set_backbone", step="fence", state="down")
    run.ended()
    run.world["sites"][SOURCE]["doors"] = [not harm]
    run.end("reverted")
    return run


@SOLACE(8, "and solace/guard is no restore")
def _opened_by_no_restore(harm: bool) -> History:
    run = _run("guard" if harm else "restore")
    run.service["roles"] = {SOURCE: "standby", TARGET: "active"}
    run.order("set_backbone", state="up")
    return run


@SOLACE(8, "while A is active there")
def _opened_beside_activity(harm: bool) -> History:
    run = _run("restore")
    run.service["roles"][SOURCE] = "active" if harm else "standby"
    run.order("set_external_fence", state="open")
    return run


def _endpoints(run: History, at_target: int = 3, oldest_at: float = 50.0) -> None:
    """Five messages at the acting site, so many at the one to return to."""
    queue = {"endpoint": "queue", "name": "q", "oldest_at": oldest_at}
    run.read(
        ("source", "endpoints", {"items": [{**queue, "messages": 5}]}),
        ("target", "endpoints", {"items": [{**queue, "messages": at_target}]}),
    )


def _outage(**more: Any) -> dict[str, Any]:
    return {"at": 100.0, "skew": 5.0, "spool_lost": False, "suspended": False, **more}


@SOLACE(9, "the endpoints of both sites had not been read")
def _returned_unread(harm: bool) -> History:
    run = _run("failback")
    if not harm:
        _endpoints(run, at_target=5)
    run.order("set_role", role="standby")
    return run


@SOLACE(9, "though the returning site lost its spool")
def _returned_without_its_spool(harm: bool) -> History:
    run = _run("failback", outage=_outage(spool_lost=harm))
    _endpoints(run, at_target=5)
    run.order("set_role", role="standby")
    return run


@SOLACE(9, "though replication may have been suspended")
def _returned_after_a_suspension(harm: bool) -> History:
    run = _run("failback", outage=_outage(suspended=None if harm else False))
    _endpoints(run, at_target=5)
    run.order("set_role", role="standby")
    return run


@SOLACE(9, "though q holds messages from before the fail-over")
def _returned_beside_old_messages(harm: bool) -> History:
    run = _run("failback", outage=_outage())
    _endpoints(run, oldest_at=104.0 if harm else 106.0)
    run.order("set_role", role="standby")
    return run


@SOLACE(1, "demote is done, and ny is active")
def _done_and_not_so(harm: bool) -> History:
    do = {"on": "source", "action": "set_role", "args": {"role": "standby"}}
    run = _run("controlled", {"id": "demote", "do": do, "expect": [{"where": {"role": "standby"}}]})
    run.service["roles"][SOURCE] = "active" if harm else "standby"
    run.tell("step.done", step="demote", reversible=True)
    return run


@SOLACE(8, "fence is done, and clients can reach ny")
def _fenced_and_not_so(harm: bool) -> History:
    do = {"on": "source", "action": "set_backbone", "args": {"state": "down"}}
    run = _run("uncontrolled-isolated", {"id": "fence", "do": do, "expect": [{"where": {"closed": True}}]})
    run.world["sites"][SOURCE]["doors"] = [harm, False]
    run.tell("step.done", step="fence", reversible=True)
    return run


def _escalate(run: History, at_risk: int | None) -> None:
    run.answered("bridge-lost", "escalate")
    ruling = {"choice": "escalate", "by": "ann", "reason": "known"}
    run.tell("lane.escalated", at_risk=at_risk, ruling=ruling)


@SOLACE(3, "escalated without the number of messages at risk")
def _escalated_without_a_number(harm: bool) -> History:
    run = _run("controlled")
    run.read(("source", "replication_queue", {"messages": 5}), gauge=5.0)
    _escalate(run, None if harm else 5)
    return run


@SOLACE(1, "activating nj made two active sites")
def _two_active_in_the_world(harm: bool) -> History:
    """The order left while the source was fenced; once the fence was gone, both served."""
    run = _run("uncontrolled")
    run.world["sites"][SOURCE]["doors"] = [False]
    _activate(run)
    run.world["moment"] = 13.0
    _turn(run, TARGET, "active", "command" if harm else "somebody", at=12.0)
    run.service["both_active"] = [[12.0, 13.0]]
    run.judge.look(run.world)
    return run


@SOLACE(4, "ended done, and nj is standby")
def _ended_elsewhere(harm: bool) -> History:
    run = _run("uncontrolled")
    run.service["roles"] = {SOURCE: "standby", TARGET: "standby" if harm else "active"}
    run.end("done")
    return run


@SOLACE(4, "ended reverted, and ny is standby")
def _reverted_elsewhere(harm: bool) -> History:
    run = _run("controlled")
    run.service["roles"][SOURCE] = "standby" if harm else "active"
    run.end("reverted")
    return run


@SOLACE(4, "refused, and set_role took effect at ny")
def _refused_and_changed(harm: bool) -> History:
    run = _run("controlled")
    run.service["effects"] = [[SOURCE, "set_role", {"role": "standby"}, int(harm)]]
    run.end("refused")
    return run


@SOLACE(3, "done, and 3 messages were lost")
def _lost(harm: bool) -> History:
    run = _run("controlled")
    run.service["roles"] = {SOURCE: "standby", TARGET: "active"}
    run.service["lost"] = 3 if harm else 0
    run.end("done")
    return run


@SOLACE(3, "2 messages were said to be at risk, and 3 were lost")
def _more_lost_than_was_said(harm: bool) -> History:
    run = _run("controlled")
    _escalate(run, 2)
    run.service["roles"] = {SOURCE: "standby", TARGET: "active"}
    run.service["lost"] = 3 if harm else 2
    run.end("escalated")
    return run


@SOLACE(7, "1-a is left complete at ny")
def _left_behind(harm: bool) -> History:
    run = _run("uncontrolled")
    _listed(run, "prepared")
    run.answered("transactions", "commit", item="1-a")
    run.order("complete_transaction", xid="1-a", outcome="commit")
    run.service["roles"] = {SOURCE: "standby", TARGET: "active"}
    run.service["transactions"][SOURCE] = {"1-a": "COMPLETE"} if harm else {}
    run.end("done")
    return run
