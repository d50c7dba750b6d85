"""AMPS: the facts of a world and of a lane for its rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proof.promises.by_facets import CLIENTS, LINK, SERVES, Facets, Meaning, Sides
from proof.promises.checks import value_of
from proof.promises.facts import Case, LaneFacts, Plain, changes_since

# Runbooks whose `done` promises that nothing was lost.
LOSSLESS = frozenset({"amps/controlled", "amps/controlled-async", "amps/failback", "amps/failback-async"})
DOORS = frozenset({"open", "closed"})
# The state of an instance after it has obeyed an action, as the world's changes name it.
MADE = {
    ("set_client_transports", "enabled"): "open",
    ("set_client_transports", "disabled"): "closed",
    ("set_link_mode", "sync"): "sync",
    ("set_link_mode", "async"): "async",
    ("set_proxied_transfer", "enabled"): "proxied",
    ("set_proxied_transfer", "disabled"): "unproxied",
}
_KINDS = (DOORS, frozenset({"sync", "async"}), frozenset({"proxied", "unproxied"}))


def _facets(reading: str, value: Plain) -> Facets:
    """The facets of a reading, as the instance's statistics tell them (docs/sources/amps.md, 6.2)."""
    match reading:
        case "transports":
            doors = [one["enabled"] for one in value["items"] if one["replication"] is not True]
            return {SERVES: True if True in doors else None if not doors or None in doors else False}
        case "clients":
            return {CLIENTS: value["count"]}
        case "links":
            is_calm = _of_link(value, "caught_up") and _of_link(value, "behind_s") == 0
            return {LINK: bool(is_calm and _of_link(value, "connected"))}
    return {}


def _of_link(links: Plain, name: str) -> Any:
    return value_of({"kind": "links", **links}, name)


def _has_caught_up(sides: Sides) -> bool:
    """No client is at the source, and its link has been calm for long enough. AMPS reports no count of waiting
    messages."""
    source = sides.get("source", {})
    return source.get(CLIENTS) == 0 and source.get(LINK) is True


MEANING = Meaning(
    _facets,
    {("set_client_transports", "state"): {"enabled": {SERVES: True}, "disabled": {SERVES: False}}},
    is_exclusive=False,
    drained=_has_caught_up,
)


def instances(lane: LaneFacts, world: Plain) -> Plain:
    """Both instances of the lane's service, by site."""
    found: Plain = world["services"][lane.service]["instances"]
    return found


def made_by(action: str, args: Plain) -> str:
    """The state of an instance after it has obeyed the action."""
    return MADE[action, next(iter(args.values()))]


def is_made(instance: Plain, what: str) -> bool:
    """Is the instance in the state ``what``? The client transports of an instance that is down are shut. Its other states
    cannot be disproved."""
    if what in DOORS:
        return all(instance["doors"]) if what == "open" else not any(instance["doors"])
    if instance["phase"] == "down":
        return True
    return bool(
        {
            "sync": instance["sync"],
            "async": not instance["sync"],
            "proxied": instance["proxied"],
            "unproxied": not instance["proxied"],
        }[what]
    )


def is_foreign(case: Case, lane: LaneFacts, world: Plain, site: str, what: str) -> bool:
    """Did anything but our commands last change this state (open or closed, sync or async, …) of the site since the run
    started? A start brings an instance back as it is configured."""
    kind = next(kind for kind in _KINDS if what in kind)
    last = [one for one in changes_since(case, lane, world) if one[1] == site and one[2] in kind][-1:]
    return bool(last) and last[0][3] != "command"


def foreign_changes(case: Case, lane: LaneFacts, world: Plain) -> list[Sequence[Any]]:
    """The changes since the run started that no command of ours made."""
    return [one for one in changes_since(case, lane, world) if one[3] != "command"]


def stranding_changes(case: Case, lane: LaneFacts, world: Plain) -> list[Sequence[Any]]:
    """The foreign changes that can strand messages: clients are let in, or publishers no longer wait. Shutting clients
    out, waiting again and switching proxied transfer strand nothing."""
    return [one for one in foreign_changes(case, lane, world) if one[2] in ("open", "async")]


def is_async(both: Plain) -> bool:
    """True if the configuration of either link lets a publisher hear that a message is safe before the mate has it."""
    return not all(one["configured_sync"] for one in both.values())
