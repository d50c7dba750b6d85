"""The laws for a family and its adapters, for authors: those that need no device, and those that need only reading.

Each law is a sentence and a check that yields each violation. No changing command is sent here. The laws of changes
need a site that may be changed (``conformance_changes``). To check what arrived at a site, a separate account of the
site is needed (``tests/contract/laws.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Literal, get_args, get_type_hints

from orchestrator.documents.generic_runbooks import can_be_made
from orchestrator.documents.lint.runbook import lint
from orchestrator.documents.loader import read_runbook
from orchestrator.family.composite import compose
from orchestrator.family.contract import ActionSpec, Adapter, Call
from orchestrator.family.reachability import model_of, with_made_readings
from orchestrator.family.registry import Registry
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.facets import Facet
from orchestrator.model.families import Family
from orchestrator.model.findings import Finding
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import clashes, kind_of
from orchestrator.model.runbook import Runbook

Outcome = Literal["holds", "broken", "not checked"]
# The type of a facet's value.
_TYPES: Mapping[Facet, type] = {
    Facet.SERVES: bool,
    Facet.LINK: bool,
    Facet.SUSPENDED: bool,
    Facet.BLOCKED: bool,
    Facet.BACKLOG: int,
    Facet.MARK: int,
    Facet.REACHED: int,
    Facet.IN_DOUBT: int,
    Facet.CLIENTS: int,
    Facet.PILOT: str,
    Facet.NODE: str,
}
_STRANGER = "failover-conformance-no-such-service"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The result of one law. ``details``: the violations, or the reason why it was not checked."""

    law: str
    outcome: Outcome
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Opened:
    """A read-only session with one site of the family, and the services of the site."""

    site: str
    adapter: Adapter
    services: Sequence[str]


def verdicts_of(family: Family, registry: Registry, opened: Sequence[Opened]) -> Iterator[Verdict]:
    """Every law on ``family``. Without a session, the laws of readings are not checked."""
    own = registry.get("local")  # a site may have commands of the operator's own
    kinds = {name: compose([registry.get(name), own]) for name in registry.of_family(family.name)}
    declared: Sequence[tuple[str, Callable[[], Iterator[str]]]] = (
        ("An installed adapter belongs to the family.", lambda: _spoken_for(family, kinds)),
        (
            "Each reading has a frozen model, and no other family uses the same kind.",
            lambda: _readings(family),
        ),
        (
            "Each facet names a field or property of the right type, and each backlog has a unit.",
            lambda: _facets(family),
        ),
        ("A reading shows whether a site serves.", lambda: _serving(family)),
        ("Every value of a reading may be unknown.", lambda: _unknown(family)),
        ("A reading that an adapter declares has a model.", lambda: _of_each(kinds, readings_fit)),
        (
            "Actions fit together: an inverse exists and takes the same arguments.",
            lambda: _of_each(kinds, actions_fit),
        ),
        ("Commands can be shown without a connection.", lambda: _of_each(kinds, _rendered)),
        ("`makes` names actions and values that an adapter declares.", lambda: _makes(family, kinds)),
        ("The family ships a controlled move.", lambda: _controlled(family)),
        ("The runbooks of the family have no errors.", lambda: _runbooks(family, kinds)),
    )
    for law, check in declared:
        yield _verdict(law, check)
    read: Sequence[tuple[str, Callable[[Opened], Iterator[str]]]] = (
        ("A reading gives one answer for each service, and each answer has the declared model.", _answers),
        ("A request without services gets no answers.", _silence),
        ("For a service that the site does not have, a reading gives a definite failure.", _stranger),
        ("A reading does not change when it is recorded and read again.", _recorded),
    )
    for law, ask in read:
        if not opened:
            yield Verdict(law, "not checked", ("there is no site to read; name an inventory with --inventory",))
            continue
        yield _verdict(law, partial(_at_each, opened, ask))


