"""The AMPS instances of one site, controlled over their administration interfaces. Decides nothing, repeats no change.

Each service is the client traffic of one instance. So each device of a site is an instance, and no instance takes over
for another. Sessions stay open between calls. Only the served configuration is kept, for a minute; other readings are
not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from adapters.amps.actions import ACTIONS, check_call, perform
from adapters.amps.instances import AmpsInstance
from adapters.amps.options import device_of, options_of
from adapters.amps.paths import only_reads, reads_and_acts
from adapters.amps.readings import READERS, SPECS
from adapters.http.exchange import Limits
from adapters.http.options import origin_of, proof_of, trust_of
from orchestrator.errors import (
    AdapterError,
    CommandRejected,
    CommandTimedOut,
    ConnectionLost,
    Forbidden,
    NoSuchService,
    Unreachable,
    UnreadableReply,
)
from orchestrator.family.contract import ActionSpec, AdapterContext, Call, Permit, ReadingSpec, Result
from orchestrator.model.inventory import Device, Site
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading

if TYPE_CHECKING:
    from adapters.http.session import Transport

Wire: TypeAlias = "Callable[[Device], Transport | None]"


class AmpsAdminAdapter:
    """The contract's adapter for AMPS over HTTP.

    ``wire`` may give each device another transport. ``random`` spreads the pauses between attempts. Tests replace both.
    Raises ``DefinitionError`` for options that cannot be used.
    """

    readings: ClassVar[Mapping[str, ReadingSpec]] = SPECS
    actions: ClassVar[Mapping[str, ActionSpec]] = ACTIONS
    simulated: ClassVar[bool] = False
    family: ClassVar[str] = "amps"

    def __init__(
        self, site: Site, context: AdapterContext, *, wire: Wire | None = None, random: Random | None = None
    ) -> None:
        self._site = site
        self._context = context
        self._options = options = options_of(site)
        trust = trust_of(options)
        by_ticket = options.auth == "negotiate"
        proof = (lambda: "") if by_ticket else proof_of(site, options, context.secrets)
        spread = random or Random()

        # httpx is loaded only for a connection, not to show what the adapter can do.
        from adapters.http.negotiate import ticket_auth
        from adapters.http.session import HttpSession

        def instance(device: Device) -> AmpsInstance:
            session = HttpSession(
                device.name,
                origin_of(device, options),
                proof=proof,
                trust=trust,
                limits=Limits(connect_s=site.connect_timeout, exchange_s=site.command_timeout),
                clock=context.clock,
                allows=only_reads if context.read_only else reads_and_acts,
                auth=ticket_auth(device.name, clock=context.clock, within_s=site.connect_timeout)
                if by_ticket
                else None,
                transport=None if wire is None else wire(device),
            )
            return AmpsInstance(
                device, site, options, session, clock=context.clock, random=spread, read_only=context.read_only
            )

        self._instances = {device.name: instance(device) for device in site.devices}

    @classmethod
    def shared(cls, site: Site, services: Sequence[str]) -> str:
        """See ``contract.Adapter``: client transports and the link to the mate belong to the instance."""
        options = options_of(site)
        homes: dict[str, str] = {}
        for service in services:
            try:
                device = device_of(site, options, service).name
            except NoSuchService:
                continue
            if device in homes:
                return f"the services {homes[device]} and {service} use the same instance, {device} of {site.name}"
            homes[device] = service
        return ""

    def open(self) -> None:
        """Read the name of every instance. Raises if one refuses the account or cannot be trusted, or if all are
        unreachable."""
        silent: list[AdapterError] = []
        for instance in self._instances.values():
            try:
                instance.reader.node("name")
            except CommandRejected:
                continue  # the instance answers, and its readings report the refusal
            except (ConnectionLost, CommandTimedOut) as error:
                # Only the instance's name was read, so a port without an answer means an unreachable instance.
                silent.append(Unreachable(str(error), device=error.device, hint=error.hint))
            except (Unreachable, UnreadableReply) as error:
                silent.append(error)
        if len(silent) == len(self._instances):
            raise silent[0]

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """See ``contract.Adapter``. The failure of an instance is a failure of its own service only."""
        if reading not in READERS:
            raise ValueError(f"amps-admin has no reading {reading}")
        answers: dict[str, Reading | Failure] = {}
        for service in dict.fromkeys(services):
            try:
                answers[service] = READERS[reading](self._instance(service), service)
            except AdapterError as error:
                answers[service] = Failure.of(error)
        return answers

    def configuration(self, service: str) -> str:
        """The configuration of the service's instance. Raises ``AdapterError``, ``DefinitionError``."""
        return self._instance(service).configuration()

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """See ``contract.Adapter``. A read-only adapter raises ``Forbidden`` before anything is read or sent."""
        if action not in ACTIONS:
            raise ValueError(f"amps-admin has no action {action}")
        for call in calls:
            check_call(action, call)
        if self._context.read_only:
            raise Forbidden(
                f"{action} was not sent: this session with {self._site.name or 'the site'} is read-only",
                device=self._site.name,
            )
        return self._apply(action, calls, permit)

    def _apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        for call in calls:
            try:
                instance = self._instance(call.service)
            except NoSuchService as error:
                yield Result(call, Effect.REJECTED, detail=str(error), device=self._site.name)
                continue
            yield perform(instance, action, call, permit)

    def _instance(self, service: str) -> AmpsInstance:
        return self._instances[device_of(self._site, self._options, service).name]

    def close(self) -> None:
        """End every session."""
        for instance in self._instances.values():
            instance.close()
