"""The output of ``failover runbook …`` and ``failover inventory …``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from orchestrator.cli.render.abilities_table import abilities_lines
from orchestrator.cli.render.exploration import (
    IN_RUNS,
    as_data,
    explored,
    extent,
    is_explorable,
    is_not_judged,
    no_model,
    own_adapters,
    simulated_for,
    steps_of,
    unproven_commands,
)
from orchestrator.cli.render.terminal import say_unless, show, show_document, show_json
from orchestrator.documents.abilities import abilities, all_abilities, procedures_of
from orchestrator.documents.lint.inventory import lint_adapters
from orchestrator.documents.lint.runbook import lint
from orchestrator.documents.loader import load_runbook, read_inventory, read_runbook
from orchestrator.documents.shipped import shipped_runbooks
from orchestrator.errors import DefinitionError
from orchestrator.family.composite import compose
from orchestrator.family.contract import Adapter
from orchestrator.family.reachability import with_made_readings
from orchestrator.family.registry import Registry
from orchestrator.model.findings import Finding, Level, first_of, worst
from orchestrator.model.inventory import Hook
from orchestrator.model.runbook import Runbook
from orchestrator.operations.declared_families import FOLDER, offer_families
from orchestrator.operations.procedure import step_lines
from orchestrator.schemas import schemas
from proof.exploration.search import Exploration

# Hidden parts of an inventory. The adapter defines its options, and a person may have written a secret into one.
_UNTOLD: Any = {"hooks": True, "sites": {"__all__": {"options": True, "also": {"__all__": {"options"}}}}}


def print_runbooks(*, as_json: bool) -> None:
    """Print name and summary of each shipped runbook."""
    for name in shipped_runbooks():
        try:
            summary = load_runbook(name).summary
        except DefinitionError as error:  # a bad runbook of a third party must not hide the others
            summary = f"cannot be used: {error}"
        if as_json:
            show_json({"runbook": name, "summary": summary})
        else:
            show(f"{name}  {summary}")


def print_runbook(source: str, *, as_json: bool) -> None:
    """Print the steps of a runbook, in words or as JSON."""
    runbook = load_runbook(source)
    if as_json:
        show_json(runbook.model_dump(mode="json"))
        return
    show(f"{runbook.runbook}: {runbook.summary}")
    for number, step in enumerate(runbook.steps, 1):
        show(f"{number}. {step.title}" + ("  (point of no return)" if step.point_of_no_return else ""))
        for line in step_lines(step):
            show(f"     {line}")


def lint_runbook_file(source: str, adapters: Sequence[str], *, as_json: bool) -> int:
    """Print the findings of a runbook for a site with these adapters. Without ``adapters``, the simulated adapters of its
    family are used. Returns 0, 2 (unreadable) or 4 (an error, or a part that could not be judged)."""
    definition = read_runbook(source)
    if definition.value is None:
        return _print_findings(definition.findings, as_json=as_json, unreadable=True)
    registry = Registry()
    has_model = is_explorable(definition.value)
    names = adapters or (simulated_for(definition.value) if has_model else own_adapters(registry, definition.value))
    declared = compose([registry.get(name) for name in names])
    found = lint(
        definition.value,
        with_made_readings(declared.readings),
        declared.actions,
        file=definition.file,
        lines=definition.lines,
    )
    if not has_model:
        code = _print_findings(
            [*definition.findings, *found, no_model(definition.value, definition.file)], as_json=as_json
        )
        _print_abilities(definition.value, declared, " and ".join(names), as_json=as_json)
        return code
    say_unless(as_json)(f"exploring {definition.value.runbook}")
    walk, together, broken = explored(definition.value, declared.actions, file=definition.file)
    code = _print_findings([*definition.findings, *found, *broken], as_json=as_json)
    if adapters:
        _print_abilities(definition.value, declared, " and ".join(names), as_json=as_json)
    if as_json:
        show_json(as_data(walk, definition.value, together))
    elif not is_not_judged(definition.value):
        _print_walk(walk, together)
        given = unproven_commands(definition.value)
        if given:
            show(f"this assumes that these commands do not change a value that is read: {', '.join(given)}")
    return code


def _print_abilities(runbook: Runbook, declared: type[Adapter], names: str, *, as_json: bool) -> None:
    """Print the procedures that are possible with these adapters: this runbook first, then the product's procedures."""
    own = [] if runbook.runbook in shipped_runbooks() else list(abilities([runbook], declared, declared))
    found = [*own, *all_abilities(procedures_of(runbook.family), declared, declared)]
    if as_json:
        show_json({"adapters": names, "procedures": {one.procedure: one.verdict for one in found}})
        return
    for line in abilities_lines({names: found}, "at both sites"):
        show(line)


