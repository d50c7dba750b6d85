"""The adapter of the simulated sites. The nodes of a world answer the contract in process.

The adapter does only what a real adapter has to do. It finds the serving node again for each request, turns the output
of the node into readings, and tells for each command whether it can have been obeyed. It never looks at the world's
account, or at anything that a node's management would not show.

A site's options: ``world``, see ``worlds``. Each request takes the site's ``latency``, one half before the node gets it
and one half after. The commands of one request share the latency.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import ClassVar

from adapters.mock import site_readings, wording
from adapters.solace.reading_models import DeviceHealth, QueueDepth, Transactions
from orchestrator.errors import (
    AdapterError,
    AuthenticationFailed,
    CommandRejected,
    CommandTimedOut,
    ConnectionLost,
    DefinitionError,
    Forbidden,
    NoSuchService,
    NotServing,
    Unreachable,
    UnreadableReply,
)
from orchestrator.family.contract import (
    EVERY_NODE,
    ActionSpec,
    AdapterContext,
    ArgumentSpec,
    Call,
    Permit,
    ReadingSpec,
    Result,
)
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading
from simulator.solace.appliance import NoSuchObject, Refused
from simulator.solace.browsing import Browsing
from simulator.solace.fault_injection import Seen
from simulator.solace.node import SimulatedAppliance
from simulator.solace.world import World
from simulator.world.fault_lines import AnswerFault
from simulator.world.worlds import WORLDS

_BATCH = 1_000  # calls that share one request, and so one latency
# Not config-synced (docs/sources/solace.md, 1.5): each node gets the command, whether it serves or not.
_EVERY_NODE = frozenset({"set_backbone"})
_CUT_OFF = "Message VPN                      A C B R Q S M T\r\n-------------------------------- - - -"
_GARBAGE = "%SYS-3-\ufffd\ufffd 0x1f 0x8b rx overrun\r\n"


class MockAdapter(Browsing):
    """One simulated site."""

    readings: ClassVar[Mapping[str, ReadingSpec]] = {
        "replication": ReadingSpec("replication", "roles and bridge", wording.show_replication),
        "replication_queue": ReadingSpec(
            "replication_queue", "messages that are held for the mate", wording.show_replication_queue
        ),
        "transactions": ReadingSpec("transactions", "transactions in all states", wording.show_transactions),
        "health": ReadingSpec("health", "which node serves", wording.show_health),
        "fence": ReadingSpec("fence", "whether clients can connect", wording.show_fence, place=EVERY_NODE),
        "endpoints": ReadingSpec("endpoints", "queues and topic endpoints", wording.show_endpoints),
        "platform": ReadingSpec("platform", "version, mate, account, clock", wording.show_platform),
    }
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        "set_role": ActionSpec(
            "set_role",
            "give a message VPN a replication role",
            idempotent=True,
            commands=wording.set_role,
            arguments={"role": ArgumentSpec(choices=("active", "standby"))},
            inverse="set_role",
            batch=_BATCH,
        ),
        "complete_transaction": ActionSpec(
            "complete_transaction",
            "commit or roll back a prepared transaction heuristically",
            idempotent=False,
            commands=wording.complete_transaction,
            arguments={
                "xid": ArgumentSpec(filled_by="item"),
                "outcome": ArgumentSpec(choices=("commit", "rollback"), filled_by="decision"),
            },
            batch=_BATCH,
        ),
        "delete_transaction": ActionSpec(
            "delete_transaction",
            "delete a heuristically completed transaction",
            idempotent=False,
            commands=wording.delete_transaction,
            arguments={"xid": ArgumentSpec(filled_by="item")},
            batch=_BATCH,
        ),
        "set_backbone": ActionSpec(
            "set_backbone",
            "open or close every node of the site to clients and bridges",
            idempotent=True,
            commands=wording.set_backbone,
            arguments={"state": ArgumentSpec(choices=("up", "down"))},
            inverse="set_backbone",
            batch=_BATCH,
            place=EVERY_NODE,
            shuts={"state": "down"},
        ),
        "set_reject_on_discard": ActionSpec(
            "set_reject_on_discard",
            "when the replication queue is full: refuse publishers, or serve them without replication",
            idempotent=True,
            commands=wording.set_reject_on_discard,
            arguments={"enabled": ArgumentSpec(choices=("yes", "no"))},
            inverse="set_reject_on_discard",
            batch=_BATCH,
        ),
    }
    simulated: ClassVar[bool] = True
    family: ClassVar[str] = "solace"

    def __init__(self, site: Site, context: AdapterContext) -> None:
        self._site = site
        self._context = context
        self._held: World | None = None
        self._is_in = False  # an error ends the session, and the next request logs in again

    def open(self) -> None:
        world = self._world
        self._pause()
        with world.request():
            login = Seen("login", self._site.name)
            refused = self._refuses_us()
            world.notice(login)
            if not any(world.reachable(self._site.name, device.name) for device in self._site.devices):
                self._is_in = False
                raise Unreachable(f"no node of {self._site.name} answers", device=self._site.name)
            if refused is not None:
                raise refused
        self._pause()

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        if reading not in self.readings:
            raise ValueError(f"the simulated sites have no reading {reading}")
        self._pause()
        seen = Seen("read", self._site.name, reading, tuple(services))
        with self._world.request():
            self._log_in()
            fault = self._world.answer_fault(seen)
            answers = {} if _is_lost(fault) else self._read(reading, services)
        if fault is not None:
            raise self._spoil(fault, self._site.name)
        self._pause()
        return answers

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        if self._context.read_only:
            raise Forbidden("this session is read-only", device=self._site.name)
        if action not in self.actions:
            raise ValueError(f"the simulated sites have no action {action}")
        return self._do_all(action, calls, permit)

    def close(self) -> None:
        self._is_in = False
        world, self._held = self._held, None
        if world is not None:
            with suppress(AdapterError):  # what was read or done is stored already
                WORLDS.release(world)

    # Reading

    def _read(self, reading: str, services: Sequence[str]) -> dict[str, Reading | Failure]:
        if reading == "health":
            health = self._health()
            return dict.fromkeys(services, health)
        if reading == "fence":
            return dict.fromkeys(services, site_readings.fence(self._nodes()))
        try:
            node = self._serving()
        except NotServing:
            if reading != "replication" or not self._is_idle():
                raise
            return {service: site_readings.configured_role(self._nodes()[0], service) for service in services}
        if reading == "platform":
            return dict.fromkeys(services, site_readings.platform(node, self._context.clock))
        return {service: self._read_one(reading, node, service) for service in services}

    def _read_one(self, reading: str, node: SimulatedAppliance, service: str) -> Reading | Failure:
        try:
            match reading:
                case "replication":
                    return site_readings.status(node, service)
                case "replication_queue":
                    queue = node.replication_queue(service)
                    return QueueDepth(
                        messages=queue.messages,
                        usage_mb=queue.usage_mb,
                        quota_mb=queue.quota_mb,
                        rejects_on_discard=queue.reject_on_discard,
                    )
                case "endpoints":
                    return site_readings.endpoints(node, service)
                case _:
                    return Transactions(
                        items=tuple(site_readings.transaction(view) for view in node.transactions(service))
                    )
        except NoSuchObject as error:
            return Failure.of(NoSuchService(str(error), device=node.router_name))

    def _health(self) -> DeviceHealth:
        """The health of the serving node; if no node serves, of the site."""
        views = {node.router_name: node.redundancy() for node in self._reachable()}
        claims = [name for name, view in views.items() if view.activity == "Local Active"]
        if not claims:
            return DeviceHealth(serving=False, spool_active=False)
        view = views[claims[0]]
        return DeviceHealth(
            node=claims[0],
            serving=len(claims) == 1,
            spool_active=view.spool == "AD-Active",
            mate_node=view.mate_router_name or None,
            redundancy_up=view.up if view.configured else None,
        )

    def _serving(self) -> SimulatedAppliance:
        """The one node with the active message spool. Raises ``Unreachable`` or ``NotServing``."""
        nodes = self._reachable()
        serving = [node for node in nodes if node.redundancy().spool == "AD-Active"]
        if len(serving) == 1:
            return serving[0]
        if serving:
            names = " and ".join(node.router_name for node in serving)
            raise NotServing(f"{names} both report that they serve", device=self._site.name)
        if len(nodes) < len(self._site.devices):
            raise Unreachable(
                f"no node of {self._site.name} that answers is serving, and some nodes do not answer",
                device=self._site.name,
            )
        raise NotServing(f"no node of {self._site.name} serves", device=self._site.name)

    def _is_idle(self) -> bool:
        """Does every node answer, and is the spool ready on none (docs/sources/solace-procedure.md, uncontrolled 4.1
        and 4.2)?"""
        nodes = self._reachable()
        return len(nodes) == len(self._site.devices) and all(
            node.redundancy().spool == "AD-NotReady" for node in nodes
        )

    def _reachable(self) -> list[SimulatedAppliance]:
        """The nodes whose management answers, in the inventory's order. Raises ``Unreachable`` when none does."""
        site, world = self._site.name, self._world
        found = self._nodes()
        answering = [node for node in found if world.reachable(site, node.router_name)]
        if not answering:
            self._is_in = False
            raise Unreachable(f"no node of {site} answers", device=site)
        return answering

    def _nodes(self) -> list[SimulatedAppliance]:
        """Every node of the inventory, in its order."""
        return [self._world.appliance(self._site.name, device.name) for device in self._site.devices]

    # Changing

    def _do_all(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """One request for all calls, as a set-oriented device takes it."""
        self._pause()
        results = []
        for call in calls:
            try:
                results.append(self._do(action, call, permit))
            except AdapterError as error:
                yield from results
                raise error
        self._pause()
        yield from results

    def _do(self, action: str, call: Call, permit: Permit) -> Result:
        sent = tuple(self.actions[action].commands(call))
        with self._world.request():
            gives_up = action == "set_role" and call.args.get("role") == "standby"
            is_for_all = action in _EVERY_NODE or (gives_up and self._is_idle())
            nodes = self._nodes() if is_for_all else [self._serving()]
            answering = [node for node in nodes if self._world.reachable(self._site.name, node.router_name)]
            if not answering:
                raise Unreachable(f"no node of {self._site.name} answers", device=self._site.name)
            self._log_in()
            seen = Seen("command", self._site.name, action, (call.service,), call.args)
            fault = self._world.answer_fault(seen)
            error = self._command(answering, action, call, fault, permit)
        if error is None and fault is not None:
            error = self._spoil(fault, answering[0].router_name)
        if error is None and len(answering) < len(nodes):
            error = ConnectionLost(f"not every node of {self._site.name} answers", device=self._site.name)
        if error is not None:
            return Result.of(call, error, sent)
        return Result(call, Effect.ACCEPTED, device=answering[0].router_name, sent=sent)

    def _command(
        self,
        nodes: Sequence[SimulatedAppliance],
        action: str,
        call: Call,
        fault: AnswerFault | None,
        permit: Permit,
    ) -> AdapterError | None:
        """Let each node obey, unless the command is lost or late; returns the first refusal of a node."""
        for node in nodes:
            permit.check()
            error = self._obey(node, action, call, fault)
            if error is not None:
                return error
        return None

    def _obey(
        self, node: SimulatedAppliance, action: str, call: Call, fault: AnswerFault | None
    ) -> AdapterError | None:
        if _is_lost(fault):
            return None
        if fault is not None and fault.kind == "late":
            self._world.obey_later(self._site.name, node.router_name, action, call.args, call.service, fault.late)
            return None
        try:
            node.obey(action, call.service, call.args)
        except Refused as error:
            if fault is not None:
                return None
            known = call.service in node.vpn_names()
            return (CommandRejected if known else NoSuchService)(str(error), device=node.router_name)
        except Unreachable as error:
            return ConnectionLost(f"{error}, after the command was sent", device=node.router_name)
        return None

    # The session

    def _log_in(self) -> None:
        """Make the session if there is none. Raises ``AuthenticationFailed``."""
        refused = None if self._is_in else self._refuses_us()
        if refused is not None:
            raise refused

    def _refuses_us(self) -> AuthenticationFailed | None:
        """The error if the site does not accept the account this time, else None."""
        fault = self._world.answer_fault(Seen("login", self._site.name))
        self._is_in = fault is None
        device = self._site.devices[0].name
        return None if fault is None else AuthenticationFailed(f"{device} does not accept the account", device=device)

    @property
    def _world(self) -> World:
        if self._held is None:
            reference = self._site.options.get("world")
            if not isinstance(reference, str):
                raise DefinitionError(f"site {self._site.name} needs the option world: a file, or memory:NAME")
            world = WORLDS.acquire(reference, self._context.clock)
            try:
                for device in self._site.devices:
                    world.appliance(self._site.name, device.name)
            except DefinitionError:
                WORLDS.release(world)
                raise
            self._held = world
        return self._held

    def _pause(self) -> None:
        self._context.clock.sleep(self._world.centre(self._site.name).layout.latency / 2)

    def _spoil(self, fault: AnswerFault, device: str) -> AdapterError:
        """The error for a broken answer. If the answer never comes, waits for it as long as the site allows. The
        session ends with the error."""
        self._is_in = False
        match fault.kind:
            case "lose reply":
                return ConnectionLost(f"{device} closed the session before its answer was complete", device=device)
            case "truncate reply":
                return UnreadableReply(f"the answer of {device} was cut off", text=_CUT_OFF, device=device)
            case "garbage reply":
                return UnreadableReply(f"the answer of {device} makes no sense", text=_GARBAGE, device=device)
            case _:
                self._context.clock.sleep(self._site.command_timeout)
                return CommandTimedOut(f"{device} did not answer in time", device=device)


def _is_lost(fault: AnswerFault | None) -> bool:
    return fault is not None and fault.kind == "lose request"
