"""Makes a plan from the typed options: the services, the direction, and the decisions made in advance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.core.fitted_runbook import fitted
from orchestrator.documents.lint.runbook import lint
from orchestrator.documents.loader import read_runbook
from orchestrator.errors import DefinitionError
from orchestrator.family.reachability import with_made_readings
from orchestrator.model import events as ev
from orchestrator.model.inventory import Inventory, Site
from orchestrator.model.runbook import Runbook, Side
from orchestrator.operations.declared_families import files_of
from orchestrator.operations.runs.given_options import as_asked
from orchestrator.operations.runtime import Tools
from orchestrator.operations.secret_references import without_inline
from orchestrator.operations.selection import services_of


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """The typed options. ``runbook`` may depend on the source's site, for example on its fence plan."""

    runbook: str | Callable[[Site], str]
    inventory: Path | None
    services: Sequence[str]
    everything: bool
    pair: str | None
    source: str | None
    policy: ev.Policy


def make_plan(tools: Tools, request: PlanRequest) -> ev.Plan:
    """The plan of a run. Raises ``DefinitionError`` if parts of it do not fit together."""
    inventory = tools.inventory(request.inventory)
    services, pair = services_of(inventory, request)
    source = request.source or pair.sites[0]
    if source not in pair.sites:
        raise DefinitionError(
            f"{source!r} is not a site of the pair {pair.name}",
            hint=f"name {pair.sites[0]} or {pair.sites[1]}",
        )
    target = pair.sites[1] if source == pair.sites[0] else pair.sites[0]
    runbook = request.runbook if isinstance(request.runbook, str) else request.runbook(inventory.sites[source])
    for name in pair.sites:
        shared = tools.registry.shared(inventory.sites[name], pair.services)
        if shared:
            hint = "list these services as one service, or give each service a separate instance"
            raise DefinitionError(shared, hint=hint)
    definition = _runbook(tools, runbook, inventory, source, target)
    parts = (part for name in pair.sites for part in inventory.sites[name].parts)
    return ev.Plan(
        runbook=definition,
        inventory=Inventory(
            sites={name: inventory.sites[name] for name in pair.sites}, pairs=(pair,), hooks=inventory.hooks
        ),
        pair=pair.name,
        source=source,
        target=target,
        services=tuple(services),
        policy=as_asked(request.policy, definition),
        simulated=tools.is_simulated(inventory),
        families=files_of(tools.registry.get(part.adapter) for part in parts),
    )


def _runbook(tools: Tools, name: str, inventory: Inventory, source: str, target: str) -> Runbook:
    """The runbook, checked against the readings and actions of each site's adapters."""
    definition = read_runbook(name)
    runbook = definition.result()
    sides: Mapping[Side, str] = {"source": source, "target": target}
    actions = {}
    for side, site in sides.items():
        declared = tools.registry.declarations(inventory.sites[site])
        actions[side] = declared.actions
        for finding in lint(
            runbook,
            with_made_readings(declared.readings),
            declared.actions,
            side=side,
            file=definition.file,
            lines=definition.lines,
        ):
            if finding.level == "error":
                sentence = f"{finding.message} [{finding.code}]"
                raise DefinitionError(sentence, hint=finding.hint, file=finding.file, line=finding.line)
    return fitted(runbook, actions)


def recordable(plan: ev.Plan) -> ev.Plan:
    """The plan as it is recorded. A secret in the inventory itself is left out: the person who resumes the run is asked
    for it."""
    sites = {name: without_inline(site) for name, site in plan.inventory.sites.items()}
    return plan.model_copy(update={"inventory": plan.inventory.model_copy(update={"sites": sites})})
