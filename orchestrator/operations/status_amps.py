"""How ``failover status`` tells of a pair of AMPS instances: who lets clients in, and how the links acknowledge. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings_amps import Clients, Links, Queues, Transports

READINGS = ("transports", "clients", "links", "queues")
COLUMNS = ("service", "site", "transports", "clients", "link", "behind", "owned", "")

Answers = Mapping[str, Mapping[str, Reading | Failure]]


def end_of(answers: Answers, service: str) -> dict[str, object]:
    """One site's side of a service, for JSON and for the table; None is unknown."""
    end: dict[str, object] = dict.fromkeys(
        ("transports", "clients", "connected", "sync", "downgraded", "behind_s", "owned")
    )
    found = {reading: answers[reading].get(service) for reading in READINGS}
    transports, clients, links, queues = (found[reading] for reading in READINGS)
    if isinstance(transports, Transports):
        is_told = transports.open is not None and transports.closed is not None
        end["transports"] = (
            ("open" if transports.open else "closed" if transports.closed else "in part") if is_told else None
        )
    if isinstance(clients, Clients):
        end["clients"] = clients.count
    if isinstance(links, Links):
        end |= {"connected": links.connected, "sync": links.sync, "downgraded": links.downgraded}
        end["behind_s"] = links.behind_s
    if isinstance(queues, Queues):
        end["owned"] = queues.owned
    failures = [one.text for one in found.values() if isinstance(one, Failure)]
    if failures:
        end["error"] = failures[0]
    return end


def verdict(ends: Sequence[Mapping[str, object]]) -> str:
    """``ok`` only when everything needed was read, somebody serves, and either may fail over to the other."""
    errors = [str(end["error"]) for end in ends if "error" in end]
    if errors:
        return f"unknown: {errors[0]}"
    if all(end["transports"] == "closed" for end in ends):
        return "NOBODY SERVES"
    if any(end["connected"] is False for end in ends):
        return "link not connected"
    if any(end["downgraded"] for end in ends):
        return "link downgraded: no fail-over target"
    if any(end[name] is None for end in ends for name in ("transports", "connected", "sync")):
        return "unknown: not everything was told"
    return "ok"


def cells(end: Mapping[str, object]) -> list[str]:
    """What stands in the table after service and site."""
    sync = None if end["sync"] is None else "sync" if end["sync"] else "async"
    link = "not connected" if end["connected"] is False else "DOWNGRADED" if end["downgraded"] else sync
    behind = None if end["behind_s"] is None else f"{end['behind_s']:g} s"
    return [
        "unknown" if one is None else str(one)
        for one in (end["transports"], end["clients"], link, behind, end["owned"])
    ]
