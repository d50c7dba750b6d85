"""The common part of the CLI adapter and the SEMP adapter of a Solace site. It decides nothing and repeats no change.

Each call of ``probe`` and ``apply`` is one step: it finds the serving node first, then uses that node. Sessions stay
open between calls. Readings are not kept.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

from adapters.solace.fencing import SET_BACKBONE, set_backbones, shut_interface
from adapters.solace.idle import configured_roles, gives_up_activity, make_standby
from adapters.solace.names import checked_service
from adapters.solace.reading_models import Fence, NodeFence, Platform
from adapters.solace.serving import ONLY_WHILE_SERVING, Askable, Nodes
from orchestrator.errors import AdapterError, Forbidden, NotObeyed, NotServing, Unreachable
from orchestrator.family.contract import (
    ActionSpec,
    AdapterContext,
    BrowsedMessage,
    Call,
    Endpoint,
    EndpointStats,
    Permit,
    ReadingSpec,
    Result,
)
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading

Answers = dict[str, Reading | Failure]
N = TypeVar("N", bound=Askable)
A = TypeVar("A")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reads(Generic[A]):
    """The functions that read one node. ``services``: by reading, those for many services. Each raises
    ``AdapterError``."""

    services: Mapping[str, Callable[[A, Sequence[str]], Answers]]
    fence: Callable[[A, str | None], NodeFence]
    platform: Callable[[A, bool], Platform]
    listed: Callable[[A, str], Sequence[Endpoint]]
    counted: Callable[[A, Endpoint], EndpointStats]
    browsed: Callable[[A, Endpoint, BrowsedMessage | None], Iterator[BrowsedMessage]]


class SiteAdapter(ABC, Generic[N, A]):
    """Chooses the nodes of a site for each reading and action. A subclass knows how to talk to one node ``N``; the
    node's readings are read from an ``A``."""

    name: ClassVar[str]
    readings: ClassVar[Mapping[str, ReadingSpec]]
    actions: ClassVar[Mapping[str, ActionSpec]]
    simulated: ClassVar[bool] = False
    family: ClassVar[str] = "solace"

    def __init__(self, site: Site, context: AdapterContext, nodes: Sequence[N], reads: Reads[A]) -> None:
        self._site = site
        self._context = context
        self._nodes = Nodes(nodes, site)
        self._reads = reads

    @abstractmethod
    def _asked(self, node: N) -> A:
        """The object from which the readings of ``node`` are read."""

    @abstractmethod
    def _attempt(self, node: N, action: str, call: Call, permit: Permit) -> Result:
        """One attempt at one node. Raises ``Forbidden`` when the session only reads, or when ``permit`` refuses."""

    @abstractmethod
    def _broken(self, node: N, result: Result) -> str:
        """Why no further call is sent to ``node`` after ``result``; empty if calls are still sent."""

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """See ``contract.Adapter``. A name that must not become a command is a failure of that service alone."""
        if reading not in self.readings:
            raise ValueError(f"{self.name} has no reading {reading}")
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
                return dict.fromkeys(services, self._fence())
            case "platform":
                asked = self._asked(self._nodes.serving(thorough=False))
                return dict.fromkeys(services, self._reads.platform(asked, len(self._site.devices) > 1))
        read = self._reads.services[reading]
        try:
            node = self._nodes.serving(thorough=False)
        except NotServing:
            if reading != "replication":
                raise
            return configured_roles(self._nodes, services, lambda node, names: read(self._asked(node), names))
        answers = read(self._asked(node), services)
        if reading in ONLY_WHILE_SERVING:
            self._nodes.confirm(node)
        return answers

    def _fence(self) -> Fence:
        """The fence state of every node, serving or not, because it is not config-synced. A node that cannot be asked
        is unknown.

        Raises ``AdapterError`` if no node can be asked.
        """
        fences: list[NodeFence] = []
        errors: list[AdapterError] = []
        for node in self._nodes:
            try:
                fences.append(self._reads.fence(self._asked(node), shut_interface(self._site)))
            except AdapterError as error:
                errors.append(error)
                fences.append(NodeFence(node=node.device.name))
        if len(errors) == len(fences):
            raise errors[0]
        return Fence(nodes=tuple(fences))

    def durable_endpoints(self, service: str) -> Sequence[Endpoint]:
        """See ``contract.Browser``."""
        return self._while_serving(lambda asked: self._reads.listed(asked, checked_service(service)))

    def count(self, endpoint: Endpoint) -> EndpointStats:
        """See ``contract.Browser``."""
        return self._while_serving(lambda asked: self._reads.counted(asked, endpoint))

    def browse(self, endpoint: Endpoint, after: BrowsedMessage | None) -> Iterator[BrowsedMessage]:
        """See ``contract.Browser``. Raises ``NotServing`` at the end if the node stopped serving meanwhile."""
        node = self._nodes.serving(thorough=False)
        yield from self._reads.browsed(self._asked(node), endpoint, after)
        self._nodes.confirm(node)

    def _while_serving(self, read: Callable[[A], T]) -> T:
        node = self._nodes.serving(thorough=False)
        found = read(self._asked(node))
        self._nodes.confirm(node)
        return found

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """See ``contract.Adapter``. A read-only adapter raises ``Forbidden`` before anything is read or sent."""
        if action not in self.actions:
            raise ValueError(f"{self.name} has no action {action}")
        if self._context.read_only:
            raise Forbidden(
                f"{action} was not sent: this session with {self._site.name or 'the site'} is read-only",
                device=self._site.name,
            )

        def attempt(node: N, call: Call, permit: Permit) -> Result:
            return self._attempt(node, action, call, permit)

        if action == SET_BACKBONE:
            return set_backbones(list(self._nodes), calls, permit, attempt)
        return self._apply(action, calls, permit, attempt)

    def _apply(
        self, action: str, calls: Sequence[Call], permit: Permit, attempt: Callable[[N, Call, Permit], Result]
    ) -> Iterator[Result]:
        if not calls:
            return
        try:
            node = self._nodes.serving(thorough=True)
        except NotServing:
            if not gives_up_activity(action, calls):
                raise
            yield from make_standby(self._nodes, calls, permit, attempt)
            return
        except NotObeyed:
            raise
        except AdapterError as error:  # no changing command was sent yet, so this is no doubt
            raise Unreachable(f"it is not known which node serves: {error}", device=error.device) from error
        for number, call in enumerate(calls, start=1):
            result = attempt(node, call, permit)
            yield result
            why = self._broken(node, result)
            if why and number < len(calls):
                # The pair may have switched, so a new step has to find the serving node.
                raise Unreachable(
                    f"{why}; {len(calls) - number} more commands were not sent", device=node.device.name
                )
