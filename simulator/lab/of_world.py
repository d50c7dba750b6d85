"""The lab of a world: serves its nodes with their scripted faults.

The world itself applies state faults. This module applies the faults of answers, on the wire. Nothing here checks the
world's account.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from simulator.lab.edition import Views
from simulator.lab.server import Credentials, Lab, LabSettings, NodeKey
from simulator.solace.appliance import (
    ClientView,
    EndpointKind,
    EndpointView,
    MessageView,
    Outcome,
    PlatformView,
    QueueView,
    RedundancyView,
    RoleName,
    SpoolNotActive,
    TransactionView,
    VpnReplication,
)
from simulator.solace.fault_injection import Seen
from simulator.solace.world import World
from simulator.ssh.shell import AnswerMishap
from simulator.world.fault_lines import AnswerFault


def serve_world(
    world: World,
    *,
    directory: Path,
    host: str = "127.0.0.1",
    ports: Mapping[NodeKey, int] | None = None,
    credentials: Credentials | None = None,
    settings: LabSettings | None = None,
) -> Lab:
    """Serve every node of ``world`` on a separate port. The inventory lists the replicated message VPNs.

    This function sets the ``settings`` that connect a lab to its world: ``hold``, ``reachable``, ``approve``,
    ``services``. Raises ``DefinitionError``.
    """
    layout = world.layout
    how = settings if settings is not None else LabSettings()
    nodes = {
        (site.name, node): FaultyAppliance(world, site.name, node, how.edition.views)
        for site in layout.sites
        for node in site.nodes
    }
    tied = replace(
        how,
        hold=world.request,
        reachable=world.reachable,
        approve=lambda site: _approves(world, site),
        services=[vpn.name for vpn in layout.vpns if vpn.replicated],
    )
    return Lab.start(nodes, directory=directory, host=host, ports=ports, credentials=credentials, settings=tied)


def _approves(world: World, site: str) -> bool:
    login = Seen("login", site)
    with world.request():
        fault = world.answer_fault(login)
        world.notice(login)
    return fault is None


class FaultyAppliance:
    """A node of a world with the faults of its answers (``faults.GRAMMAR``) and the changes of ``views``. Use it only
    within a ``request`` of the world."""

    def __init__(self, world: World, site: str, node: str, views: Views | None = None) -> None:
        self._world = world
        self._site = site
        self._views = views if views is not None else Views()
        self._node = world.appliance(site, node)
        self._spoilt: AnswerMishap | None = None

    @property
    def router_name(self) -> str:
        return self._views.router(self._node.router_name)

    def vpn_names(self) -> Sequence[str]:
        return self._node.vpn_names()

    def replication(self, vpn: str) -> VpnReplication:
        self._read("replication", vpn)
        return self._views.row(self._node.replication(vpn))

    def replication_queue(self, vpn: str) -> QueueView:
        self._read("replication_queue", vpn)
        found = self._node.replication_queue(vpn)
        if self._views.asks_spool and self._node.redundancy().spool != "AD-Active":
            raise SpoolNotActive
        return found

    def transactions(self, vpn: str) -> Sequence[TransactionView]:
        self._read("transactions", vpn)
        return self._node.transactions(vpn)

    def redundancy(self) -> RedundancyView:
        self._read("redundancy")
        found = self._node.redundancy()
        mate = found.mate_router_name
        return self._views.node(replace(found, mate_router_name=self._views.router(mate) if mate else mate))

    def is_backbone_up(self) -> bool:
        self._read("fence")
        return self._node.is_backbone_up()

    def clients(self, vpn: str) -> Sequence[ClientView]:
        self._read("fence", vpn)
        return self._node.clients(vpn)

    def endpoints(self, vpn: str) -> Sequence[EndpointView]:
        self._read("endpoints", vpn)
        return self._node.endpoints(vpn)

    def messages(
        self, vpn: str, kind: EndpointKind, name: str, after: int | None, count: int
    ) -> Sequence[MessageView]:
        self._read("endpoints", vpn)
        return self._node.messages(vpn, kind, name, after, count)

    def platform(self) -> PlatformView:
        # Not a reading that faults can hit, because each answer needs the node's clock.
        found = self._node.platform()
        return self._views.platform(replace(found, mate_router=self._views.router(found.mate_router)))

    def set_msg_backbone(self, *, up: bool) -> None:
        if self._arrives("set_backbone", "", {"state": "up" if up else "down"}):
            self._node.set_msg_backbone(up=up)

    def interfaces(self) -> Mapping[str, bool]:
        self._read("fence")
        return self._node.interfaces()

    def set_interface(self, name: str, *, up: bool) -> None:
        if self._arrives("set_interface", "", {"state": "up" if up else "down"}):
            self._node.set_interface(name, up=up)

    def set_reject_on_discard(self, vpn: str, *, enabled: bool) -> None:
        if self._arrives("set_reject_on_discard", vpn, {"enabled": "yes" if enabled else "no"}):
            self._node.set_reject_on_discard(vpn, enabled=enabled)

    def set_role(self, vpn: str, role: RoleName) -> None:
        if self._arrives("set_role", vpn, {"role": role}):
            self._node.set_role(vpn, role)

    def complete_transaction(self, vpn: str, xid: str, outcome: Outcome) -> None:
        if self._arrives("complete_transaction", vpn, {"xid": xid, "outcome": outcome}):
            self._node.complete_transaction(vpn, xid, outcome)

    def delete_transaction(self, vpn: str, xid: str) -> None:
        if self._arrives("delete_transaction", vpn, {"xid": xid}):
            self._node.delete_transaction(vpn, xid)

    def take_spoilt(self) -> AnswerMishap | None:
        """The fault of the answer to the last obeyed line. Each fault is returned once."""
        spoilt, self._spoilt = self._spoilt, None
        return spoilt

    def _read(self, name: str, *vpns: str) -> None:
        # One line may read many message VPNs, but its answer can have only one fault.
        fault = None if self._spoilt else self._world.answer_fault(Seen("read", self._site, name, vpns))
        if fault is not None:
            self._spoilt = "shortened" if fault.kind == "truncate reply" else _mishap(fault)

    def _arrives(self, action: str, vpn: str, args: Mapping[str, str]) -> bool:
        """Is the command obeyed now? If not, it is lost or delayed."""
        vpns = (vpn,) if vpn else self._world.vpn_names
        fault = self._world.answer_fault(Seen("command", self._site, action, vpns, args))
        if fault is None:
            return True
        self._spoilt = _mishap(fault)
        if fault.kind == "late":
            self._world.obey_later(self._site, self._node.router_name, action, args, vpn, fault.late)
        return fault.kind not in ("late", "lose request")


def _mishap(fault: AnswerFault) -> AnswerMishap:
    match fault.kind:
        case "lose reply":
            return "drop-after"
        case "truncate reply":
            return "cut-short"  # a command has an empty answer, so only its prompt can be cut
        case "garbage reply":
            return "garbage"
        case _:
            return "freeze-after"  # lost or late: no answer