def _print_walk(walk: Exploration, together: Mapping[int, Exploration]) -> None:
    """Print the steps that break each promise, and the extent of the exploration."""
    for one in [*walk.found, *(one for both in together.values() for one in both.found)]:
        show(f"the steps that lead to {one.rule}:")
        for line in steps_of(one):
            show(line)
    if not walk.unexplored:
        show(extent(walk))
    for runs, both in together.items():
        show(f"two services of the same sites, {IN_RUNS[runs]}: {extent(both)}")


def lint_inventory_file(file: Path, *, as_json: bool) -> int:
    """Print the findings of an inventory, with the families in the folder beside it. Returns 0, 2 (unreadable) or 4 (an
    error)."""
    offer_families([file.parent / FOLDER])
    definition = read_inventory(file)
    if definition.value is None:
        return _print_findings(definition.findings, as_json=as_json, unreadable=True)
    registry = Registry()
    found = lint_adapters(
        definition.value, registry.declarations, registry.shared, file=definition.file, lines=definition.lines
    )
    return _print_findings([*definition.findings, *found], as_json=as_json)


def _print_findings(findings: Sequence[Finding], *, as_json: bool, unreadable: bool = False) -> int:
    for finding in first_of(findings):
        if as_json:
            show_json(finding.model_dump(mode="json"))
        else:
            show(str(finding))
    if not findings and not as_json:
        show("nothing found")
    if unreadable:
        return 2
    return 4 if worst(findings) in (Level.ERROR, Level.UNKNOWN) else 0


def print_graph(source: str) -> None:
    """Print a Mermaid flowchart, with the steps downwards and the ways back to the left."""
    runbook = load_runbook(source)
    show("flowchart TD")
    ids = [step.id.replace("-", "_") for step in runbook.steps]
    for node, step in zip(ids, runbook.steps, strict=True):
        shape = ("[[", "]]") if step.point_of_no_return else ("[", "]") if step.changes else ("([", "])")
        title = step.title.replace('"', "'")
        show(f'    {node}{shape[0]}"{title}"{shape[1]}')
    for before, after in zip(ids, [*ids[1:], "done"], strict=True):
        show(f"    {before} --> {after}")
    for node, step in zip(ids, runbook.steps, strict=True):
        if step.undo is not None:
            show(f"    {node} -. undo .-> reverted")
        for rule in (step.when_guard_breaks, step.when_stalled):
            if rule is not None:
                gate, answers = rule.gate.replace("-", "_"), " / ".join(rule.choices)
                show(f'    {node} -- "{rule.gate}" --> {node}_{gate}{{{answers}}}')


def print_schema(kind: Literal["runbook", "inventory", "run"]) -> None:
    """Print the JSON Schema of a kind of file."""
    show_document(schemas()[f"{kind}.schema.json"].rstrip())


def print_inventory(file: Path, *, as_json: bool) -> None:
    """Print sites, devices, pairs and hooks. Secrets are shown only as references."""
    inventory = read_inventory(file).result()
    if as_json:
        hooks = [{"name": hook.name, "on": hook.on, "receiver": _receiver(hook)} for hook in inventory.hooks]
        show_json({**inventory.model_dump(mode="json", exclude=_UNTOLD), "hooks": hooks})
        return
    for name, site in inventory.sites.items():
        for number, part in enumerate(site.parts):
            title = f" ({site.title})" if site.title else ""
            what = f"site {name}{title}" if number == 0 else "  also"
            show(f"{what} through {part.adapter}")
            for device in part.devices if number == 0 or site.also[number - 1].devices else ():
                pinned = "host key pinned" if device.host_key else "host key from known_hosts"
                show(f"  {device.name} at {device.address or '-'}:{device.port}, {pinned}")
        for option in site.fence:
            detail = option.value if isinstance(option.value, str) else ""
            show(f"  fence: {option.kind}{f': {detail}' if detail else ''}")
    for pair in inventory.pairs:
        show(f"pair {pair.name}: {pair.sites[0]} (home) and {pair.sites[1]}: {', '.join(pair.services)}")
    for hook in inventory.hooks:
        show(f"hook {hook.name}: {', '.join(hook.on)} to {_receiver(hook)}")


def _receiver(hook: Hook) -> str | None:
    """The program of a command, or the host of an address. The rest of an address may be the receiver's credential."""
    return hook.command[0] if hook.command else urlsplit(hook.webhook.url if hook.webhook else "").hostname
