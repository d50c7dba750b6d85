"""Controls of what is asked of a whole run of message VPNs: readings at the point of no return, questions beforehand, and
what its report says."""

from __future__ import annotations

from typing import Any

from tests.proof.histories import SERVICE, SOURCE, TARGET, TURN, Controls, Whole, amps_world, check, step

AGAIN = Controls("solace")
AGAIN_AMPS = Controls("amps")
ASKED = Controls("common")
_STANDBY = {"on": "source", "action": "set_role", "args": {"role": "standby"}}
_ACTIVE = {"on": "target", "action": "set_role", "args": {"role": "active"}}


def _turn(run: Whole, site: str, role: str, by: str = "command") -> None:
    run.service["roles"][site] = role
    run.service["changes"] = [*run.service["changes"], [run.now, site, role, by]]


def _drained(run: Whole) -> None:
    """One round shows the queue empty, the bridge bound and both sites as standby."""
    run.shows_together(
        ("source", "replication", {"role": "standby"}),
        ("source", "replication_queue", {"messages": 0}),
        ("target", "replication", {"bridge": "bound", "role": "standby"}),
    )


def _moved(*, is_read_again: bool) -> Whole:
    """A planned move up to the moment in which the target takes over."""
    run = Whole(
        step("demote", do=_STANDBY, expect=[check("replication", role="standby")]),
        step("activate", do=_ACTIVE, point_of_no_return=True),
        runbook="solace/controlled",
    )
    run.started("demote", attended=True)
    run.order("set_role", step="demote", role="standby")
    _turn(run, SOURCE, "standby")
    run.ended()
    _drained(run)
    run.tell("step.done", step="demote", reversible=True)
    run.tell("step.started", step="activate")
    if is_read_again:
        _drained(run)
    return run


@AGAIN(15, "and that nothing is queued was not read again for it")
def _not_read_again(harm: bool) -> Whole:
    run = _moved(is_read_again=not harm)
    run.order("set_role", "target", step="activate", role="active")
    return run


@AGAIN(2, "with 9 messages still queued at ny")
def _queued_by_another_hand(harm: bool) -> Whole:
    """Somebody gave activity back and took it again, long before what the target's activation stands on was read."""
    run = _moved(is_read_again=False)
    for role in ("active", "standby"):
        _turn(run, SOURCE, role, "somebody")
    run.wait(5.0)
    _drained(run)
    if not harm:  # of what comes after that, no reading can tell
        _turn(run, SOURCE, "standby", "somebody")
    run.service["queued"][SOURCE] = 9
    run.world["moment"] = run.now
    run.send(run.intend("set_role", "target", step="activate", role="active"), now=run.now)
    return run


@AGAIN(15, "done, and 9 messages are queued at ny")
def _queued_at_the_end(harm: bool) -> Whole:
    run = _moved(is_read_again=True)
    run.order("set_role", "target", step="activate", role="active")
    run.ended()
    _turn(run, TARGET, "active")
    run.tell("point-of-no-return", step="activate")
    run.tell("step.done", step="activate")
    run.tell("lane.ended", outcome="done")
    run.tell("run.finished", lane=None, outcome="done")
    run.service["queued"][SOURCE] = 9 if harm else 0
    run.end(None)
    return run


@AGAIN(17, "reverted, and the operator's own command at ny is still in effect")
def _own_command_left(harm: bool) -> Whole:
    run = Whole(step(), runbook="solace/controlled")
    run.started()
    run.tell("abort.asked", by="--fail-fast")
    run.tell("revert.started", undo=[])
    run.tell("lane.ended", outcome="reverted")
    run.tell("run.finished", lane=None, outcome="reverted")
    run.service["effects"] = [[SOURCE, "ensure", {"command": "park" if harm else "unpark"}, 1]]
    run.end(None)
    return run


@AGAIN(17, "the report says that ny is active, and it is standby")
def _claims_a_role(harm: bool) -> Whole:
    run = Whole(step())
    run.service["roles"][SOURCE] = "standby" if harm else "active"
    run.judge.claimed({SERVICE: {"roles": {SOURCE: "active"}, "outage_seconds": None}}, run.world)
    return run


@AGAIN(17, "the report says that no site was active for less than it was")
def _claims_a_shorter_outage(harm: bool) -> Whole:
    run = Whole(step())
    run.service["changes"] = [[11.0, SOURCE, "standby", "command"], [15.0, TARGET, "active", "command"]]
    run.judge.claimed({SERVICE: {"roles": {}, "outage_seconds": 3.0 if harm else 4.0}}, run.world)
    return run


def _giving_up(*later: dict[str, Any], attended: bool = False, **plan: Any) -> Whole:
    run = Whole(step("demote", do=_STANDBY), *later, runbook="solace/uncontrolled-isolated", **plan)
    run.started("demote", attended=attended)
    return run


