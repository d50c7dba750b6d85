"""One site's Solace nodes, spoken to over SEMP. It decides nothing, and repeats no change.

Each call of ``probe`` and ``apply`` is one step: it finds the serving node anew, then speaks to that one. Sessions
stay open between calls; nothing that was read does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import ClassVar, TypeVar, cast

from adapters.http.options import HttpOptions, origin_of, proof_of, trust_of
from adapters.http.session import HttpSession, Limits, Request, Transport
from adapters.solace.fencing import SET_BACKBONE, backbone_spec, set_backbones
from adapters.solace.idle import configured_roles, gives_up_activity, make_standby
from adapters.solace.names import checked_service
from adapters.solace.semp.actions import ACTIONS, interface_change, perform
from adapters.solace.semp.browsing import browse_endpoint, count_endpoint, list_endpoints
from adapters.solace.semp.client import ChangeV1, SempReader, SempWriter, only_reads
from adapters.solace.semp.envelope import text_in
from adapters.solace.semp.explaining import EXPLANATION
from adapters.solace.semp.nodes import Node
from adapters.solace.semp.paths import path_of
from adapters.solace.semp.readings import (
    Answers,
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
from adapters.solace.serving import Nodes
from orchestrator.contract import (
    EVERY_NODE,
    ActionSpec,
    Call,
    Counted,
    Effect,
    Endpoint,
    Failure,
    Held,
    Permit,
    ReadingSpec,
    Result,
    Setting,
    read_options,
)
from orchestrator.errors import (
    AdapterError,
    CommandRejected,
    CommandTimedOut,
    ConnectionLost,
    Forbidden,
    NotServing,
    PerhapsObeyed,
    Unreachable,
    UnreadableReply,
)
from orchestrator.exchanges import Explanation
from orchestrator.readings import Reading
from orchestrator.site import Device, Site


class SempOptions(HttpOptions):
    """What a site's ``options`` may say to this adapter."""


T = TypeVar("T")
Wire = Callable[[Device], Transport | None]
_READERS = {
    "replication": read_replication,
    "replication_queue": read_queues,
    "transactions": read_transactions,
    "endpoints": read_endpoints,
}
# Readings of the message spool, which a member that does not serve shows as empty: who serves is asked again after.
_ONLY_WHILE_SERVING = frozenset({"replication_queue", "transactions", "endpoints"})
# facts/solace.md section 1.6: what replication shows is public since then.
_OLDEST = (2, 12)
_NUMBER = re.compile(r"\d{1,9}", re.ASCII)


def _reading(name: str, summary: str, lines: Callable[[Sequence[str]], Sequence[str]]) -> ReadingSpec:
    who = [line_of(SHOW_REDUNDANCY)]
    after = who if name in _ONLY_WHILE_SERVING else []
    return ReadingSpec(name, summary, lambda services: [*who, *lines(services), *after])


