"""The readings of the AMPS pair, reduced to the fields that a runbook checks. This module must never know which step
asks.

The adapter reads a sample older than its own last action as unknown. A reading is therefore true or unknown.
"""

from __future__ import annotations

from collections.abc import Mapping

from adapters.amps.reading_models import (
    CALM_INTERVALS,
    Bootstrap,
    Clients,
    Instance,
    Link,
    Links,
    Permissions,
    Queue,
    Queues,
    Sow,
    SowTopic,
    TransactionLog,
    Transport,
    Transports,
)
from orchestrator.model.reading import Reading
from orchestrator.model.readings import ExternalFence, Reachability
from proof.exploration.amps.pair import LEVEL, Pair, Switch

FIELDS: Mapping[str, frozenset[str]] = {
    "instance": frozenset({"recovered"}),
    "transports": frozenset({"open", "closed"}),
    "clients": frozenset({"count", "gone"}),
    "links": frozenset(
        {"connected", "sync", "configured_sync", "downgraded", "behind_s", "caught_up", "keeping_up"},
    ),
    "queues": frozenset({"present", "owned", "proxied", "unproxied"}),
    "transaction_log": frozenset({"empty"}),
    "bootstrap": frozenset({"configured", "empty", "waiting", "holds"}),
    "sow": frozenset(),
    "permissions": frozenset({"granted"}),
    "reachability": frozenset({"answers"}),
    "external_fence": frozenset({"closed"}),
}
_INTERVAL = 10.0
_LONG = CALM_INTERVALS * _INTERVAL
_BEHIND = (0.0, 1.0, 60.0)
_OWNED = 10
_RECORDS = 10
# Two transports and two queues, so that a change of them may stop half-way.
_BOTH: Mapping[Switch, tuple[bool, bool]] = {"on": (True, True), "part": (False, True), "off": (False, False)}


def read(pair: Pair, side: int, reading: str) -> Reading:
    """See ``family.Family``."""
    match reading:
        case "instance":
            return Instance(recovered=True if pair.connected else None)
        case "transports":
            return Transports(
                items=tuple(
                    Transport(name=name, enabled=enabled)
                    for name, enabled in zip("ab", _BOTH[pair.door[side]], strict=True)
                )
            )
        case "clients":
            return Clients(count=int(pair.clients[side]))
        case "links":
            return _links(pair, side)
        case "queues":
            return _queues(pair, side)
        case "transaction_log":
            return TransactionLog(empty=pair.empty[side])
        case "bootstrap":
            records = 0 if pair.empty[side] else _RECORDS
            return Bootstrap(configured=pair.fetches[side], empty=pair.empty[side], records=records)
        case "sow":
            return _sow(pair, side)
        case "permissions":
            return Permissions(denied=() if pair.permitted else ("/",), known=True)
        case "reachability":
            return Reachability(answers=True)
        case "external_fence":
            return ExternalFence(closed=pair.outside[side])
        case _:
            raise ValueError(f"the model has no reading {reading}")


def blank(reading: str) -> Reading | None:
    """See ``family.Family``."""
    match reading:
        case "instance":
            return Instance()
        case "transports":
            return Transports(items=(Transport(name="a"),))
        case "clients":
            return Clients()
        case "links":
            return Links()
        case "queues":
            return Queues()
        case "transaction_log":
            return TransactionLog()
        case "bootstrap":
            return Bootstrap()
        case "sow":
            return Sow()
        case "permissions":
            return Permissions()
        case "external_fence":
            return ExternalFence()
        case _:
            return None


def _links(pair: Pair, side: int) -> Links:
    is_calm = pair.connected and pair.behind[side] == LEVEL
    link = Link(
        name="mate",
        connected=pair.connected,
        sync=pair.sync[side],
        configured_sync=pair.configured,
        behind_s=_BEHIND[pair.behind[side]],
        calm_s=_LONG if is_calm else 0.0,
        steady_s=_LONG if pair.keeps_up(side) else 0.0,
    )
    return Links(mate="mate", interval_s=_INTERVAL, items=(link,))


def _sow(pair: Pair, side: int) -> Sow:
    """The SOW lacks a record while the link to this side is behind."""
    records = 0 if pair.empty[side] else _RECORDS - (pair.behind[1 - side] != LEVEL)
    return Sow(items=(SowTopic(topic="a", records=records),))


def _queues(pair: Pair, side: int) -> Queues:
    if not pair.queues:
        return Queues(items=())
    owned = (0, _OWNED if pair.owned[side] else 0)
    return Queues(
        items=tuple(
            Queue(name=name, owned=number, proxied=proxied)
            for name, number, proxied in zip("ab", owned, _BOTH[pair.proxied[side]], strict=True)
        )
    )