def _policy(**answers: str) -> dict[str, Any]:
    return {"on_gate": answers, "transactions": {}, "fail_fast": False}


@ASKED(16, "and no one can answer leave later")
def _gives_up_into_a_question(harm: bool) -> Whole:
    ask = {"gate": "leave", "choices": ["accept", "revert"], "unattended": "revert"}
    run = _giving_up(step("at-risk", ask=ask), policy=_policy(**({} if harm else {"leave": "accept"})))
    run.order("set_role", step="demote", role="standby")
    return run


_EACH = {"on": "source", "reading": "transactions", "where": {"state": "prepared"}, "decided_in": None}
_DECIDE = {"gate": "xa", "choices": ["commit"]}


def _working_through() -> dict[str, Any]:
    return step("transactions", for_each=_EACH, decide=_DECIDE, do=_STANDBY)


@ASKED(16, "and what transactions will ask about was not listed")
def _gives_up_unlisted(harm: bool) -> Whole:
    run = _giving_up(_working_through(), attended=not harm)
    run.order("set_role", step="demote", role="standby")
    return run


@ASKED(16, "and no one has decided on 1-a, which is listed")
def _gives_up_undecided(harm: bool) -> Whole:
    run = _giving_up(_working_through())
    run.shows(reading="transactions", items=[{"xid": "1-a", "state": "prepared" if harm else "idle"}])
    run.order("set_role", step="demote", role="standby")
    return run


def _amps(*steps: dict[str, Any]) -> Whole:
    return Whole(*steps, runbook="amps/controlled", world=amps_world(sync=True))


@AGAIN_AMPS(15, "and that it has everything was not read again for it")
def _opened_unread(harm: bool) -> Whole:
    open_ = {"on": "target", "action": "set_client_transports", "args": {"state": "enabled"}}
    run = _amps(step("open", do=open_, point_of_no_return=True))
    run.started("open", attended=True)
    link = {"name": "mate", "connected": True, "behind_s": 0, "calm_s": 9.0}
    closed = {"items": [{"enabled": False, "replication": False}]}
    said: dict[str, dict[str, Any]] = {
        "links": {"mate": "mate", "interval_s": 1.0, "items": [link]},
        "clients": {"count": 0},
        "transports": closed,
    }
    seen = [
        {"on": "source", "reading": name, "asked_at": run.now, "value": {"kind": name, **one}}
        for name, one in said.items()
    ]
    run.tell("observed", seen=seen, gauge=None)
    if harm:
        run.tell("step.retried", step="open")
    run.instance("source").update(doors=[False], takes_clients=False, clients=0)
    run.order("set_client_transports", "target", step="open", state="enabled")
    return run


@AGAIN_AMPS(17, "the report says that ny lets clients in")
def _claims_an_open_door(harm: bool) -> Whole:
    run = _amps(step())
    run.instance("source")["doors"] = [not harm]
    run.judge.claimed({SERVICE: {"lets_clients_in": {SOURCE: True}}}, run.world)
    return run


@ASKED(7, "move acts after 60s on what others have 3m for")
def _taken_from_others(harm: bool) -> Whole:
    """Two processes watch for a minute each, and a third one acts: what passes between them does not count."""
    each = {"on": "source", "reading": "transactions", "where": {"state": "complete"}, "decided_in": None}
    run = Whole(step(for_each=each, do=TURN, delay="3m"))
    run.started()
    for watched in (30.0, 30.0 if harm else 150.0):
        run.wait(watched)
        run.shows(reading="transactions", items=[{"xid": "1-a", "state": "complete"}])
        run.wait(3_600.0)
        run.leads()
        run.tell("lane.resumed")
    run.shows(reading="transactions", items=[{"xid": "1-a", "state": "complete"}])
    run.send(run.intend("turn"))
    return run


@ASKED(3, "move is asked, and the guard was not broken for longer than 60s and it fell within the last 2m")
def _asked_for_neither_reason(harm: bool) -> Whole:
    """One question for a broken guard and for a stalled queue: the guard holds, and the queue must have rested."""
    choices = {"gate": "move", "choices": ["wait"], "unattended": "wait", "wait_at_most": "1h"}
    run = Whole(
        step(
            until=[check(serving=True)],
            guard=[check(spool_active=True)],
            progress={"on": "source", "reading": "replication_queue", "field": "messages"},
            when_guard_breaks={"grace": "60s", **choices},
            when_stalled={"after": "2m", **choices},
        )
    )
    run.started()
    run.tell("step.ready", step="move")
    for depth in (9.0, 8.0 if harm else 9.0):
        run.shows(depth, serving=False, spool_active=True)
        run.wait(80.0)
    run.shows(8.0 if harm else 9.0, serving=False, spool_active=True)
    run.tell("gate.opened", gate="move", step="move", choices=["wait"], unattended="wait")
    return run
