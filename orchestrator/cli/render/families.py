"""Prints the installed families, and the parts of one family."""

from __future__ import annotations

from pathlib import Path

from orchestrator.cli.render.tables import lines_of, plain_table
from orchestrator.cli.render.terminal import show, show_document, show_json
from orchestrator.documents.shipped import shipped_runbooks
from orchestrator.family.registry import Registry
from orchestrator.model.families import family_called, known_families, needed_family
from orchestrator.model.findings import Level, worst
from orchestrator.model.installed import installed
from orchestrator.operations.declared_families import findings_of_file, new_family_file

FINDINGS = 4


def print_families(*, as_json: bool) -> int:
    """Print name, service and adapters of each family, or the reason why it cannot be used. Returns 0 or 4."""
    registry = Registry()
    table = plain_table("family", "service", "adapters", "runbooks")
    for name in known_families():
        family = family_called(name)
        assert family is not None  # the name comes from known_families
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
    """Print the parts of a family. Raises ``DefinitionError`` for a family that is not installed."""
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
    """Print the mistakes in a family file and in its runbooks. Returns 0 or 4."""
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
    """Print a commented family file as a start. Raises ``DefinitionError`` for an invalid name."""
    show_document(new_family_file(name).rstrip("\n"))
