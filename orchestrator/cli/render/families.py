"""Prints the installed families, what one of them brings, and which laws it keeps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from orchestrator.cli.render.tables import lines_of, plain_table
from orchestrator.cli.render.terminal import say_unless, show, show_document, show_json
from orchestrator.documents.shipped import shipped_runbooks
from orchestrator.errors import DefinitionError, NotStarted
from orchestrator.family.registry import Registry
from orchestrator.model.families import Family, family_called, known_families, needed_family
from orchestrator.model.findings import Level, worst
from orchestrator.model.installed import installed
from orchestrator.operations.active_runs import open_runs
from orchestrator.operations.conformance import Opened, Verdict, verdicts_of
from orchestrator.operations.conformance_changes import Changed, verdicts_of_changes
from orchestrator.operations.declared_families import findings_of_file, new_family_file
from orchestrator.operations.families import family_of
from orchestrator.operations.read_only_sessions import changing, reading_only
from orchestrator.operations.runtime import Tools

FINDINGS = 4


def print_families(*, as_json: bool) -> int:
    """Name, service and adapters of each; why one cannot be used. Returns 0 or 4."""
    registry = Registry()
    table = plain_table("family", "service", "adapters", "runbooks")
    for name in known_families():
        family = family_called(name)
        assert family is not None  # it is known
        adapters, runbooks = registry.of_family(name), _runbooks(name)
        if as_json:
            show_json({"family": name, "service": family.words.service, "adapters": adapters, "runbooks": runbooks})
        table.add_row(name, family.words.service, ", ".join(adapters), str(len(runbooks)))
    problems = installed().problems
    for name, why in problems.items():
        if as_json:
            show_json({"family": name, "problem": why})
    if not as_json:
        for line in lines_of(table):
            show_document(line)
        for name, why in problems.items():
            show(f"{name} cannot be used: {why}")
    return FINDINGS if problems else 0


def _runbooks(name: str) -> list[str]:
    return [one for one in shipped_runbooks() if one.startswith(f"{name}/")]


def print_family(name: str, *, as_json: bool) -> None:
    """What a family brings. Raises ``DefinitionError`` for one that is not installed."""
    family = needed_family(name)
    registry = Registry()
    adapters = registry.of_family(name)
    actions = sorted({action for one in adapters for action in registry.get(one).actions})
    readings = {
        reading: {facet.value: field for facet, field in model.facets.items()}
        for reading, model in family.readings.items()
    }
    if as_json:
        show_json(
            {
                "family": name,
                "service": family.words.service,
                "adapters": adapters,
                "readings": readings,
                "actions": actions,
                "runbooks": _runbooks(name),
            }
        )
        return
    show(f"{name}: {family.words.services}, through {', '.join(adapters) or 'no adapter'}")
    table = plain_table("reading", "facets")
    for reading, facets in readings.items():
        table.add_row(reading, ", ".join(f"{facet}: {field.lstrip('_')}" for facet, field in facets.items()) or "-")
    for line in lines_of(table):
        show_document(line)
    show(f"actions: {', '.join(actions) or 'none'}")
    show(f"runbooks: {', '.join(_runbooks(name)) or 'none'}")


def lint_family_file(path: Path, *, as_json: bool) -> int:
    """What is wrong with a file that declares a family, and with its runbooks. Returns 0 or 4."""
    found = findings_of_file(path)
    for one in found:
        if as_json:
            show_json(one.model_dump(mode="json"))
        else:
            show(str(one))
    if not found and not as_json:
        show("nothing found")
    return FINDINGS if worst(found) is Level.ERROR else 0


def print_new_family(name: str) -> None:
    """A commented file to start with. Raises ``DefinitionError`` for what can be no name."""
    show_document(new_family_file(name).rstrip("\n"))


def print_laws(
    tools: Tools, name: str, inventory: Path | None, pair: str | None, change: str | None, *, as_json: bool
) -> int:
    """Which laws hold; those of changes, if a site to ``change`` is named. Returns 0, or 4 if one is broken."""
    family = needed_family(name)
    with ExitStack() as stack:
        opened = [] if inventory is None else list(_sessions(stack, tools, family, inventory, pair))
        changed = None if change is None else _changed(stack, tools, inventory, change, opened)
        if changed is not None:
            tell = say_unless(as_json)
            tell(f"CHANGES {changed.site}: its actions are done at {changed.service} and rolled back")
        found = list(verdicts_of(family, tools.registry, opened))
        found += [] if changed is None else verdicts_of_changes(family, changed, tools.clock)
    broken = [one for one in found if one.outcome == "broken"]
    code = FINDINGS if broken else 0
    if as_json:
        laws = [{"law": one.law, "outcome": one.outcome, "details": one.details} for one in found]
        show_json({"family": name, "laws": laws, "exit_code": code})
        return code
    for one in found:
        for line in _lines(one):
            show(line)
    kept = sum(one.outcome == "holds" for one in found)
    show(
        f"{name}: {kept} of {len(found)} laws hold, {len(broken)} broken, {len(found) - kept - len(broken)} not checked"
    )
    return code


def _lines(one: Verdict) -> Iterator[str]:
    yield f"{one.outcome.upper() if one.outcome == 'broken' else one.outcome:<11}  {one.law}"
    yield from (f"             {detail}" for detail in one.details)


def _sessions(stack: ExitStack, tools: Tools, family: Family, inventory: Path, pair: str | None) -> Iterator[Opened]:
    """Sessions with every site of the family that can only read. Raises ``DefinitionError`` where there is none."""
    whole = tools.inventory(inventory)
    pairs = [one for one in whole.pairs if pair in (None, one.name)]
    services = {site: one.services for one in pairs for site in one.sites}
    sites = {site: some for site, some in services.items() if family_of(tools, whole.sites[site]) == family.name}
    if not sites:
        raise DefinitionError(
            f"no pair of the inventory is of the family {family.name}", hint="name another inventory"
        )
    for site, some in sites.items():
        yield Opened(site, stack.enter_context(reading_only(tools, whole.sites[site])), some)


def _changed(stack: ExitStack, tools: Tools, inventory: Path | None, site: str, opened: Sequence[Opened]) -> Changed:
    """A session that may change ``site``. Raises ``DefinitionError`` for a site that is none of the family, and
    ``NotStarted`` while a run has its services, or may have."""
    services = {one.site: one.services for one in opened}
    if site not in services:
        known = ", ".join(services) or "none: name an inventory with --inventory"
        raise DefinitionError(f"--change {site}: no such site of the family", hint=f"its sites are {known}")
    whole = tools.inventory(inventory)
    runs = open_runs(tools, whole, [pair for pair in whole.pairs if site in pair.sites])
    for line in runs.lines():
        raise NotStarted(f"--change {site}: {line}", hint="finish it first: two commands would change one site")
    return Changed(site, stack.enter_context(changing(tools, whole.sites[site])), services[site][0])
