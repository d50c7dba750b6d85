"""One site's Solace nodes, spoken to over SSH and their CLI. It decides nothing, and repeats no change.

Each call of ``probe`` and ``apply`` is one step: it finds the serving node anew, then speaks to that one. Sessions
stay open between calls; nothing that was read does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import ClassVar, TypeVar, cast

from adapters.solace.actions import ACTIONS, Plan, interface_plan, perform
from adapters.solace.browsing import browse_endpoint, count_endpoint, list_endpoints
from adapters.solace.dialogue import Dialogue
from adapters.solace.explaining import EXPLANATION
from adapters.solace.fencing import SET_BACKBONE, backbone_spec, set_backbones
from adapters.solace.idle import configured_roles, gives_up_activity, make_standby
from adapters.solace.names import checked_service
from adapters.solace.nodes import Node
from adapters.solace.readings import Answers, read_queues, read_replication, read_transactions
from adapters.solace.serving import Nodes
from adapters.solace.site_readings import read_endpoints, read_fence, read_platform
from adapters.solace.spec import ONLY_WHILE_SERVING, READINGS, fence_spec
from adapters.ssh.connect import SshConnector
from adapters.ssh.credentials import SshOptions
from adapters.ssh.line import Connect
from adapters.ssh.session import ShellSession
from orchestrator.contract import (
    ActionSpec,
    Call,
    Counted,
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
    AuthenticationFailed,
    Forbidden,
    HostKeyRejected,
    NotObeyed,
    NotServing,
    Unreachable,
)
from orchestrator.exchanges import Explanation
from orchestrator.readings import Reading
from orchestrator.site import Device, Site


class SolaceOptions(SshOptions):
    """What a site's ``options`` may say to this adapter: whether an SSH agent or the usual key files are tried."""


Dial = Callable[[Device], Connect]
T = TypeVar("T")
_READERS = {
    "replication": read_replication,
    "replication_queue": read_queues,
    "transactions": read_transactions,
    "endpoints": read_endpoints,
}


class SolaceCliAdapter:
    """The contract's adapter for Solace PubSub+ over the CLI.

    ``dial`` gives each device's way to a line, and ``random`` spreads the pauses between attempts; both have their
    place in tests. Raises ``DefinitionError`` for options it does not know.
    """

    readings: ClassVar[Mapping[str, ReadingSpec]] = READINGS
    actions: ClassVar[Mapping[str, ActionSpec]] = ACTIONS
    simulated: ClassVar[bool] = False
    family: ClassVar[str] = "solace"
    explanation: ClassVar[Explanation] = EXPLANATION

    def __init__(
        self, site: Site, setting: Setting, *, dial: Dial | None = None, random: Random | None = None
    ) -> None:
        self._site = site
        self._setting = setting
        options = read_options(site, SolaceOptions, adapter="solace-cli")

        def over_ssh(device: Device) -> Connect:
            return SshConnector(device, site, secrets=setting.secrets, clock=setting.clock, options=options)

        way_to = dial or over_ssh
        spread = random or Random()
        self._nodes = Nodes(
            [
                Node(
                    device,
                    site,
                    way_to(device),
                    clock=setting.clock,
                    random=spread,
                    read_only=setting.read_only,
                    witness=setting.witness,
                )
                for device in site.devices
            ],
            site,
        )

    @classmethod
    def fitted(cls, site: Site) -> type[SolaceCliAdapter]:
        """The class for ``site``: where its fence plan shuts an interface, plans show that."""
        interface = site.shut_interface
        if interface is None:
            return cls
        spec = replace(backbone_spec(lambda call: interface_plan(interface, call).lines), dialogue=Dialogue)
        fence = fence_spec(interface)
        own = {"actions": {**ACTIONS, spec.name: spec}, "readings": {**READINGS, fence.name: fence}}
        return cast("type[SolaceCliAdapter]", type(cls.__name__, (cls,), own))

    def open(self) -> None:
        """Make every node's session. Raises if any refuses the account or shows a wrong key, or if all are away."""
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

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """See ``contract.Adapter``. A name that must not become a command is a failure of that service alone."""
        if reading not in self.readings:
            raise ValueError(f"solace-cli has no reading {reading}")
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
            return configured_roles(self._nodes, services, read_replication)
        read = _READERS[reading](node, services)
        if reading in ONLY_WHILE_SERVING:
            self._nodes.confirm(node)
        return read

    def durable_endpoints(self, service: str) -> Sequence[Endpoint]:
        """See ``contract.Browser``."""
        return self._while_serving(lambda node: list_endpoints(node, checked_service(service)))

    def count(self, endpoint: Endpoint) -> Counted:
        """See ``contract.Browser``."""
        return self._while_serving(lambda node: count_endpoint(node, endpoint))

    def browse(self, endpoint: Endpoint, after: Held | None) -> Iterator[Held]:
        """See ``contract.Browser``. Raises ``NotServing`` at the end if the node stopped serving meanwhile."""
        node = self._nodes.serving(thorough=False)
        yield from browse_endpoint(node, endpoint, after)
        self._nodes.confirm(node)

    def _while_serving(self, read: Callable[[Node], T]) -> T:
        node = self._nodes.serving(thorough=False)
        found = read(node)
        self._nodes.confirm(node)
        return found

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """See ``contract.Adapter``. Read-only, it raises ``Forbidden`` before anything is asked or sent."""
        if action not in ACTIONS:
            raise ValueError(f"solace-cli has no action {action}")
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
            shell = self._serving_shell()
        except NotServing:
            if not gives_up_activity(action, calls):
                raise
            yield from make_standby(
                self._nodes, calls, permit, lambda node, call, p: self._attempt(node, action, call, p)
            )
            return
        for number, call in enumerate(calls, start=1):
            yield perform(shell, action, call, permit)
            if number < len(calls) and not shell.is_connected:
                # The pair may have switched: who serves is a question for a new step, not for a new session.
                raise Unreachable(
                    f"the session with {shell.device.name} broke; {len(calls) - number} more were not sent",
                    device=shell.device.name,
                )

    def _serving_shell(self) -> ShellSession:
        """The serving node's session. Nothing that changes has been sent yet, so no error here is a doubt."""
        try:
            shell = self._nodes.serving(thorough=True).shell
        except NotObeyed:
            raise
        except AdapterError as error:
            raise Unreachable(f"which node serves is not known: {error}", device=error.device) from error
        if shell is None:
            raise Forbidden("this session only reads", device=self._site.name)
        return shell

    def _shut_or_open(self, node: Node, call: Call, permit: Permit) -> Result:
        interface = self._site.shut_interface
        plan = None if interface is None else interface_plan(interface, call)
        return self._attempt(node, SET_BACKBONE, call, permit, plan)

    def _attempt(self, node: Node, action: str, call: Call, permit: Permit, plan: Plan | None = None) -> Result:
        if node.shell is None:
            raise Forbidden("this session only reads", device=node.device.name)
        return perform(node.shell, action, call, permit, plan=plan)

    def close(self) -> None:
        """End every session."""
        for node in self._nodes:
            node.session.close()