class SolaceSempAdapter:
    """The contract's adapter for Solace PubSub+ over SEMP.

    ``wire`` may give each device another transport, and ``random`` spreads the pauses between attempts; both have
    their place in tests. Raises ``DefinitionError`` for options that cannot be used.
    """

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
            "health", "Which node serves, and whether its message spool does", lambda _: [line_of(SHOW_MESSAGE_SPOOL)]
        ),
        "fence": ReadingSpec(
            "fence", "Whether clients can connect, for every node", lambda _: fence_lines(), place=EVERY_NODE
        ),
        "endpoints": _reading("endpoints", "What the durable endpoints hold, and how old it is", endpoint_lines),
        "platform": _reading("platform", "Version, modes, mate and clock of the node", lambda _: platform_lines()),
    }
    actions: ClassVar[Mapping[str, ActionSpec]] = ACTIONS
    simulated: ClassVar[bool] = False
    family: ClassVar[str] = "solace"
    explanation: ClassVar[Explanation] = EXPLANATION

    def __init__(
        self, site: Site, setting: Setting, *, wire: Wire | None = None, random: Random | None = None
    ) -> None:
        self._site = site
        self._setting = setting
        options = read_options(site, SempOptions, adapter="solace-semp")
        trust, proof = trust_of(options), proof_of(site, options, setting.secrets)
        allows = only_reads if setting.read_only else _anything
        spread = random or Random()

        def node(device: Device) -> Node:
            session = HttpSession(
                device.name,
                origin_of(device, options),
                proof=proof,
                trust=trust,
                limits=Limits(connect_s=site.connect_timeout, exchange_s=site.command_timeout),
                clock=setting.clock,
                allows=allows,
                transport=None if wire is None else wire(device),
                witness=setting.witness,
            )
            return Node(device, site, session, clock=setting.clock, random=spread, read_only=setting.read_only)

        self._nodes = Nodes([node(device) for device in site.devices], site)

    @classmethod
    def fitted(cls, site: Site) -> type[SolaceSempAdapter]:
        """The class for ``site``: where its fence plan shuts an interface, plans show that."""
        interface = site.shut_interface
        if interface is None:
            return cls
        spec = backbone_spec(lambda call: (interface_change(interface, call).line,))
        fence = replace(cls.readings["fence"], commands=lambda _: fence_lines(interface))
        own = {"actions": {**ACTIONS, spec.name: spec}, "readings": {**cls.readings, fence.name: fence}}
        return cast("type[SolaceSempAdapter]", type(cls.__name__, (cls,), own))

    def open(self) -> None:
        """Speak to every node. Raises if any refuses the account, cannot be trusted or is too old, or if all are
        away."""
        silent: list[AdapterError] = []
        for node in self._nodes:
            try:
                _check_version(node)
            except (ConnectionLost, CommandTimedOut) as error:
                # Nothing was asked but who it is: a port behind which nobody answers is a node out of reach.
                silent.append(Unreachable(str(error), device=error.device, hint=error.hint))
            except (Unreachable, UnreadableReply) as error:
                silent.append(error)
        if len(silent) == len(self._site.devices):
            raise silent[0]

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """See ``contract.Adapter``. A name that must not become a request is a failure of that service alone."""
        if reading not in self.readings:
            raise ValueError(f"solace-semp has no reading {reading}")
        answers: Answers = {}
        for service in services:
            try:
                checked_service(service)
            except Forbidden as error:
                answers[service] = Failure.of(error)
        asked = [service for service in dict.fromkeys(services) if service not in answers]
        return answers | self._probe(reading, asked) if asked else answers

    def _probe(self, reading: str, services: Sequence[str]) -> Answers:
        match reading:
            case "health":
                return dict.fromkeys(services, self._nodes.health())
            case "fence":
                return dict.fromkeys(services, read_fence(self._nodes, self._site.shut_interface))
            case "platform":
                node = self._nodes.serving(thorough=False)
                return dict.fromkeys(services, read_platform(node, is_pair=len(self._site.devices) > 1))
        try:
            node = self._nodes.serving(thorough=False)
        except NotServing:
            if reading != "replication":
                raise
            return configured_roles(self._nodes, services, lambda one, asked: read_replication(one.reader, asked))
        read = _READERS[reading](node.reader, services)
        if reading in _ONLY_WHILE_SERVING:
            self._nodes.confirm(node)
        return read

    def durable_endpoints(self, service: str) -> Sequence[Endpoint]:
        """See ``contract.Browser``."""
        return self._while_serving(lambda reader: list_endpoints(reader, checked_service(service)))

    def count(self, endpoint: Endpoint) -> Counted:
        """See ``contract.Browser``."""
        return self._while_serving(lambda reader: count_endpoint(reader, endpoint))

    def browse(self, endpoint: Endpoint, after: Held | None) -> Iterator[Held]:
        """See ``contract.Browser``. Raises ``NotServing`` at the end if the node stopped serving meanwhile."""
        node = self._nodes.serving(thorough=False)
        yield from browse_endpoint(node.reader, endpoint, after)
        self._nodes.confirm(node)

    def _while_serving(self, read: Callable[[SempReader], T]) -> T:
        node = self._nodes.serving(thorough=False)
        found = read(node.reader)
        self._nodes.confirm(node)
        return found

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """See ``contract.Adapter``. Read-only, it raises ``Forbidden`` before anything is asked or sent."""
        if action not in ACTIONS:
            raise ValueError(f"solace-semp has no action {action}")
        if self._setting.read_only:
            raise Forbidden(
                f"{action} is not done: this session with {self._site.name or 'the site'} only reads",
                device=self._site.name,
            )
        if action == SET_BACKBONE:
            return set_backbones(list(self._nodes), calls, permit, self._shut_or_open)
        return self._apply(action, calls, permit)

    def _apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        if not calls:
            return
        try:
            writer = self._serving_writer()
        except NotServing:
            if not gives_up_activity(action, calls):
                raise
            yield from make_standby(
                self._nodes, calls, permit, lambda node, call, p: self._attempt(node, action, call, p)
            )
            return
        for number, call in enumerate(calls, start=1):
            result = perform(writer, action, call, permit)
            yield result
            if result.effect is Effect.DOUBTFUL and number < len(calls):
                # The pair may have switched: who serves is a question for a new step.
                raise Unreachable(
                    f"{writer.device} left a change in doubt; {len(calls) - number} more were not sent",
                    device=writer.device,
                )

    def _serving_writer(self) -> SempWriter:
        """The serving node. Nothing that changes has been sent yet, so no error here is a doubt."""
        try:
            writer = self._nodes.serving(thorough=True).writer
        except PerhapsObeyed as error:
            raise Unreachable(f"which node serves is not known: {error}", device=error.device) from error
        if writer is None:
            raise Forbidden("this session only reads", device=self._site.name)
        return writer

    def _shut_or_open(self, node: Node, call: Call, permit: Permit) -> Result:
        interface = self._site.shut_interface
        change = None if interface is None else interface_change(interface, call)
        return self._attempt(node, SET_BACKBONE, call, permit, change)

    def _attempt(self, node: Node, action: str, call: Call, permit: Permit, change: ChangeV1 | None = None) -> Result:
        if node.writer is None:
            raise Forbidden("this session only reads", device=node.device.name)
        return perform(node.writer, action, call, permit, change=change)

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
            f"{name} speaks SEMP {version}, which does not tell of replication",
            device=name,
            hint="SEMP 2.12 is needed; use solace-cli for this site",
        )
