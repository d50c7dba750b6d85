"""What ``failover status`` shows of AMPS instances beyond facets: how the links acknowledge, how far they are behind, who
owns queue messages. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from adapters.amps.reading_models import Clients, Links, Queues, Transports
from orchestrator.family.status import Answers, Figures, StatusPart, first_failure, shown

READINGS = ("transports", "clients", "links", "queues")


def figures(answers: Answers, service: str) -> Figures:
    """One site's side of a service."""
    end: dict[str, object] = dict.fromkeys(
        ("transports", "clients", "connected", "sync", "downgraded", "behind_s", "owned")
    )
    transports, clients, links, queues = (answers[reading].get(service) for reading in READINGS)
    if isinstance(transports, Transports) and transports.open is not None and transports.closed is not None:
        end["transports"] = "open" if transports.open else "closed" if transports.closed else "in part"
    if isinstance(clients, Clients):
        end["clients"] = clients.count
    if isinstance(links, Links):
        end |= {"connected": links.connected, "sync": links.sync, "downgraded": links.downgraded}
        end["behind_s"] = links.behind_s
    if isinstance(queues, Queues):
        end["owned"] = queues.owned
    return end | first_failure(answers, READINGS, service)


def remark(word: str, ends: Mapping[str, Figures]) -> str:
    """The remark on a service. Each instance must be able to take over from the other. A link that is not reported is
    unknown."""
    if any(end["downgraded"] for end in ends.values()):
        return "link downgraded: the mate is not a fail-over target"
    for site, end in ends.items():
        if word == "ok" and None in (end["connected"], end["sync"]):
            return f"unknown: {site} does not report whether its link is connected and sync"
    return ""


def cells(end: Figures) -> list[str]:
    """The cells of the table after service and site."""
    sync = None if end["sync"] is None else "sync" if end["sync"] else "async"
    link = "not connected" if end["connected"] is False else "DOWNGRADED" if end["downgraded"] else sync
    behind = None if end["behind_s"] is None else f"{end['behind_s']:g} s"
    return [
        shown(end["transports"]),
        *("unknown" if one is None else str(one) for one in (end["clients"], link, behind, end["owned"])),
    ]


STATUS = StatusPart(
    READINGS,
    columns=("transports", "clients", "link", "behind", "owned"),
    numbers=frozenset({"clients", "behind", "owned"}),
    figures=figures,
    cells=cells,
    remark=remark,
)
