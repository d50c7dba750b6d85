"""The adapter of the simulated AMPS instances, in process. ``amps-admin`` is its counterpart for real instances.

It reads the same samples as the lab serves, and its actions are the same requests. So a runbook that works here works
there. A site's option ``world`` is the path of a world's file, or ``memory:NAME`` for a registered one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict

from adapters.mock.amps.readings import READERS, View
from adapters.mock.amps.wording import VERBS, action_spec, path_of, reading_spec, request_line
from orchestrator.errors import (
    AdapterError,
    AuthenticationFailed,
    CommandRejected,
    CommandTimedOut,
    ConnectionLost,
    DefinitionError,
    Forbidden,
    NoSuchService,
    NotObeyed,
    Unreachable,
    UnreadableReply,
)
from orchestrator.family.contract import ActionSpec, AdapterContext, Call, Permit, ReadingSpec, Result, read_options
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading
from simulator.amps.admin.console import Console
from simulator.amps.admin.statistics import transport_id
from simulator.amps.fault_injection import Asked
from simulator.amps.world import AmpsWorld
from simulator.amps.worlds import AMPS_WORLDS
from simulator.solace.appliance import Refused
from simulator.world.fault_lines import AnswerFault

_GARBAGE = "\ufffd\ufffd~#>{%garbage%}<#~"


class _Options(BaseModel):
    """The site's options. ``services``: the device that is the instance of a service; without it, the only device, or
    the device with the service's name. ``mate``: name or group of the link to the other site. ``link``: the
    configuration of that link, which tells the command line whether messages may have to be given up."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    world: str
    services: Mapping[str, str] | None = None
    mate: str | None = None
    link: Literal["sync", "async"] = "async"  # which procedure is used; the world decides what the link is
    journal_capacity_bytes: int | None = None
    outage_s: float = 86_400.0


