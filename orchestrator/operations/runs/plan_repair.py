"""The plan of a repair: one of two runbooks, and its services, by the present readings of both sites.

The operator names the site that keeps activity; the program does not decide it. The messages that each site holds for
its mate are read, and shown for that choice. A family offers repair by shipping the two runbooks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.characters import typed
from orchestrator.clock import iso
from orchestrator.core.serving import role_in
from orchestrator.errors import DefinitionError, NotStarted
from orchestrator.model import events as ev
from orchestrator.model.facets import Facet
from orchestrator.model.families import amount
from orchestrator.model.inventory import Pair, Site
from orchestrator.model.readings import Role
from orchestrator.model.runbook import Choice, Side
from orchestrator.operations.families import family_meant, known_family, see_roles, shipped_by
from orchestrator.operations.runs.plan import PlanRequest, make_plan
from orchestrator.operations.runs.plan_recovery import accepting, with_readings
from orchestrator.operations.runtime import Tools
from orchestrator.operations.selection import services_of

NONE_ACTIVE, BOTH_ACTIVE = "repair-standby", "repair-active"

_SIDES: tuple[Side, Side] = ("source", "target")
_RUNBOOKS: Mapping[tuple[Role | None, ...], str] = {
    (Role.STANDBY, Role.STANDBY): NONE_ACTIVE,
    (Role.ACTIVE, Role.ACTIVE): BOTH_ACTIVE,
}
# By runbook: the gates that --accept-loss answers, and the answers.
_ACCEPTED: Mapping[str, Mapping[str, Choice]] = {
    NONE_ACTIVE: {"suspended": "escalate", "undrained": "escalate"},
    BOTH_ACTIVE: {"leave-behind": "accept"},
}


@dataclass(frozen=True, slots=True)
class RepairRequest:
    """The typed options. ``to``: the site that is to be active. ``accept_loss``: why messages may stay at the other
    site."""

    inventory: Path | None
    services: Sequence[str]
    everything: bool
    pair: str | None
    to: str
    accept_loss: str | None
    fail_fast: bool


@dataclass(frozen=True, slots=True)
class _End:
    """One site of a service, as it was just read; None is unknown."""

    site: str
    family: str
    role: Role | None = None
    queued: int | None = None

    @property
    def words(self) -> str:
        """``ny is standby, 12 messages in its replication queue``."""
        if self.role is None:
            return f"{self.site} does not report its role"
        return f"{self.site} is {self.role}, {amount(self.queued, self.family)} in its replication queue"


def repair_plan(tools: Tools, request: RepairRequest) -> ev.Plan:
    """The plan that leaves only ``request.to`` active. Raises ``NotStarted`` if no service needs a repair, or services
    need different repairs; ``DefinitionError`` for an option that does not fit."""
    inventory = tools.inventory(request.inventory)
    family = family_meant(tools, inventory, request.services, request.pair)
    if family:
        see_roles(family)
    _, pair = services_of(
        inventory,
        PlanRequest("", request.inventory, request.services, request.everything, request.pair, None, ev.Policy()),
    )
    other = _other(pair, request.to)
    began = tools.clock.now()
    seen = with_readings(tools, _plan(tools, request, other, NONE_ACTIVE))
    ends = {service: _ends_of(seen, service, began) for service in seen.services}
    runbook, services = _to_repair(ends, everything=request.everything)
    plan = _plan(tools, request, other, runbook)
    notes = tuple(_notes(ends, services, began))
    return plan.model_copy(
        update={"services": services, "notes": (*seen.notes, *notes), "read_before": seen.read_before}
    )


def _other(pair: Pair, to: str) -> str:
    one, two = pair.sites
    if to not in (one, two):
        raise DefinitionError(f"{to!r} is not a site of the pair {pair.name}", hint=f"--site {one} or {two}")
    return two if to == one else one


def _plan(tools: Tools, request: RepairRequest, other: str, runbook: str) -> ev.Plan:
    def shipped(site: Site) -> str:
        return shipped_by(known_family(tools, site), runbook)

    policy = ev.Policy(fail_fast=request.fail_fast)
    if request.accept_loss is not None:
        policy = accepting(policy, _ACCEPTED[runbook], request.accept_loss)
    return make_plan(
        tools,
        PlanRequest(shipped, request.inventory, request.services, request.everything, request.pair, other, policy),
    )


def _ends_of(plan: ev.Plan, service: str, began: float) -> tuple[_End, _End]:
    """Both ends of ``service``, by the readings since ``began``, in seconds since the epoch."""
    source, target = (_end_of(plan, service, side, began) for side in _SIDES)
    return source, target


def _end_of(plan: ev.Plan, service: str, side: Side, began: float) -> _End:
    mine = [one.seen for one in plan.read_before if one.service == service and one.seen.on == side]
    fresh = [seen for seen in mine if seen.asked_at >= began]
    role = next((role for seen in fresh if (role := role_in(seen)) is not None), None)
    counts = [seen.value.number(Facet.BACKLOG) for seen in fresh if seen.value is not None]
    queued = next((number for number in counts if number is not None), None)
    return _End(plan.site_name(side), plan.runbook.family, role, queued)


def _to_repair(ends: Mapping[str, tuple[_End, _End]], *, everything: bool) -> tuple[str, tuple[str, ...]]:
    """The runbook and its services. With ``--all``, only the services that need it."""
    for service, both in ends.items():
        if any(end.role is None for end in both):
            raise NotStarted(
                f"{service}: {_in_words(both)}, so it is unknown which repair is needed",
                hint="wait until both sites report their roles (`failover status`); if a site is lost, use `failover "
                "uncontrolled`",
            )
    found = {service: _RUNBOOKS.get(tuple(end.role for end in both)) for service, both in ends.items()}
    well = [service for service, runbook in found.items() if runbook is None]
    if well and (not everything or len(well) == len(found)):
        source, target = ends[well[0]]
        active = source if source.role is Role.ACTIVE else target
        raise NotStarted(
            f"{well[0]}: {_in_words(ends[well[0]])}: there is nothing to repair",
            hint=f"to move activity: `failover controlled {typed(well[0])} --site {active.site}`",
        )
    kinds = {runbook: [one for one, needed in found.items() if needed == runbook] for runbook in _RUNBOOKS.values()}
    if all(kinds.values()):
        raise NotStarted(
            f"{', '.join(kinds[NONE_ACTIVE])}: no active site; {', '.join(kinds[BOTH_ACTIVE])}: two active sites",
            hint="one run makes only one kind of repair: name the services; repair those with two active sites first",
        )
    [(runbook, services)] = [(runbook, services) for runbook, services in kinds.items() if services]
    return runbook, tuple(services)


def _notes(ends: Mapping[str, tuple[_End, _End]], services: Sequence[str], at: float) -> Iterator[str]:
    """The readings of each service, for the choice of the site; then the services that need no repair."""
    for service in services:
        yield f"{service}: {_in_words(ends[service])} (read at {iso(at)})"
    well = [service for service in ends if service not in services]
    if well:
        yield f"left out, because these services have one active site: {', '.join(well)}"


def _in_words(ends: tuple[_End, _End]) -> str:
    return "; ".join(end.words for end in ends)
