"""The Solace nodes of one site, controlled over SEMP."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, ClassVar, TypeAlias, cast

from adapters.http.exchange import Limits, Request
from adapters.http.options import HttpOptions, origin_of, proof_of, trust_of
from adapters.solace.fencing import SET_BACKBONE, backbone_spec, shut_interface
from adapters.solace.semp.actions import ACTIONS, interface_change, perform
from adapters.solace.semp.browsing import browse_endpoint, count_endpoint, list_endpoints
from adapters.solace.semp.client import SempReader, only_reads
from adapters.solace.semp.envelope import text_in
from adapters.solace.semp.explaining import EXPLANATION
from adapters.solace.semp.nodes import Node
from adapters.solace.semp.paths import path_of
from adapters.solace.semp.readings import (
    queue_lines,
    read_queues,
    read_replication,
    read_transactions,
    replication_lines,
    transaction_lines,
)
from adapters.solace.semp.site_readings import (
    endpoint_lines,
    fence_lines,
    platform_lines,
    read_endpoints,
    read_fence,
    read_platform,
)
from adapters.solace.semp.v1 import SHOW_MESSAGE_SPOOL, SHOW_REDUNDANCY, line_of
from adapters.solace.serving import ONLY_WHILE_SERVING
from adapters.solace.site_adapter import Reads, SiteAdapter
from orchestrator.errors import (
    AdapterError,
    CommandRejected,
    CommandTimedOut,
    ConnectionLost,
    Forbidden,
    Unreachable,
    UnreadableReply,
)
from orchestrator.family.contract import (
    EVERY_NODE,
    ActionSpec,
    AdapterContext,
    Call,
    Permit,
    ReadingSpec,
    Result,
    read_options,
)
from orchestrator.model.exchanges import Explanation
from orchestrator.model.inventory import Device, Site
from orchestrator.model.outcome import Effect

if TYPE_CHECKING:
    from adapters.http.session import Transport


class SempOptions(HttpOptions):
    """The ``options`` of a site for this adapter."""


Wire: TypeAlias = "Callable[[Device], Transport | None]"
_READS: Reads[SempReader] = Reads(
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
# docs/sources/solace.md, 1.6: the attributes of replication are public since this version.
_OLDEST = (2, 12)
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


def _reading(name: str, summary: str, lines: Callable[[Sequence[str]], Sequence[str]]) -> ReadingSpec:
    who = [line_of(SHOW_REDUNDANCY)]
    after = who if name in ONLY_WHILE_SERVING else []
    return ReadingSpec(name, summary, lambda services: [*who, *lines(services), *after])


class SolaceSempAdapter(SiteAdapter[Node, SempReader]):
    """The contract's adapter for Solace PubSub+ over SEMP.

    ``wire`` may give each device another transport. ``random`` spreads the pauses between attempts. Tests replace both.
    Raises ``DefinitionError`` for options that cannot be used.
    """

    name: ClassVar[str] = "solace-semp"
    readings: ClassVar[Mapping[str, ReadingSpec]] = {
        "replication": _reading(
            "replication", "Replication state of the message VPN as this site sees it", replication_lines
        ),
        "replication_queue": _reading(
            "replication_queue", "Messages in the replication queue, held for the mate", queue_lines
        ),
        "transactions": _reading(
            "transactions", "Transactions of the message VPN, in every state", transaction_lines
        ),
        "health": _reading(
            "health",
            "Which node serves, and whether its message spool is active",
            lambda _: [line_of(SHOW_MESSAGE_SPOOL)],
        ),
        "fence": ReadingSpec(
            "fence", "Whether clients can connect, for every node", lambda _: fence_lines(), place=EVERY_NODE
        ),
        "endpoints": _reading("endpoints", "Number and age of the messages in durable endpoints", endpoint_lines),
        "platform": _reading("platform", "Version, modes, mate and clock of the node", lambda _: platform_lines()),
    }
    actions: ClassVar[Mapping[str, ActionSpec]] = ACTIONS
    explanation: ClassVar[Explanation] = EXPLANATION

    def __init__(
        self, site: Site, context: AdapterContext, *, wire: Wire | None = None, random: Random | None = None
    ) -> None:
        options = read_options(site, SempOptions, adapter=self.name)
        trust, proof = trust_of(options), proof_of(site, options, context.secrets)
        allows = only_reads if context.read_only else _anything
        spread = random or Random()

        # httpx is loaded only for a connection, not to show what the adapter can do.
        from adapters.http.session import HttpSession

        def node(device: Device) -> Node:
            session = HttpSession(
                device.name,
                origin_of(device, options),
                proof=proof,
                trust=trust,
                limits=Limits(connect_s=site.connect_timeout, exchange_s=site.command_timeout),
                clock=context.clock,
                allows=allows,
                transport=None if wire is None else wire(device),
                witness=context.witness,
            )
            return Node(device, site, session, clock=context.clock, random=spread, read_only=context.read_only)

        super().__init__(site, context, [node(device) for device in site.devices], _READS)

    @classmethod
    def fitted(cls, site: Site) -> type[SolaceSempAdapter]:
        """The class for ``site``. If its fence plan shuts an interface, plans show that."""
        interface = shut_interface(site)
        if interface is None:
            return cls
        spec = backbone_spec(lambda call: (interface_change(interface, call).line,))
        fence = replace(cls.readings["fence"], commands=lambda _: fence_lines(interface))
        own = {"actions": {**ACTIONS, spec.name: spec}, "readings": {**cls.readings, fence.name: fence}}
        return cast("type[SolaceSempAdapter]", type(cls.__name__, (cls,), own))

    def open(self) -> None:
        """Read the version of every node. Raises if a node refuses the account, cannot be trusted or is too old, or if
        all nodes are unreachable."""
        silent: list[AdapterError] = []
        for node in self._nodes:
            try:
                _check_version(node)
            except (ConnectionLost, CommandTimedOut) as error:
                # Only the node's version was read, so a port without an answer means an unreachable node.
                silent.append(Unreachable(str(error), device=error.device, hint=error.hint))
            except (Unreachable, UnreadableReply) as error:
                silent.append(error)
        if len(silent) == len(self._site.devices):
            raise silent[0]

    def _asked(self, node: Node) -> SempReader:
        return node.reader

    def _attempt(self, node: Node, action: str, call: Call, permit: Permit) -> Result:
        if node.writer is None:
            raise Forbidden("this session is read-only", device=node.device.name)
        interface = shut_interface(self._site) if action == SET_BACKBONE else None
        change = None if interface is None else interface_change(interface, call)
        return perform(node.writer, action, call, permit, change=change)

    def _broken(self, node: Node, result: Result) -> str:
        return f"the result of a change on {node.device.name} is unknown" if result.effect is Effect.DOUBTFUL else ""

    def close(self) -> None:
        """End every session."""
        for node in self._nodes:
            node.close()


def _anything(request: Request) -> bool:
    return True


def _check_version(node: Node) -> None:
    name = node.device.name
    found = node.reader.one(path_of("monitor", "about", "api"), select=("sempVersion",))
    version = text_in(found.data, "sempVersion") or ""
    numbers = version.split(".")
    is_told = len(numbers) >= 2 and all(_NUMBER.fullmatch(part) for part in numbers[:2])
    if is_told and (int(numbers[0]), int(numbers[1])) < _OLDEST:
        raise CommandRejected(
            f"{name} speaks SEMP {version}, which does not report replication",
            device=name,
            hint="SEMP 2.12 is needed; use solace-cli for this site",
        )
