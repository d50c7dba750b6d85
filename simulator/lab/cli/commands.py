"""The commands that change modes or the node: ``configure``, ``admin`` and the commands below them.

The tree is data: a door leads one mode deeper, a deed changes the appliance. A line may pass several doors before its
deed (``replication state standby`` in message-vpn mode, docs/sources/solace.md, 3.8). The session then stays in its
mode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from simulator.lab.cli.plans import Invalid, Place, Plan, is_pattern, options
from simulator.lab.edition import Edition
from simulator.solace.appliance import Appliance, Refused

Path = tuple[str, ...]

VPN: Path = ("configure", "message-vpn")
REPLICATION: Path = (*VPN, "replication")
QUEUE: Path = (*REPLICATION, "queue")
SERVICE: Path = ("configure", "service")
BACKBONE: Path = (*SERVICE, "msg-backbone")
SPOOL: Path = ("admin", "message-spool")
INTERFACE: Path = ("configure", "interface")
_PLAIN_DOORS = {(VPN, "replication"), (REPLICATION, "queue"), (SERVICE, "msg-backbone")}  # doors without a name


@runtime_checkable
class Fenceable(Protocol):
    """An appliance that can shut out its clients with ``service msg-backbone shutdown`` (docs/sources/solace.md, 3.9)."""

    def set_msg_backbone(self, *, up: bool) -> None:
        """Raises ``Refused``."""
        ...


@runtime_checkable
class Interfaced(Protocol):
    """An appliance that can shut down its network blade (docs/sources/solace.md, 3.8)."""

    def interfaces(self) -> Mapping[str, bool]:
        """The interfaces by name. True means enabled."""
        ...

    def set_interface(self, name: str, *, up: bool) -> None:
        """Raises ``Refused``."""
        ...


@runtime_checkable
class Suspendable(Protocol):
    """An appliance whose full replication queue may drop messages instead of refusing them
    (docs/sources/solace-procedure.md, uncontrolled 3)."""

    def set_reject_on_discard(self, vpn: str, *, enabled: bool) -> None:
        """Raises ``Refused``."""
        ...


def plan_change(appliance: Appliance, edition: Edition, place: Place, words: Sequence[str]) -> Plan:
    """The plan for a line typed below ``configure`` or ``admin``. Raises ``Invalid``."""
    start, rest, is_negated = place, list(words), False
    while rest:
        if rest[0] == "no" and not is_negated:
            is_negated, rest = True, rest[1:]
            continue
        deed = _DEEDS.get((place.path, rest[0]))
        if deed is not None:
            return _ask_first(edition, deed(appliance, place, rest[1:], is_negated))
        place, rest = _through_door(place, rest)
    if is_negated or place == start:
        raise Invalid
    vpn = place.vpn
    # The VPN must exist before its mode is entered.
    return Plan("mode", lambda: _known(appliance, vpn), place=place)


def _known(appliance: Appliance, vpn: str) -> Sequence[str]:
    if vpn and vpn not in appliance.vpn_names():
        appliance.replication(vpn)  # raises the appliance's own error for an unknown name
    return ()


def _through_door(place: Place, rest: list[str]) -> tuple[Place, list[str]]:
    match place.path, rest:
        case ("configure",), ["message-vpn", vpn, *more] if not is_pattern(vpn):
            return Place(True, VPN, vpn), more
        case ("admin",), ["message-spool", "message-vpn", vpn, *more] if not is_pattern(vpn):
            return Place(True, SPOOL, vpn), more
        case ("configure",), ["interface", name, *more]:
            return Place(True, INTERFACE, interface=name), more
        case ("configure",), ["service", *more]:
            return Place(True, SERVICE), more
        case path, [word, *more] if (path, word) in _PLAIN_DOORS:
            return Place(True, (*path, word), place.vpn), more
        case _:
            raise Invalid


@dataclass(frozen=True, slots=True)
class Change:
    """The effect of a deed. ``name``: an edition uses it to list the commands that ask first. ``warning``: the
    sentence before the question."""

    name: str
    act: Callable[[], None]
    warning: str = "This changes the appliance."  # assumption: only the backbone's own sentence is known


Deed = Callable[[Appliance, Place, Sequence[str], bool], Change]


def _state(appliance: Appliance, place: Place, args: Sequence[str], is_negated: bool) -> Change:
    match args:
        case ["active" | "standby" as role] if not is_negated:
            return Change(f"replication state {role}", lambda: appliance.set_role(place.vpn, role))
        case _:
            raise Invalid


def _complete(outcome: str) -> Deed:
    def deed(appliance: Appliance, place: Place, args: Sequence[str], is_negated: bool) -> Change:
        xid = options(args, valued=["xid"]).get("xid", "")
        if is_negated or not xid:
            raise Invalid

        def act() -> None:
            if outcome == "delete":
                appliance.delete_transaction(place.vpn, xid)
            else:
                appliance.complete_transaction(place.vpn, xid, "commit" if outcome == "commit" else "rollback")

        return Change(f"{outcome}-transaction", act)

    return deed


def _reject(appliance: Appliance, place: Place, args: Sequence[str], is_negated: bool) -> Change:
    if args:
        raise Invalid

    def act() -> None:
        if not isinstance(appliance, Suspendable):
            raise Refused("Error: this simulated appliance cannot change reject-msg-to-sender-on-discard")
        appliance.set_reject_on_discard(place.vpn, enabled=not is_negated)

    return Change("reject-msg-to-sender-on-discard", act)


def _backbone(appliance: Appliance, place: Place, args: Sequence[str], is_negated: bool) -> Change:
    if args:
        raise Invalid

    def act() -> None:
        if not isinstance(appliance, Fenceable):
            raise Refused("Error: this simulated appliance cannot change service msg-backbone")
        appliance.set_msg_backbone(up=is_negated)

    name = "no service msg-backbone shutdown" if is_negated else "service msg-backbone shutdown"
    return Change(name, act, warning="All clients will be disconnected.")


def _interface(appliance: Appliance, place: Place, args: Sequence[str], is_negated: bool) -> Change:
    if args:
        raise Invalid

    def act() -> None:
        if not isinstance(appliance, Interfaced):
            raise Refused("Error: this simulated appliance has no interfaces")
        appliance.set_interface(place.interface, up=is_negated)

    return Change("no interface shutdown" if is_negated else "interface shutdown", act)


def _ask_first(edition: Edition, change: Change) -> Plan:
    def run() -> Sequence[str]:
        change.act()
        return ()  # an obeyed command prints nothing (docs/sources/solace.md, 3.1)

    return Plan("change", run, warning=change.warning if change.name in edition.asks else "")


_DEEDS: dict[tuple[Path, str], Deed] = {
    (REPLICATION, "state"): _state,
    (QUEUE, "reject-msg-to-sender-on-discard"): _reject,
    (BACKBONE, "shutdown"): _backbone,
    (INTERFACE, "shutdown"): _interface,
    (SPOOL, "commit-transaction"): _complete("commit"),
    (SPOOL, "rollback-transaction"): _complete("rollback"),
    (SPOOL, "delete-transaction"): _complete("delete"),
}
