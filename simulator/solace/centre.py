"""One simulated data centre: its nodes, the node with the message spool, and whether their management is reachable.

docs/sources/solace-procedure.md, uncontrolled 4.2 and docs/sources/solace.md, 2.4 and 3.5. This module has no messages.
Both nodes of an HA pair share one spool, so a switch-over moves and loses no messages. It only interrupts the service.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from orchestrator.errors import DefinitionError
from simulator.solace.appliance import RedundancyView
from simulator.solace.layout import SiteLayout

SpoolName = Literal["AD-Standby", "AD-NotReady"]


@dataclass(slots=True)
class Node:
    """One appliance. ``up``: it has power and a network. Clients and bridges can connect only while both ``backbone`` and
    ``interface`` are on."""

    name: str
    up: bool = True
    backbone: bool = True
    interface: bool = True


class Centre:
    """One site. ``serving`` is the node with the active message spool, or None while no node has it."""

    __slots__ = ("full", "layout", "nodes", "serving", "split_until", "taking", "unreachable_until")

    def __init__(self, layout: SiteLayout) -> None:
        self.layout = layout
        self.nodes = {name: Node(name) for name in layout.nodes}
        self.serving: str | None = layout.nodes[0]
        self.taking: str | None = None  # the node that is about to serve
        self.full = False
        self.split_until = 0.0  # until then both nodes say that they serve
        self.unreachable_until = 0.0  # management network only; clients and bridges are not affected

    @property
    def serves(self) -> bool:
        """Does a node have the active message spool?"""
        return self.serving is not None

    @property
    def is_stalled(self) -> bool:
        """True if no node has the active message spool and no node is taking it over."""
        return self.serving is None and self.taking is None

    @property
    def connects(self) -> bool:
        """Does a node serve, and can clients and bridges connect to it?"""
        return self.serving is not None and self.nodes[self.serving].backbone and self.nodes[self.serving].interface

    def set_backbone(self, name: str, *, up: bool) -> bool:
        """Open or shut the message backbone of one node. Returns False if it had that state already
        (docs/sources/solace.md, 1.5: not config-synced)."""
        node = self.node(name)
        changed, node.backbone = node.backbone is not up, up
        return changed

    def set_interface(self, name: str, *, up: bool) -> bool:
        """Open or shut the interface of one node. Returns False if it had that state already."""
        node = self.node(name)
        changed, node.interface = node.interface is not up, up
        return changed

    def node(self, name: str) -> Node:
        """The node by its name. Raises ``DefinitionError`` for an unknown node."""
        if name not in self.nodes:
            known = ", ".join(self.nodes)
            raise DefinitionError(f"the simulated site {self.layout.name} has no node {name}; it has {known}")
        return self.nodes[name]

    def mate(self, name: str) -> Node | None:
        """The other node of the HA pair, or None for a single node."""
        return next((node for node in self.nodes.values() if node.name != name), None)

    def reachable(self, name: str, now: float) -> bool:
        """Does the node's management answer?"""
        return self.node(name).up and now >= self.unreachable_until

    def claims(self, name: str, now: float) -> bool:
        """Does the node say that it serves? During a split both do."""
        return self.serving == name or (self.node(name).up and now < self.split_until)

    def redundancy(self, name: str, now: float) -> RedundancyView:
        """The output of ``show redundancy`` on this node."""
        mate = self.mate(name)
        first = next(iter(self.nodes))
        claims = self.claims(name, now)
        linked = mate is not None and mate.up
        return RedundancyView(
            configured=mate is not None,
            up=linked and self.serves,
            role="Primary" if name == first else "Backup",
            mate_router_name="" if mate is None else mate.name,
            mate_link_up=linked,
            activity="Local Active" if claims else "Mate Active" if self._mate_serves(mate) else "Local Inactive",
            spool="AD-Active" if claims else "AD-Activating" if self.taking == name else self._resting(mate),
        )

    def _mate_serves(self, mate: Node | None) -> bool:
        return mate is not None and self.serving == mate.name

    def _resting(self, mate: Node | None) -> SpoolName:
        return "AD-Standby" if self._mate_serves(mate) else "AD-NotReady"

    def fail(self, name: str) -> str | None:
        """A node dies. Returns the node that now must take over, if any."""
        self.node(name).up = False
        if name not in (self.serving, self.taking):
            return None
        self.serving = None
        return self._take(self.mate(name))

    def switch(self) -> str | None:
        """The HA mate of the serving node takes over. Returns the mate. Without a mate that is up, returns None and
        changes nothing."""
        mate = None if self.serving is None else self.mate(self.serving)
        if mate is None or not mate.up:
            return None
        self.serving = None
        return self._take(mate)

    def stall(self) -> None:
        """The spool is not ready on any node. The management of the nodes still answers
        (docs/sources/solace-procedure.md, uncontrolled 4.2)."""
        self.serving = self.taking = None

    def recover(self, name: str) -> str | None:
        """A node comes back. Returns its name if it must take over, because no node serves."""
        node = self.node(name)
        node.up = True
        return self._take(node) if self.serving is None and self.taking is None else None

    def serve(self, name: str) -> None:
        """Finish the take-over by the node, unless the node died meanwhile."""
        if self.taking == name:
            self.serving, self.taking = name, None

    def fill(self) -> None:
        """The spool is full."""
        self.full = True

    def store_again(self) -> None:
        """There is room in the spool again."""
        self.full = False

    def _take(self, node: Node | None) -> str | None:
        self.taking = node.name if node is not None and node.up else None
        return self.taking

    def dump(self) -> dict[str, Any]:
        """Plain data for the world's file."""
        return {
            "up": {node.name: node.up for node in self.nodes.values()},
            "backbone": {node.name: node.backbone for node in self.nodes.values()},
            "interface": {node.name: node.interface for node in self.nodes.values()},
            "serving": self.serving,
            "taking": self.taking,
            "full": self.full,
            "split_until": self.split_until,
            "unreachable_until": self.unreachable_until,
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Load the data of ``dump``. Raises KeyError, TypeError or ValueError for other data."""
        self.nodes = {
            name: Node(name, bool(data["up"][name]), bool(data["backbone"][name]), bool(data["interface"][name]))
            for name in self.layout.nodes
        }
        self.serving = data["serving"]
        self.taking = data["taking"]
        self.full = bool(data["full"])
        self.split_until = float(data["split_until"])
        self.unreachable_until = float(data["unreachable_until"])
