"""The plans of the four kinds of moves: from the request, the record, and readings taken in advance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from orchestrator.errors import DefinitionError
from orchestrator.family.moves import Given, Kind, MoveOption
from orchestrator.family.offers import offering
from orchestrator.model import events as ev
from orchestrator.model.comparisons import RISK_GATE
from orchestrator.model.inventory import Site
from orchestrator.operations.families import family_meant, known_family, shipped_by
from orchestrator.operations.runs.fence_plan import see_answered, with_instructions
from orchestrator.operations.runs.given_options import options_meant, policy_given
from orchestrator.operations.runs.plan import PlanRequest, make_plan
from orchestrator.operations.runs.plan_recovery import (
    accepting,
    see_comparable,
    see_one_active,
    site_to_leave,
    unfenced_answers,
    with_evidence,
    with_last_known,
    with_outage,
    with_readings,
    without_waiver,
)
from orchestrator.operations.runtime import Tools


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveRequest:
    """The options of every move. ``given``: options of families, by flag. ``on_stall``: the answer to a drain that
    stops, or None. ``is_attended``: a person can answer while it runs. ``is_settled``: the run starts without a
    question, so a question that is not answered in advance is refused here."""

    inventory: Path | None = None
    services: Sequence[str] = ()
    everything: bool = False
    pair: str | None = None
    given: Given = field(default_factory=dict)
    on_stall: str | None = None
    fail_fast: bool = False
    is_attended: bool = False
    is_settled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlledRequest(MoveRequest):
    """``source``: the site that gives up activity, None for the home site. ``runbook``: a different runbook, or
    None."""

    source: str | None = None
    runbook: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UncontrolledRequest(MoveRequest):
    """``attest``: how the ``failed`` site is fenced. ``reason``: why to continue without a fence. ``fence_first``: do
    not offer to continue without a fence."""

    failed: str
    attest: str | None = None
    reason: str | None = None
    fence_first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreRequest(MoveRequest):
    """``site``: the site that comes back."""

    site: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FailbackRequest(MoveRequest):
    """``to``: None for the home site. ``failed_over_at``: seconds since the epoch, if no record contains it.
    ``accept_risk``: why it goes back although this is not shown to be safe. ``attest``: who compared both sites.
    ``evidence``: makes, from the plan, a report that shows it is safe, at most ``evidence_age`` seconds old; None: no
    report."""

    to: str | None = None
    failed_over_at: float | None = None
    accept_risk: str | None = None
    attest: str | None = None
    evidence: Callable[[ev.Plan], Path] | None = None
    evidence_age: float = 0.0


def controlled_plan(tools: Tools, request: ControlledRequest) -> ev.Plan:
    """The plan of a planned move. Raises ``DefinitionError`` if options do not fit together."""
    own = options_meant(_family(tools, request, is_own=request.runbook is not None), "controlled", request.given)
    runbook = request.runbook or _usual(tools, "controlled", request.given)
    return _plan(tools, request, runbook, request.source, _policy(tools, request, own))


def uncontrolled_plan(tools: Tools, request: UncontrolledRequest) -> ev.Plan:
    """The plan of a fail-over from a lost site. Raises ``DefinitionError`` if options do not fit together."""
    own = options_meant(_family(tools, request), "uncontrolled", request.given)
    reached = [one for one in own if one.accepts]
    answers = unfenced_answers(request.attest, request.reason, reached[0].accepts if reached else None)
    policy = accepting(_policy(tools, request, own), answers, request.attest or request.reason)
    said = {"--attest": request.attest, "--reason": request.reason}
    given = {**request.given, **{flag: text for flag, text in said.items() if text is not None}}
    plan = _plan(tools, request, _usual(tools, "uncontrolled", given), request.failed, policy)
    if request.is_settled:
        see_answered(plan)
    plan = with_instructions(without_waiver(plan) if request.fence_first else plan)
    plan = with_last_known(tools, plan)
    return with_readings(tools, plan) if reached else plan


def restore_plan(tools: Tools, request: RestoreRequest) -> ev.Plan:
    """The plan that brings a site back. Raises ``DefinitionError``, or ``NotStarted`` if it must not start now."""
    started = tools.clock.now()
    own = options_meant(_family(tools, request), "restore", request.given)
    plan = _plan(tools, request, _usual(tools, "restore", request.given), request.site, _policy(tools, request, own))
    if request.is_settled:
        see_answered(plan)
    is_empty = any(one.loses and request.given.get(one.flag) == one.loses for one in own)
    plan = with_outage(tools, plan, acting=plan.target, at=None, spool_lost=is_empty)
    plan = with_readings(tools, plan)
    see_one_active(tools, plan, started)
    return plan


def failback_plan(tools: Tools, request: FailbackRequest) -> ev.Plan:
    """The plan that gives activity back. Raises ``DefinitionError``, or ``NotStarted`` if it must not start now."""
    if request.accept_risk is not None and request.attest is not None:
        raise DefinitionError(
            "--attest says that the fail-back is safe, but --accept-risk says that it is not; give only one of them"
        )
    policy = _policy(tools, request, options_meant(_family(tools, request), "failback", request.given))
    why = request.attest or request.accept_risk
    if why is not None:
        policy = accepting(policy, {RISK_GATE: "accept" if request.attest is None else "attest"}, why)
    inventory = tools.inventory(request.inventory)
    source = site_to_leave(inventory, request.services, request.pair, request.to)
    plan = _plan(tools, request, _usual(tools, "failback", request.given), source, policy)
    if request.is_settled and request.evidence is None:
        see_comparable(tools, plan)
    plan = with_outage(tools, plan, acting=plan.source, at=request.failed_over_at, spool_lost=False)
    plan = with_readings(tools, plan)
    if request.evidence is None:
        return plan
    return with_evidence(tools, plan, request.evidence(plan), request.evidence_age)


def recorded_options(plan: ev.Plan, kind: Kind, given: Given) -> Mapping[str, str]:
    """The options of the request that no field of the plan holds, by flag."""
    own = offering(plan.runbook.family).options(kind)
    return {one.flag: given.get(one.flag, one.values[0]) for one in own if one.values}


def _family(tools: Tools, request: MoveRequest, *, is_own: bool = False) -> str:
    """The family of the request; empty: not clear, which planning reports. ``is_own``: the operator uses an own
    procedure, so the family may not be installed."""
    inventory = tools.inventory(request.inventory)
    return family_meant(tools, inventory, request.services, request.pair, is_known=not is_own)


def _usual(tools: Tools, kind: Kind, given: Given) -> Callable[[Site], str]:
    """The runbook of this kind that the family of a site ships."""

    def choose(site: Site) -> str:
        family = known_family(tools, site)
        return shipped_by(family, offering(family).runbook_for(kind, site, given))

    return choose


def _policy(tools: Tools, request: MoveRequest, own: Sequence[MoveOption]) -> ev.Policy:
    policy = policy_given(own, request.given, request.on_stall, attended=request.is_attended, who=tools.who())
    return policy.model_copy(update={"fail_fast": request.fail_fast})


def _plan(
    tools: Tools,
    request: MoveRequest,
    runbook: str | Callable[[Site], str],
    source: str | None,
    policy: ev.Policy,
) -> ev.Plan:
    return make_plan(
        tools,
        PlanRequest(runbook, request.inventory, request.services, request.everything, request.pair, source, policy),
    )
