"""The Solace nodes of one site, controlled by their CLI over SSH."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import ClassVar, cast

from adapters.solace.actions import ACTIONS, interface_plan, perform
from adapters.solace.browsing import browse_endpoint, count_endpoint, list_endpoints
from adapters.solace.dialogue import Dialogue
from adapters.solace.explaining import EXPLANATION
from adapters.solace.fencing import SET_BACKBONE, backbone_spec, shut_interface
from adapters.solace.nodes import Node
from adapters.solace.readings import read_queues, read_replication, read_transactions
from adapters.solace.site_adapter import Reads, SiteAdapter
from adapters.solace.site_readings import read_endpoints, read_fence, read_platform
from adapters.solace.spec import READINGS, fence_spec
from adapters.ssh.line import Connect
from adapters.ssh.options import SshOptions
from orchestrator.errors import AuthenticationFailed, Forbidden, HostKeyRejected, Unreachable
from orchestrator.family.contract import ActionSpec, AdapterContext, Call, Permit, ReadingSpec, Result, read_options
from orchestrator.model.exchanges import Explanation
from orchestrator.model.inventory import Device, Site


class SolaceOptions(SshOptions):
    """The ``options`` of a site for this adapter: whether an SSH agent or the usual key files are tried."""


Dial = Callable[[Device], Connect]
_READS: Reads[Node] = Reads(
    services={
        "replication": read_replication,
        "replication_queue": read_queues,
        "transactions": read_transactions,
        "endpoints": read_endpoints,
    },
    fence=read_fence,
    platform=read_platform,
    listed=list_endpoints,
    counted=count_endpoint,
    browsed=browse_endpoint,
)


class SolaceCliAdapter(SiteAdapter[Node, Node]):
    """The contract's adapter for Solace PubSub+ over the CLI.

    ``dial`` returns the connector of a device. ``random`` spreads the pauses between attempts. Tests replace both.
    Raises ``DefinitionError`` for options it does not know.
    """

    name: ClassVar[str] = "solace-cli"
    readings: ClassVar[Mapping[str, ReadingSpec]] = READINGS
    actions: ClassVar[Mapping[str, ActionSpec]] = ACTIONS
    explanation: ClassVar[Explanation] = EXPLANATION
    speaks_ssh: ClassVar[bool] = True

    def __init__(
        self, site: Site, context: AdapterContext, *, dial: Dial | None = None, random: Random | None = None
    ) -> None:
        options = read_options(site, SolaceOptions, adapter=self.name)

        def over_ssh(device: Device) -> Connect:
            # paramiko is loaded only for a connection, not to show what the adapter can do.
            from adapters.ssh.connect import SshConnector

            return SshConnector(device, site, secrets=context.secrets, clock=context.clock, options=options)

        way_to = dial or over_ssh
        spread = random or Random()
        nodes = [
            Node(
                device,
                site,
                way_to(device),
                clock=context.clock,
                random=spread,
                read_only=context.read_only,
                witness=context.witness,
            )
            for device in site.devices
        ]
        super().__init__(site, context, nodes, _READS)

    @classmethod
    def fitted(cls, site: Site) -> type[SolaceCliAdapter]:
        """The class for ``site``. If its fence plan shuts an interface, plans show that."""
        interface = shut_interface(site)
        if interface is None:
            return cls
        spec = replace(backbone_spec(lambda call: interface_plan(interface, call).lines), dialogue=Dialogue)
        fence = fence_spec(interface)
        own = {"actions": {**ACTIONS, spec.name: spec}, "readings": {**READINGS, fence.name: fence}}
        return cast("type[SolaceCliAdapter]", type(cls.__name__, (cls,), own))

    def open(self) -> None:
        """Open the session of every node. Raises if a node refuses the account or shows a wrong key, or if all are
        unreachable."""
        unreachable: list[Unreachable] = []
        for node in self._nodes:
            try:
                node.session.open()
            except (AuthenticationFailed, HostKeyRejected):
                raise
            except Unreachable as error:
                unreachable.append(error)
        if len(unreachable) == len(self._site.devices):
            raise unreachable[0]

    def _asked(self, node: Node) -> Node:
        return node

    def _attempt(self, node: Node, action: str, call: Call, permit: Permit) -> Result:
        if node.shell is None:
            raise Forbidden("this session is read-only", device=node.device.name)
        interface = shut_interface(self._site) if action == SET_BACKBONE else None
        plan = None if interface is None else interface_plan(interface, call)
        return perform(node.shell, action, call, permit, plan=plan)

    def _broken(self, node: Node, result: Result) -> str:
        return "" if node.session.is_connected else f"the session with {node.device.name} was lost"

    def close(self) -> None:
        """End every session."""
        for node in self._nodes:
            node.session.close()
