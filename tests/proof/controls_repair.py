"""Controls of the rules of a repair: what two standby, and two active, sites need before one of them is changed."""

from __future__ import annotations

from tests.proof.histories import SOURCE, TARGET, Controls, History, vpn_world

REPAIRED = Controls("solace")


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
    run = History("solace/repair-active", vpn_world())
    run.read(("target", "replication", {"role": "active"}))
    if not harm:
        run.answered("leave-behind")
    run.order("set_role", role="standby")
    return run


@REPAIRED(3, "its mate was not read as active")
def _repaired_beside_a_standby_site(harm: bool) -> History:
    run = History("solace/repair-active", vpn_world())
    run.read(("target", "replication", {"role": "standby" if harm else "active"}))
    run.answered("leave-behind")
    run.order("set_role", role="standby")
    return run
