"""One node of the world, as its management shows it: the implementation of ``appliance.Appliance``.

Every question first brings the world up to now. A node hides what it cannot know and refuses what it may not do while
its HA mate serves. On a node without the active spool the replication queue shows 0. This 0 does not mean that the
queue is drained.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator.errors import Unreachable
from simulator.solace.appliance import (
    BridgeName,
    ClientView,
    EndpointKind,
    EndpointView,
    MessageView,
    Outcome,
    PlatformView,
    QueueView,
    RedundancyView,
    Refused,
    RoleName,
    SpoolNotActive,
    TransactionView,
    VpnReplication,
)
from simulator.solace.fault_injection import Seen
from simulator.solace.vpn import Vpn

if TYPE_CHECKING:
    from simulator.solace.centre import Centre
    from simulator.solace.world import World

INTERFACE = "1/1/lag1"  # the only interface of each simulated node


class SimulatedAppliance:
    """One node. Besides the errors of the protocol, each method raises ``Unreachable`` while the management is away."""

    def __init__(self, world: World, site: str, node: str) -> None:
        self._world = world
        self._site = site
        self._node = node

    @property
    def router_name(self) -> str:
        return self._node

    def vpn_names(self) -> Sequence[str]:
        with self._world.request():
            self._reach()
            return self._world.vpn_names

    def replication(self, vpn: str) -> VpnReplication:
        with self._world.request():
            found = self._read("replication", vpn).replication(self._site)
            if self._serves:
                return found
            idle: BridgeName | None = None if found.local_bridge is None else "down"
            off = None if found.queue_bound is None else False
            return replace(found, local_bridge=idle, remote_bridge_up=off, queue_bound=off, sync_eligible=off)

    def replication_queue(self, vpn: str) -> QueueView:
        with self._world.request():
            found = self._read("replication_queue", vpn).replication_queue(self._site)
            if self._world.centre(self._site).is_stalled:
                raise SpoolNotActive
            return found if self._serves else replace(found, messages=0, usage_mb=0.0, high_water_mb=0.0)

    def transactions(self, vpn: str) -> Sequence[TransactionView]:
        with self._world.request():
            found = self._read("transactions", vpn).transactions(self._site)
            return found if self._serves else []

    def redundancy(self) -> RedundancyView:
        with self._world.request():
            self._reach()
            self._world.notice(Seen("read", self._site, "redundancy"))
            self._reach()
            return self._world.centre(self._site).redundancy(self._node, self._world.now())

    def set_role(self, vpn: str, role: RoleName) -> None:
        self._obey("set_role", vpn, {"role": role}, lambda found: found.set_role(self._site, role))

    def set_msg_backbone(self, *, up: bool) -> None:
        """Open or shut this node's message backbone for clients and bridges. A node that does not serve obeys too."""
        self._shut_or_open("set_backbone", up, lambda centre: centre.set_backbone(self._node, up=up))

    def set_interface(self, name: str, *, up: bool) -> None:
        """Enable or disable the interface of the message backbone. Raises ``Refused`` for an unknown interface."""
        if name not in self.interfaces():
            raise Refused(f"interface {name} does not exist")
        self._shut_or_open("set_interface", up, lambda centre: centre.set_interface(self._node, up=up))

    def interfaces(self) -> Mapping[str, bool]:
        """The interfaces by name. True means enabled."""
        with self._world.request():
            self._reach()
            return {INTERFACE: self._world.centre(self._site).node(self._node).interface}

    def _shut_or_open(self, action: str, up: bool, change: Callable[[Centre], bool]) -> None:
        with self._world.request():
            self._reach()
            self._world.remember()
            args = {"state": "up" if up else "down"}
            self._world.notice(Seen("command", self._site, action, self._world.vpn_names, args))
            self._reach()
            centre, changed = self._world.centre(self._site), [False]
            self._world.change(lambda: changed.append(change(centre)))
            for vpn in self._world.vpn_names:
                self._world.vpn(vpn).ledger.note_command(self._site, action, args, effect=changed[-1])

    def set_reject_on_discard(self, vpn: str, *, enabled: bool) -> None:
        args = {"enabled": "yes" if enabled else "no"}
        self._obey("set_reject_on_discard", vpn, args, lambda found: found.set_reject_on_discard(enabled=enabled))

    def is_backbone_up(self) -> bool:
        with self._world.request():
            self._reach()
            self._world.notice(Seen("read", self._site, "fence"))
            self._reach()
            return self._world.centre(self._site).node(self._node).backbone

    def clients(self, vpn: str) -> Sequence[ClientView]:
        with self._world.request():
            found = self._read("fence", vpn).clients(self._site)
            return found if self._serves else []

    def endpoints(self, vpn: str) -> Sequence[EndpointView]:
        with self._world.request():
            found = self._read("endpoints", vpn).endpoints(self._site)
            if not self._serves:
                return [replace(one, messages=0, usage_mb=0.0, oldest_id=None, oldest_at=None) for one in found]
            epoch = self._world.epoch
            return [one if one.oldest_at is None else replace(one, oldest_at=epoch(one.oldest_at)) for one in found]

    def messages(
        self, vpn: str, kind: EndpointKind, name: str, after: int | None, count: int
    ) -> Sequence[MessageView]:
        with self._world.request():
            found = self._read("endpoints", vpn).messages(self._site, kind, name, after, count)
            epoch = self._world.epoch
            return [replace(one, spooled_at=epoch(one.spooled_at)) for one in found] if self._serves else []

    def platform(self) -> PlatformView:
        with self._world.request():
            self._reach()
            centres = self._world.centres
            other = next(centre for name, centre in centres.items() if name != self._site)
            mate = centres[self._site].mate(self._node)
            return PlatformView(
                version="10.25.0.217",
                transactions="transacted",
                config_sync_up=other.connects and centres[self._site].connects,
                config_sync_group_up=None if mate is None else mate.up,
                mate_router=next(iter(other.nodes)),
                clock=self._world.clock_time(),
            )

    def complete_transaction(self, vpn: str, xid: str, outcome: Outcome) -> None:
        def complete(found: Vpn) -> bool:
            found.complete_transaction(self._site, xid, outcome)
            return True

        self._obey("complete_transaction", vpn, {"xid": xid, "outcome": outcome}, complete)

    def delete_transaction(self, vpn: str, xid: str) -> None:
        def delete(found: Vpn) -> bool:
            found.delete_transaction(self._site, xid)
            return True

        self._obey("delete_transaction", vpn, {"xid": xid}, delete)

    def obey(self, action: str, vpn: str, args: Mapping[str, str]) -> None:
        """Run the named action with its arguments as text. Raises ``Refused``, or ValueError for an unknown action."""
        match action, dict(args):
            case "set_role", {"role": "active" | "standby" as role}:
                self.set_role(vpn, role)
            case "set_interface", {"state": "up" | "down" as state}:
                self.set_interface(INTERFACE, up=state == "up")
            case "set_backbone", {"state": "up" | "down" as state}:
                self.set_msg_backbone(up=state == "up")
            case "set_reject_on_discard", {"enabled": "yes" | "no" as enabled}:
                self.set_reject_on_discard(vpn, enabled=enabled == "yes")
            case "complete_transaction", {"xid": str(xid), "outcome": "commit" | "rollback" as outcome}:
                self.complete_transaction(vpn, xid, outcome)
            case "delete_transaction", {"xid": str(xid)}:
                self.delete_transaction(vpn, xid)
            case _:
                raise ValueError(f"the simulated node knows no action {action} with {dict(args)}")

    @property
    def _serves(self) -> bool:
        return self._world.centre(self._site).claims(self._node, self._world.now())

    def _reach(self) -> None:
        if not self._world.centre(self._site).reachable(self._node, self._world.now()):
            raise Unreachable(f"{self._node} does not answer", device=self._node)

    def _read(self, name: str, vpn: str) -> Vpn:
        self._reach()
        self._world.notice(Seen("read", self._site, name, (vpn,)))
        self._reach()
        return self._world.vpn(vpn)

    def _obey(self, action: str, vpn: str, args: Mapping[str, str], effect: Callable[[Vpn], bool]) -> None:
        """Obey a changing command. The account counts the command even if it is refused."""
        with self._world.request():
            self._reach()
            found = self._world.vpn(vpn)
            changed = False
            self._world.remember()
            try:
                self._world.notice(Seen("command", self._site, action, (vpn,), args))
                self._reach()
                # Assumption: without an active spool at the site each node accepts roles, because the procedure sets
                # roles before it checks the spool (docs/sources/solace-procedure.md, uncontrolled 4.1 and 4.2).
                is_role_alone = action == "set_role" and self._world.centre(self._site).is_stalled
                if not self._serves and not is_role_alone:
                    raise Refused(f"{self._node} does not have the active message spool")
                changed = effect(self._world.vpn(vpn))
            finally:
                found.ledger.note_command(self._site, action, args, effect=changed)
