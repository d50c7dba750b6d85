"""Solace: the facts of a world and of a lane for its rules."""

from __future__ import annotations

from proof.promises.by_facets import BACKLOG, LINK, SERVES, Facets, Meaning
from proof.promises.facts import Case, LaneFacts, Plain, changes_since

# Runbooks whose `done` promises that nothing was lost.
LOSSLESS = frozenset({"solace/controlled", "solace/failback"})
# Runbooks that find both sites in the same role, and leave one active.
REPAIR_STANDBY, REPAIR_ACTIVE = "solace/repair-standby", "solace/repair-active"
COMMANDED = "solace/uncontrolled-commanded"
NOT_IDEMPOTENT = frozenset({"complete_transaction", "delete_transaction"})


def _facets(reading: str, value: Plain) -> Facets:
    """The facets of a reading, as ``show message-vpn * replication`` and the queue's own figures tell them
    (docs/sources/solace.md, 0.5)."""
    match reading:
        case "replication":
            is_bound = None if value.get("bridge") is None else value["bridge"] == "bound"
            serves = None if value.get("role") is None else value["role"] == "active"
            return {SERVES: serves, LINK: is_bound}
        case "replication_queue":
            return {BACKLOG: value.get("messages")}
    return {}


# The procedure activates the target and does not mention the bridge. People have to ensure that no client reaches the
# failed site (docs/sources/solace-procedure.md, uncontrolled 1 and 2).
MEANING = Meaning(
    _facets,
    {("set_role", "role"): {"active": {SERVES: True}, "standby": {SERVES: False}}},
    answers_for_live=True,
)


def is_fenced(world: Plain, site: str) -> bool:
    """Is every door of the site shut?"""
    doors = world["sites"][site]["doors"]
    return bool(doors) and not any(doors)


def is_foreign(case: Case, lane: LaneFacts, world: Plain, site: str) -> bool:
    """Did another person give the site its present role since the run started?"""
    last = [change for change in changes_since(case, lane, world) if change[1] == site][-1:]
    return bool(last) and last[0][3] == "somebody"


def has_foreign_hand(case: Case, lane: LaneFacts, world: Plain, *, since: float | None = None) -> bool:
    """Did another person change a role of the service since the run started, or since the moment ``since``?"""
    changes = [change for change in changes_since(case, lane, world) if change[3] == "somebody"]
    return any(since is None or change[0] >= since for change in changes)