class MockAmpsAdapter:
    """One site of a simulated fabric."""

    readings: ClassVar[Mapping[str, ReadingSpec]] = {
        one.name: one
        for one in (
            reading_spec("instance", "name of the instance, and whether it replicates", "name.json", "uptime.json"),
            reading_spec("transports", "incoming transports", "transports.json"),
            reading_spec("clients", "applications that are connected", "clients.json"),
            reading_spec("links", "links to other instances", "replication.json"),
            reading_spec("queues", "queues and the messages that this instance owns", "queues.json"),
            reading_spec("transaction_log", "journals on disk", "transaction_log.json"),
            reading_spec(
                "bootstrap",
                "whether the instance would fetch its state",
                "transaction_log.json",
                "sow.json",
                "config.xml",
            ),
            reading_spec("sow", "records of each SOW topic", "sow.json", "config.xml"),
            reading_spec("permissions", "what the account may do", "name.json"),
        )
    }
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        one.name: one
        for one in (
            action_spec("set_client_transports", "let clients in, or disconnect them and keep them out"),
            action_spec("set_link_mode", "choose whether publishers wait for the mate"),
            action_spec("set_proxied_transfer", "choose whether to deliver queue messages of a lost instance"),
        )
    }
    simulated: ClassVar[bool] = True
    family: ClassVar[str] = "amps"

    def __init__(self, site: Site, context: AdapterContext) -> None:
        self._site = site
        self._context = context
        self._held: AmpsWorld | None = None
        self._options = read_options(site, _Options, adapter="mock-amps")

    def open(self) -> None:
        """Raises ``Unreachable`` when no instance of the site answers."""
        self._pause()
        with self._world.request():
            consoles = [self._world.console(device.name) for device in self._site.devices]
            if not any(console.answers for console in consoles):
                raise Unreachable(f"no instance of {self._site.name} answers", device=self._site.name)
            for console in consoles:
                fault = self._world.answer_fault(Asked("look", console.name))
                if fault is not None and fault.kind == "wrong password":
                    raise AuthenticationFailed(f"{console.name} does not accept the account", device=console.name)

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """See ``contract.Adapter``. The failure of an instance is a failure of its own service only."""
        if reading not in READERS:
            raise ValueError(f"the simulated instances have no reading {reading}")
        answers: dict[str, Reading | Failure] = {}
        for service in dict.fromkeys(services):
            try:
                answers[service] = self._read(reading, service)
            except AdapterError as error:
                answers[service] = Failure.of(error)
        return answers

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """See ``contract.Adapter``."""
        if action not in self.actions:
            raise ValueError(f"the simulated instances have no action {action}")
        argument, verbs, _, _ = VERBS[action]
        for call in calls:
            if call.args.get(argument) not in verbs:
                raise ValueError(f"{argument} of {action} must be one of {', '.join(verbs)}")
        if self._context.read_only:
            raise Forbidden("this session is read-only", device=self._site.name)
        return (self._do(action, call, permit) for call in calls)

    def close(self) -> None:
        """End the session; what was seen or obeyed is stored already."""
        world, self._held = self._held, None
        if world is not None:
            with suppress(AdapterError):
                AMPS_WORLDS.release(world)

    # Reading

    def _read(self, reading: str, service: str) -> Reading:
        self._pause()
        name = self._device(service)
        error: AdapterError | None = None
        with self._world.request():
            console = self._world.console(name)
            fault = self._ask(console, Asked("look", name))
            if fault is None:
                options = self._options
                view = View(
                    console,
                    self._world.layout,
                    self._world.epoch,
                    mate=options.mate,
                    capacity_bytes=options.journal_capacity_bytes,
                    outage_s=options.outage_s,
                )
                return READERS[reading](view)
            error = fault
        self._wait_for(error)
        raise error

    def _ask(self, console: Console, asked: Asked) -> AdapterError | None:
        """The error that keeps the instance from answering, if any."""
        if console.instance.phase == "down":
            return Unreachable(f"nothing listens at {console.name}", device=console.name)
        if not console.answers:
            return CommandTimedOut(f"{console.name} did not answer in time", device=console.name)
        fault = self._world.answer_fault(asked)
        try:
            self._world.notice(asked)
        except Refused as refusal:
            return CommandRejected(str(refusal), device=console.name)
        return None if fault is None else _error_of(fault, console.name)

    def _wait_for(self, error: AdapterError) -> None:
        """Wait for an answer that never comes, as long as the site allows. Called outside of a request."""
        if isinstance(error, CommandTimedOut):
            self._context.clock.sleep(self._site.command_timeout)

    # Changing

    def _do(self, action: str, call: Call, permit: Permit) -> Result:
        """One attempt at one service's instance: a request for each member, in order."""
        self._pause()
        try:
            name = self._device(call.service)
        except NoSuchService as stranger:
            return Result(call, Effect.REJECTED, detail=str(stranger), device=self._site.name)
        sent: list[str] = []
        error: AdapterError | None = None
        with self._world.request():
            console = self._world.console(name)
            wanted = self._ids(console, action)
            if not console.answers:
                error = Unreachable(f"{name} does not answer", device=name)
            elif not wanted:
                return Result(call, Effect.NOT_SENT, detail=f"{name} has no object for {action}", device=name)
            for id_ in wanted if error is None else ():
                verb, target = path_of(action, call.args[VERBS[action][0]], id_)
                try:
                    permit.check()
                except NotObeyed:
                    if not sent:
                        raise
                    return Result(
                        call,
                        Effect.DOUBTFUL,
                        detail="only a part of the requests was sent",
                        device=name,
                        sent=tuple(sent),
                    )
                sent.append(request_line(verb, target))
                error = self._request(console, verb, target)
                if error is not None:
                    break
        if error is None:
            return Result(call, Effect.ACCEPTED, device=name, sent=tuple(sent))
        self._wait_for(error)
        result = Result.of(call, error, sent)
        if len(sent) > 1:
            return Result(call, Effect.DOUBTFUL, detail=result.detail, device=name, sent=tuple(sent))
        return result

    def _request(self, console: Console, verb: str, target: str) -> AdapterError | None:
        """Request one action path. An action may be obeyed although its answer does not come."""
        asked = Asked("action", console.name, verb)
        fault = self._world.answer_fault(asked)
        try:
            self._world.notice(asked)
            if fault is not None and fault.kind == "late":
                self._world.obey_later(console.name, verb, target, fault.late)
            if not console.answers:
                return ConnectionLost(f"{console.name} went away", device=console.name)
            if fault is None or fault.kind not in ("late", "lose request", "wrong password"):
                console.obey(verb, target)
        except Refused as refusal:
            return CommandRejected(str(refusal), device=console.name)
        return None if fault is None else _error_of(fault, console.name)

    def _ids(self, console: Console, action: str) -> list[str]:
        match action:
            case "set_client_transports":
                transports = console.layout.transports
                return [transport_id(console.layout, one.name) for one in transports if not one.is_replication]
            case "set_link_mode":
                links, mate = console.layout.destinations, self._options.mate
                if mate is None:
                    return [links[0].name] if len(links) == 1 else []
                return [one.name for one in links if mate in (one.name, one.group)][:1]
            case _:
                return [one.id for one in console.layout.queues]

    # The session

    def _device(self, service: str) -> str:
        """The instance of a service. Raises ``NoSuchService``."""
        names = [device.name for device in self._site.devices]
        if self._options.services is not None:
            found = self._options.services.get(service, "")
        else:
            found = service if service in names else names[0] if len(names) == 1 else ""
        if found not in names:
            raise NoSuchService(f"no instance of {self._site.name} is that of {service!r}", device=self._site.name)
        return found

    @property
    def _world(self) -> AmpsWorld:
        if self._held is None:
            world = AMPS_WORLDS.acquire(self._options.world, self._context.clock)
            try:
                for device in self._site.devices:
                    world.layout.instance(device.name)
            except DefinitionError:
                AMPS_WORLDS.release(world)
                raise
            self._held = world
        return self._held

    def _pause(self) -> None:
        self._context.clock.sleep(self._world.layout.admin_latency)


_ERRORS: Mapping[str, Callable[[str], AdapterError]] = {
    "lose reply": lambda name: ConnectionLost(f"{name} closed the connection before its answer", device=name),
    "truncate reply": lambda name: ConnectionLost(f"{name} closed the connection within its answer", device=name),
    "garbage reply": lambda name: UnreadableReply(f"the answer of {name} makes no sense", text=_GARBAGE, device=name),
    "wrong password": lambda name: AuthenticationFailed(f"{name} does not accept the account", device=name),
}


def _error_of(fault: AnswerFault, name: str) -> AdapterError:
    made = _ERRORS.get(fault.kind)
    return made(name) if made else CommandTimedOut(f"{name} did not answer in time", device=name)
