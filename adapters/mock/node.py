"""One node of the world, as its management shows it: the implementation of ``appliance.Appliance``.

Every question first lets pass what was to happen until now. What a node cannot know, or may not do while its HA mate
serves, it does not: on a node without the active spool the replication queue shows 0, which must never be taken for a
drained one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from adapters.mock.appliance import (
    BridgeName,
    Outcome,
    QueueView,
    RedundancyView,
    Refused,
    RoleName,
    TransactionView,
    VpnReplication,
)
from adapters.mock.mischief import Seen
from adapters.mock.vpn import Vpn
from orchestrator.errors import Unreachable

if TYPE_CHECKING:
    from adapters.mock.world import World


class SimulatedAppliance:
    """One node. Beyond what the protocol says, each method raises ``Unreachable`` while its management is away."""

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
        """The action by its name, with its arguments as text. Raises ``Refused``, ValueError for an unknown one."""
        match action, dict(args):
            case "set_role", {"role": "active" | "standby" as role}:
                self.set_role(vpn, role)
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
        """Obey a changing command; the account counts it even when it is refused."""
        with self._world.request():
            self._reach()
            found = self._world.vpn(vpn)
            changed = False
            self._world.remember()
            try:
                self._world.notice(Seen("command", self._site, action, (vpn,), args))
                self._reach()
                if not self._serves:
                    raise Refused(f"{self._node} does not have the active message spool")
                changed = effect(self._world.vpn(vpn))
            finally:
                found.ledger.note_command(self._site, action, args, effect=changed)
