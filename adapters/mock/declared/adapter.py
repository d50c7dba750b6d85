"""The simulated sites of a declared family as an adapter, in process: its readings and actions are those of the file.

It never looks at the world's account. A site's option ``world`` is the path of a world's file, or ``memory:NAME`` for a
registered one. Each request takes the pair's latency.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from adapters.declared.adapter import DeclaredAdapter, adapter_of
from adapters.declared.reading_models import failed
from orchestrator.errors import (
    AdapterError,
    AuthenticationFailed,
    CommandRejected,
    CommandTimedOut,
    ConnectionLost,
    DefinitionError,
    Forbidden,
    NoSuchService,
    Unreachable,
    UnreadableReply,
)
from orchestrator.family.contract import ActionSpec, AdapterContext, Call, Permit, ReadingSpec, Result
from orchestrator.model.declared.file import FamilyFile, FieldFile, manager_state
from orchestrator.model.declared.requests import rules_in
from orchestrator.model.facets import Facet
from orchestrator.model.inventory import Site
from orchestrator.model.other_manager import OTHER_MANAGER
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading, item_model, matches

if TYPE_CHECKING:
    from simulator.generic.world import GenericWorld, View
    from simulator.world.fault_lines import AnswerFault

_SHARED: Mapping[str, str | int] = {"text": "as at the mate", "number": 1}
_GARBAGE = "\ufffd\ufffd~#>{%garbage%}<#~"


class MockDeclaredAdapter:
    """One simulated site of a declared family. ``mock_of`` makes the class for a family."""

    file: ClassVar[FamilyFile]
    models: ClassVar[Mapping[str, type[Reading]]]
    alike: ClassVar[frozenset[str]] = frozenset()  # fields with the same value at both ends
    family: ClassVar[str] = ""
    simulated: ClassVar[bool] = True
    readings: ClassVar[Mapping[str, ReadingSpec]] = {}
    actions: ClassVar[Mapping[str, ActionSpec]] = {}

    def __init__(self, site: Site, context: AdapterContext) -> None:
        self._site = site
        self._context = context
        self._where = site.devices[0].name
        self._held: GenericWorld | None = None
        self._is_in = False

    @classmethod
    def shared(cls, site: Site, services: Sequence[str]) -> str:
        """See ``Adapter``: why services of one site cannot be moved apart."""
        return cls.file.whole_site if len(services) > 1 else ""

    def open(self) -> None:
        """Raises ``Unreachable``, ``AuthenticationFailed``."""
        self._pause()
        with self._world.request():
            self._log_in()

    def close(self) -> None:
        """End the session; what was seen or obeyed is stored already."""
        self._is_in = False
        world, self._held = self._held, None
        if world is not None:
            from simulator.generic.worlds import GENERIC_WORLDS

            with suppress(AdapterError):
                GENERIC_WORLDS.release(world)

    # Reading

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        """See ``contract.Adapter``. If a site does not answer, every service has that failure."""
        self._pause()
        error: AdapterError | None = None
        found: dict[str, Reading | Failure] = {}
        with self._world.request():
            try:
                self._log_in()
                error = self._disturbed("read", reading)
            except AdapterError as refused:
                error = refused
            if error is None:
                found = {service: self._read(reading, service) for service in dict.fromkeys(services)}
        if error is not None:
            self._lose(error)
            return dict.fromkeys(services, failed(self.models[reading], error))
        self._pause()
        return found

    def _read(self, reading: str, service: str) -> Reading | Failure:
        world, declared, model = self._world, self.file.readings[reading], self.models[reading]
        if world.service(service) is None:
            what = f"{self._site.name} has no {self.file.words.service} {service}"
            return Failure.of(NoSuchService(what, device=self._where))
        if not world.answers(self._site.name, service, reading):
            what = f"{self._where} does not answer {reading} in its present state"
            return failed(model, Unreachable(what, device=self._where))
        view = world.view(self._site.name, service)
        if declared.items is not None:
            item = item_model(model)
            assert item is not None  # it lists some
            listed = [one.fields for one in view.end.items if one.reading == reading]
            return model.model_validate({"items": tuple(item(**fields) for fields in listed)})
        values: dict[str, Any] = {
            name: _SHARED[field.type] if name in self.alike else _value(view, name, field, self._where)
            for name, field in declared.fields.items()
        }
        known = model.model_construct(**values)
        for name, field in declared.fields.items():
            if field.when and matches(known, field.when) is not True:
                values[name] = None
            if field.facet is Facet.PILOT:
                values[OTHER_MANAGER] = manager_state(values[name])
        return model(**values)

    # Changing

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        """See ``contract.Adapter``."""
        if self._context.read_only:
            raise Forbidden(f"{action} was not sent: this session is read-only", device=self._where)
        return (self._do(action, call, permit) for call in calls)

    def _do(self, action: str, call: Call, permit: Permit) -> Result:
        self._pause()
        sent = tuple(self.actions[action].commands(call))
        error: AdapterError | None = None
        with self._world.request():
            if self._world.service(call.service) is None:
                what = f"{self._site.name} has no {self.file.words.service} {call.service}"
                return Result(call, Effect.REJECTED, detail=what, device=self._where)
            try:
                self._log_in()
            except AdapterError as refused:
                return Result.of(call, refused)
            if not self._world.obeys(self._site.name, call.service, action):
                what = f"{self._where} cannot do {action} in its present state"
                return Result.of(call, Unreachable(what, device=self._where))
            permit.check()
            error = self._act(action, call)
        if error is not None:
            self._lose(error)
            return Result.of(call, error, sent)
        self._pause()
        return Result(call, Effect.ACCEPTED, device=self._where, sent=sent)

    def _act(self, action: str, call: Call) -> AdapterError | None:
        """Let the site obey, unless the request is lost, late or refused."""
        from simulator.generic.fault_injection import Asked
        from simulator.solace.appliance import Refused

        world, site = self._world, self._site.name
        asked = Asked("act", site, action)
        fault = world.answer_fault(asked)
        try:
            world.notice(asked)
        except Refused as refusal:
            return CommandRejected(str(refusal), device=self._where)
        if not world.is_up(site):
            return ConnectionLost(f"{self._where} went away", device=self._where)
        if fault is not None and fault.kind == "late":
            world.obey_later(site, call.service, action, call.args, fault.late)
        elif fault is not None and fault.kind == "break off":
            world.obey_in_part(site, call.service, action, call.args)
        elif fault is None or fault.kind not in ("lose request", "wrong password"):
            world.obey(site, call.service, action, call.args)
        return None if fault is None else _error_of(fault, self._where)

    # The session

    def _log_in(self) -> None:
        """Make the session if there is none. Raises ``Unreachable``, ``AuthenticationFailed``."""
        from simulator.generic.fault_injection import Asked

        if not self._world.is_up(self._site.name):
            raise Unreachable(f"{self._where} does not answer", device=self._where)
        if self._is_in:
            return
        fault = self._world.answer_fault(Asked("login", self._site.name))
        if fault is not None and fault.kind == "wrong password":
            raise _error_of(fault, self._where)
        self._is_in = True

    def _disturbed(self, kind: Any, what: str) -> AdapterError | None:
        """The error that keeps the site from answering this, if any."""
        from simulator.generic.fault_injection import Asked
        from simulator.solace.appliance import Refused

        asked = Asked(kind, self._site.name, what)
        fault = self._world.answer_fault(asked)
        try:
            self._world.notice(asked)
        except Refused as refusal:
            return CommandRejected(str(refusal), device=self._where)
        if not self._world.is_up(self._site.name):
            return Unreachable(f"{self._where} does not answer", device=self._where)
        return None if fault is None else _error_of(fault, self._where)

    def _lose(self, error: AdapterError) -> None:
        """End the session. If the error is an answer that never comes, wait for it as long as the site allows."""
        self._is_in = False
        if isinstance(error, CommandTimedOut):
            self._context.clock.sleep(self._site.command_timeout)

    @property
    def _world(self) -> GenericWorld:
        if self._held is None:
            from simulator.generic.worlds import GENERIC_WORLDS

            reference = self._site.options.get("world")
            if not isinstance(reference, str):
                raise DefinitionError(f"site {self._site.name} needs the option world: a file, or memory:NAME")
            world = GENERIC_WORLDS.acquire(reference, self._context.clock)
            try:
                world.layout.mate_of(self._site.name)
            except DefinitionError:
                GENERIC_WORLDS.release(world)
                raise
            self._held = world
        return self._held

    def _pause(self) -> None:
        self._context.clock.sleep(self._world.layout.latency / 2)


def _value(view: View, name: str, field: FieldFile, node: str) -> bool | int | str | None:
    """The value of a field, by its facet. A field without a facet has the value of the world, or is unknown."""
    of_facet: Mapping[Facet, bool | int | str | None] = {
        Facet.SERVES: view.serves,
        Facet.LINK: view.link,
        Facet.BACKLOG: view.backlog,
        Facet.MARK: view.mark,
        Facet.REACHED: view.reached,
        Facet.CLIENTS: view.clients,
        Facet.IN_DOUBT: view.in_doubt,
        Facet.NODE: node,
    }
    if field.facet is None:
        return view.told.get(name)
    if field.facet in (Facet.SUSPENDED, Facet.BLOCKED):
        return view.told.get(field.facet, False)
    if field.facet is Facet.PILOT:
        acts = {"acts": True, "unknown": None}.get(view.managers.get(name, "none"), False)
        return acts if field.type == "bool" or acts is None else "a manager" if acts else ""
    return of_facet.get(field.facet)


_ERRORS: Mapping[str, Callable[[str], AdapterError]] = {
    "lose reply": lambda name: ConnectionLost(f"{name} closed the connection before its answer", device=name),
    "break off": lambda name: ConnectionLost(f"{name} closed the connection before its last answer", device=name),
    "truncate reply": lambda name: ConnectionLost(f"{name} closed the connection within its answer", device=name),
    "garbage reply": lambda name: UnreadableReply(f"the answer of {name} makes no sense", text=_GARBAGE, device=name),
    "wrong password": lambda name: AuthenticationFailed(f"{name} does not accept the account", device=name),
}


def _error_of(fault: AnswerFault, name: str) -> AdapterError:
    made = _ERRORS.get(fault.kind)
    return made(name) if made else CommandTimedOut(f"{name} did not answer in time", device=name)


def mock_name(family: str) -> str:
    """The adapter of a family's simulated sites, as an inventory names it."""
    return f"mock-{family}"


def mock_of(file: FamilyFile, models: Mapping[str, type[Reading]]) -> type[MockDeclaredAdapter]:
    """The class for a family: the readings and actions of its real sites, answered by a world."""
    real: type[DeclaredAdapter] = adapter_of(file, models)
    made: type[MockDeclaredAdapter] = type(
        "MockDeclared",
        (MockDeclaredAdapter,),
        {
            "file": file,
            "models": models,
            "alike": frozenset(name for name, rule in rules_in(file.model).items() if rule.shared),
            "family": file.family,
            "readings": real.readings,
            "actions": real.actions,
        },
    )
    return made
