"""Evaluates a check of a runbook on a reading, both as plain data: true, false or unknown. Shares no code with the
engine.

A check names fields of a reading, and values that are derived from them. Their meaning is written here from the documents
alone. An unknown value makes a check unknown, never false. A value that is not in this list is unknown too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Plain = Mapping[str, Any]
# A link that was read as calm for so many of its sample intervals has nothing left to carry.
CALM_INTERVALS = 2


def all_are(told: Sequence[bool | None]) -> bool | None:
    """False if any value is false. Otherwise unknown if any value is unknown or there are no values."""
    if False in told:
        return False
    return None if not told or None in told else True


def none_is(told: Iterable[bool | None]) -> bool | None:
    """False if any value is true. Otherwise unknown if any value is unknown."""
    said = list(told)
    return False if True in said else None if None in said else True


# Returns a field of the other site's reading, if that reading was asked before the one compared with it.
Other = Callable[[Plain], Any]


def _untold(place: Plain) -> None:
    del place


def holds(check: Plain, value: Plain | None, other: Other = _untold) -> bool | None:
    """Does the reading ``value`` fit the check? None: that is not known."""
    if value is None:
        return None
    return fits_all(value, check["where"], other)


def fits_all(value: Plain, where: Plain, other: Other = _untold) -> bool | None:
    """Like ``holds``, for the fields ``where`` alone. ``value`` is a reading, or an item of a reading."""
    said = [_fits(value_of(value, name), wanted, other) for name, wanted in where.items()]
    return False if False in said else None if None in said else True


def value_of(value: Plain, name: str) -> Any:
    """A field of a reading, or a value that is derived from its fields."""
    derived = _DERIVED.get((value.get("kind", ""), name))
    return value.get(name) if derived is None else derived(value)


def _fits(value: Any, wanted: Any, other: Other) -> bool | None:
    if value is None:
        return None
    if isinstance(wanted, Mapping):
        return _is_within(value, wanted, other)
    if isinstance(wanted, list | tuple):
        return value in wanted
    return bool(value == wanted)


def _is_within(value: Any, wanted: Plain, other: Other) -> bool | None:
    """Is ``value`` within a range, or does it match the other site's value?"""
    said: list[bool | None] = []
    for key, place in wanted.items():
        if place is None:
            continue
        if key in ("reaches", "same_as"):
            there = other(place)
            if there is None:
                said.append(None)
            elif key == "same_as":
                said.append(bool(value == there))
            else:
                said.append(_is_number(value) and _is_number(there) and value >= there)
        else:
            said.append(_is_number(value) and (value >= place if key == "at_least" else value <= place))
    return False if False in said else None if None in said else True


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float)


def _no(value: bool | None) -> bool | None:
    return None if value is None else not value


def _is_shut(node: Plain) -> bool | None:
    if node["backbone_up"] is not False:
        return _no(node["backbone_up"])
    return None if node["clients"] is None else node["clients"] == 0


def _of_nodes(told: Callable[[Plain], bool | None]) -> Callable[[Plain], bool | None]:
    return lambda value: all_are([told(node) for node in value["nodes"]])


def _of_doors(told: Callable[[bool | None], bool | None]) -> Callable[[Plain], bool | None]:
    return lambda value: all_are([told(one["enabled"]) for one in value["items"] if one["replication"] is not True])


def to_mate(links: Plain) -> Plain | None:
    """The link to the other site."""
    return next((one for one in links["items"] if one["name"] == links["mate"]), None)


def _of_link(name: str) -> Callable[[Plain], Any]:
    def told(links: Plain) -> Any:
        link = to_mate(links)
        return None if link is None else link[name]

    return told


def _lasts(name: str) -> Callable[[Plain], bool | None]:
    def told(links: Plain) -> bool | None:
        link = to_mate(links)
        if link is None or None in (links["interval_s"], link["connected"], link["behind_s"]):
            return None
        return link[name] is not None and bool(link[name] >= CALM_INTERVALS * links["interval_s"])

    return told


def _downgraded(links: Plain) -> bool | None:
    link = to_mate(links)
    if link is None:
        return None
    if link["sync"] is True or link["configured_sync"] is False:
        return False
    return None if link["sync"] is None or link["configured_sync"] is None else True


def _owned(queues: Plain) -> int | None:
    if queues["items"] is None or any(one["owned"] is None for one in queues["items"]):
        return None
    return sum(int(one["owned"]) for one in queues["items"])


def _drained(queue: Plain) -> bool | None:
    return None if queue["messages"] is None else queue["messages"] == 0


def _granted(account: Plain) -> bool | None:
    return False if account["denied"] else True if account["known"] else None


def _percent_full(queue: Plain) -> float | None:
    return (
        None if queue["usage_mb"] is None or not queue["quota_mb"] else 100.0 * queue["usage_mb"] / queue["quota_mb"]
    )


def _waits_for_its_state(source: Plain) -> bool | None:
    if source["configured"] is False or source["empty"] is False or source.get("records"):
        return False
    return None if None in (source["configured"], source["empty"]) else True


def _holds_something(source: Plain) -> bool | None:
    said = [None if source["empty"] is None else not source["empty"]]
    said.append(None if source.get("records") is None else source["records"] > 0)
    return True if True in said else None if None in said else False


def _survives_s(log: Plain) -> float | None:
    if None in (log["bytes"], log["capacity_bytes"], log["oldest_at"], log["newest_at"]):
        return None
    span = log["newest_at"] - log["oldest_at"]
    if span <= 0 or log["bytes"] <= 0:
        return None
    return float(max(0.0, log["capacity_bytes"] - log["bytes"]) * span / log["bytes"])


def _survives(log: Plain) -> bool | None:
    room = _survives_s(log)
    return None if room is None or log["outage_s"] is None else bool(room >= log["outage_s"])


_DERIVED: Mapping[tuple[str, str], Callable[[Plain], Any]] = {
    ("replication", "sync_told"): lambda value: value["sync_eligible"] is not None,
    ("replication_queue", "drained"): _drained,
    ("fence", "closed"): _of_nodes(_is_shut),
    ("fence", "open"): _of_nodes(lambda node: node["backbone_up"]),
    ("fence", "idle"): _of_nodes(lambda node: None if node["active"] is None else node["active"] == 0),
    ("reachability", "role_known"): lambda value: value["role"] is not None,
    ("transports", "open"): _of_doors(lambda enabled: enabled),
    ("transports", "closed"): _of_doors(_no),
    ("clients", "gone"): lambda value: None if value["count"] is None else value["count"] == 0,
    **{("links", name): _of_link(name) for name in ("connected", "sync", "configured_sync", "behind_s")},
    ("links", "downgraded"): _downgraded,
    ("links", "caught_up"): _lasts("calm_s"),
    ("links", "keeping_up"): _lasts("steady_s"),
    ("queues", "present"): lambda value: None if value["items"] is None else bool(value["items"]),
    ("queues", "owned"): _owned,
    ("queues", "proxied"): lambda value: all_are([one["proxied"] for one in value["items"] or ()]),
    ("queues", "unproxied"): (
        lambda value: None if value["items"] is None else none_is(one["proxied"] for one in value["items"])
    ),
    ("permissions", "granted"): _granted,
    ("replication_queue", "percent_full"): _percent_full,
    ("bootstrap", "waiting"): _waits_for_its_state,
    ("bootstrap", "holds"): _holds_something,
    ("transaction_log", "survives_s"): _survives_s,
    ("transaction_log", "survives"): _survives,
}
