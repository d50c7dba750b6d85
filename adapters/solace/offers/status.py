"""What ``failover status`` shows of message VPNs beyond facets: roles, both ends of the bridge, prepared transactions,
and whether a message VPN is replicated at all. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.solace.reading_models import QueueDepth, ReplicationStatus, Transactions, TransactionState
from orchestrator.characters import typed
from orchestrator.family.status import Answers, Figures, StatusPart, first_failure, shown

READINGS = ("replication", "replication_queue", "transactions")


def figures(answers: Answers, service: str) -> Figures:
    """One site's side of a service."""
    end: dict[str, object] = dict.fromkeys(
        ("role", "bridge", "queue_bound", "messages", "suspended", "prepared", "replicated")
    )
    replication, queue, transactions = (answers[reading].get(service) for reading in READINGS)
    if isinstance(replication, ReplicationStatus):
        end |= {"role": replication.role, "bridge": replication.bridge, "queue_bound": replication.queue_bound}
        end["sync_eligible"] = replication.sync_eligible
        end["replicated"] = replication.enabled
    if isinstance(queue, QueueDepth):
        end["messages"] = queue.messages
        end["suspended"] = None if queue.rejects_on_discard is None else not queue.rejects_on_discard
    if isinstance(transactions, Transactions):
        states = [item.state for item in transactions.items]
        end["prepared"] = None if None in states else states.count(TransactionState.PREPARED)
    return end | first_failure(answers, READINGS, service)


def remark(word: str, ends: Mapping[str, Figures]) -> str:
    """The remark on a service. A bridge has two ends: if a site does not report its end, the state is unknown."""
    if any(end["replicated"] is False for end in ends.values()):
        return "not replicated"
    unread = next((site for site, end in ends.items() if end[_bound(end)] is None), None)
    return f"unknown: {unread} does not report its end of the bridge" if word == "ok" and unread else ""


def repair(service: str, ends: Mapping[str, Figures]) -> str:
    """The command that leaves one site active. A service that is not replicated has no mate to choose."""
    if any(end["replicated"] is False for end in ends.values()):
        return ""
    return f"choose the site to be active: `failover repair {typed(service)} --site SITE`"


def cells(end: Figures) -> list[str]:
    """The cells of the table after service and site."""
    return [shown(end["role"]), _bridge(end), shown(end["messages"]), shown(end["prepared"])]


def _bridge(end: Figures) -> str:
    bound = end[_bound(end)]
    if end["role"] != "active":
        return shown(bound)
    return "unknown" if bound is None else "mate bound" if bound else "mate not bound"


def _bound(end: Figures) -> str:
    """The bridge figure that is meaningful at this end (docs/sources/solace.md, 0.5)."""
    return "queue_bound" if end["role"] == "active" else "bridge"


STATUS = StatusPart(
    READINGS,
    columns=("role", "bridge", "queue", "prepared"),
    numbers=frozenset({"queue", "prepared"}),
    figures=figures,
    cells=cells,
    remark=remark,
    repair=repair,
)