def _verdict(law: str, check: Callable[[], Iterator[str]]) -> Verdict:
    try:
        broken = tuple(check())
    except Exception as error:  # noqa: BLE001 - a door: the code of a third party may raise anything
        broken = (f"{type(error).__name__}: {error}",)
    return Verdict(law, "broken" if broken else "holds", broken)


Kinds = Mapping[str, type[Adapter]]


def _at_each(opened: Sequence[Opened], ask: Callable[[Opened], Iterator[str]]) -> Iterator[str]:
    for one in opened:
        yield from (f"{one.site}: {what}" for what in ask(one))


def _of_each(kinds: Kinds, check: Callable[[type[Adapter]], Iterator[str]]) -> Iterator[str]:
    for name, kind in kinds.items():
        yield from (f"{name}: {what}" for what in check(kind))


# What is declared


def _spoken_for(family: Family, kinds: Kinds) -> Iterator[str]:
    if not kinds:
        yield f"no installed adapter has `family = {family.name!r}`"


def _readings(family: Family) -> Iterator[str]:
    for name, model in family.readings.items():
        if not (isinstance(model, type) and issubclass(model, Reading)):
            yield f"{name} is not derived from Reading"
        elif not model.model_config.get("frozen"):
            yield f"{name} is not frozen, so a value can be changed after it was read"
        elif len(set(clashes().get(kind_of(model), ()))) > 1:
            yield f"another family uses the kind {kind_of(model)!r} of {name} too"


def _facets(family: Family) -> Iterator[str]:
    for name, model in family.readings.items():
        for facet, field in model.facets.items():
            found = _annotation(model, field)
            if found is None:
                yield f"{name}: the facet {facet} names {field!r}, but {name} does not have this field"
            elif _TYPES[facet] not in _types_in(found):
                yield f"{name}: the facet {facet} must be {_TYPES[facet].__name__}, but {field} has another type"
        if Facet.BACKLOG in model.facets and not model.unit:
            yield f"{name}: its backlog has no unit"


def _types_in(annotation: object) -> list[object]:
    """An annotation and its parts; of a literal, the types of its values."""
    parts = [part for one in get_args(annotation) for part in _types_in(one)]
    return [annotation, *parts, *(type(one) for one in get_args(annotation) if isinstance(one, str | int))]


def _annotation(model: type[Reading], field: str) -> object:
    derived = next((vars(one)[field] for one in model.__mro__ if field in vars(one)), None)
    if isinstance(derived, property) and derived.fget is not None:
        return get_type_hints(derived.fget).get("return")
    return get_type_hints(model).get(field) if field in model.model_fields else None


def _serving(family: Family) -> Iterator[str]:
    if not family.offers(Facet.SERVES):
        yield "no reading has the facet serves, so no reading shows which site is active"


def _unknown(family: Family) -> Iterator[str]:
    for name, model in family.readings.items():
        for field, info in model.model_fields.items():
            if field not in ("kind", "items") and info.is_required():
                yield f"{name}: {field} has no default, so it cannot be unknown"


def readings_fit(kind: type[Adapter]) -> Iterator[str]:
    """The faults in the readings that an adapter declares."""
    for name, spec in kind.readings.items():
        if model_of(spec) is None:
            yield f"no family has a reading {name}"
        if spec.name != name or not spec.summary:
            yield f"the reading {name} is declared under another name, or without a summary"


def actions_fit(kind: type[Adapter]) -> Iterator[str]:
    """The faults in the actions that an adapter declares."""
    for name, spec in kind.actions.items():
        if spec.name != name or not spec.summary or spec.batch < 1:
            yield f"the action {name} is declared under another name, without a summary, or with a batch below 1"
        if spec.inverse is not None:
            inverse = kind.actions.get(spec.inverse)
            if inverse is None or inverse.arguments.keys() != spec.arguments.keys():
                yield f"{name}: its inverse {spec.inverse} does not exist or takes other arguments"
        for argument, declared in spec.arguments.items():
            if len(set(declared.choices)) != len(declared.choices):
                yield f"{name}: a choice of {argument} is listed twice"


