"""Controls of the rules of a repair: what two standby, and two active, sites need before one of them is changed."""

from __future__ import annotations

from tests.proof.histories import SERVICE, SOURCE, TARGET, Controls, History, Whole, check, step, vpn_world

REPAIRED = Controls("solace")
_ACTIVE = "solace/repair-active"


def _ready(run: History, messages: int = 0) -> None:
    """Both sites are standby, and so much is queued at the source."""
    run.service["roles"] = {SOURCE: "standby", TARGET: "standby"}
    run.read(("source", "replication", {"role": "standby"}))
    run.read(("source", "replication_queue", {"messages": messages}))


@REPAIRED(2, "the queue of ny was not read as empty")
def _repaired_undrained(harm: bool) -> History:
    run = History("solace/repair-standby", vpn_world())
    _ready(run, 17 if harm else 0)
    run.order("set_role", "target", role="active")
    return run


@REPAIRED(2, "with 17 messages still queued at ny")
def _repaired_although_queued(harm: bool) -> History:
    run = History("solace/repair-standby", vpn_world())
    _ready(run)
    run.service["queued"][SOURCE] = 17 if harm else 0
    run.order("set_role", "target", role="active")
    return run


@REPAIRED(3, "no operator accepted what stays there")
def _repaired_without_a_name(harm: bool) -> History:
    run = History(_ACTIVE, vpn_world())
    run.read(("target", "replication", {"role": "active"}))
    if not harm:
        run.answered("leave-behind")
    run.order("set_role", role="standby")
    return run


@REPAIRED(3, "its mate was not read as active")
def _repaired_beside_a_standby_site(harm: bool) -> History:
    run = History(_ACTIVE, vpn_world())
    run.read(("target", "replication", {"role": "standby" if harm else "active"}))
    run.answered("leave-behind")
    run.order("set_role", role="standby")
    return run


@REPAIRED(3, "its mate was not read as active")
def _repaired_on_an_old_reading(harm: bool) -> Whole:
    """The mate was read as active before the question; the demotion reads its own site only."""
    standby = {"on": "source", "action": "set_role", "args": {"role": "standby"}}
    run = Whole(
        step("both"), step("demote", do=standby, require=[check("replication", role="active")]), runbook=_ACTIVE
    )
    run.service["roles"][TARGET] = "active"
    run.started("both", attended=True)
    run.shows(on="target", reading="replication", role="active")
    run.judge.answered(SERVICE, {"gate": "leave-behind", "item": None, "why": ""}, "accept", "ann")
    run.answered("leave-behind")
    run.tell("step.done", step="both")
    run.tell("step.started", step="demote")
    both = [("source", "replication", {"role": "active"}), ("target", "replication", {"role": "active"})]
    run.shows_together(*both[: 1 if harm else 2])
    run.order("set_role", step="demote", role="standby")
    return run


@REPAIRED(15, "and that nothing is queued was not read again for it")
def _repaired_on_an_old_depth(harm: bool) -> Whole:
    """The queue was read as empty in the drain; the activation reads both roles only."""
    run = Whole(
        step("drain"),
        step(
            "activate", do={"on": "target", "action": "set_role", "args": {"role": "active"}}, point_of_no_return=True
        ),
        runbook="solace/repair-standby",
    )
    run.service["roles"] = {SOURCE: "standby", TARGET: "standby"}
    run.started("drain")
    empty = ("source", "replication_queue", {"messages": 0})
    run.shows_together(empty)
    run.tell("step.done", step="drain")
    run.tell("step.started", step="activate")
    roles = [(side, "replication", {"role": "standby"}) for side in ("source", "target")]
    run.shows_together(*roles, *(() if harm else (empty,)))
    run.order("set_role", "target", step="activate", role="active")
    return run