def _rendered(kind: type[Adapter]) -> Iterator[str]:
    for name, reading in kind.readings.items():
        if not all(isinstance(line, str) and line for line in reading.commands(["service"])):
            yield f"reading {name}: a command is not a text"
    for name, action in kind.actions.items():
        for call in _calls(action):
            lines = list(action.commands(call))
            if not lines or not all(isinstance(line, str) and line.isprintable() for line in lines):
                yield f"action {name}: {dict(call.args)} gives no command, or a command that cannot be printed"


def _calls(spec: ActionSpec) -> Iterator[Call]:
    """One call for each choice of each argument."""
    values = [argument.choices or ("x",) for argument in spec.arguments.values()]
    for chosen in product(*values):
        yield Call("service", dict(zip(spec.arguments, chosen, strict=True)))


def _makes(family: Family, kinds: Kinds) -> Iterator[str]:
    for (action, argument), made in family.makes.items():
        specs = [kind.actions[action] for kind in kinds.values() if action in kind.actions]
        if not any(not argument or argument in spec.arguments for spec in specs):
            yield f"no adapter has an action {action}{f' with an argument {argument}' if argument else ''}"
        for value in made:
            choices = {
                one for spec in specs if argument in spec.arguments for one in spec.arguments[argument].choices
            }
            if choices and value not in choices:
                yield f"{action} has no choice {value!r} of {argument}"


def _controlled(family: Family) -> Iterator[str]:
    file = getattr(family, "file", None)
    if isinstance(file, FamilyFile) and can_be_made(file, "controlled"):
        return
    if family.runbooks is None or not (family.runbooks / "controlled.yaml").is_file():
        yield "its folder of runbooks has no controlled.yaml"


def _runbooks(family: Family, kinds: Kinds) -> Iterator[str]:
    paths = [] if family.runbooks is None else sorted(family.runbooks.glob("*.yaml"))
    for path in paths:
        read = read_runbook(path)
        found = [*read.findings]
        if read.value is not None:
            # One adapter may do only a part of the actions of a site, so one fitting adapter is enough.
            fitting = [_errors(read.value, kind) for kind in kinds.values()]
            found += sorted(fitting, key=len)[0] if fitting else []
        yield from (f"{path.stem}: {one.message} [{one.code}]" for one in found if one.level == "error")


def _errors(runbook: Runbook, kind: type[Adapter]) -> list[Finding]:
    found = lint(runbook, with_made_readings(kind.readings), kind.actions)
    return [one for one in found if one.level == "error"]


# What is read


def _answers(one: Opened) -> Iterator[str]:
    for name, spec in one.adapter.readings.items():
        answers = one.adapter.probe(name, one.services)
        if set(answers) != set(one.services):
            yield f"{name} answers for {sorted(answers)}, but the request names {sorted(one.services)}"
        for service, answer in answers.items():
            if not isinstance(answer, Failure) and type(answer) is not model_of(spec):
                yield f"{name} of {service} has the wrong type {type(answer).__name__}"


def _silence(one: Opened) -> Iterator[str]:
    yield from (f"{name} answers" for name in one.adapter.readings if one.adapter.probe(name, []))


def _stranger(one: Opened) -> Iterator[str]:
    """A reading of the whole site may answer for any name, or fail for all names. So only readings that differ by
    service are checked."""
    for name in one.adapter.readings:
        answers = one.adapter.probe(name, [*one.services, _STRANGER])
        found = answers.get(_STRANGER)
        if len({repr(answer) for answer in answers.values()}) == 1:
            continue
        if not isinstance(found, Failure):
            yield f"{name} has a value for a service that the site does not have"
        elif not found.definite:
            yield f"{name} of a service that the site does not have is {found.kind}, which is not a definite failure"


def _recorded(one: Opened) -> Iterator[str]:
    for name in one.adapter.readings:
        for answer in one.adapter.probe(name, one.services).values():
            if isinstance(answer, Reading) and type(answer).model_validate_json(answer.model_dump_json()) != answer:
                yield f"{name} has another value after it was recorded"
