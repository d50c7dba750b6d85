"""The plan of a story's run: its runbook, loaded once, its inventory, and the decisions in advance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from orchestrator.documents.loader import load_runbook
from orchestrator.model import events as ev
from orchestrator.model.installed import remembered
from orchestrator.model.runbook import Do, Runbook, Step, Undo
from proof.simulation.stage import Stage
from proof.simulation.story import OwnCommand, Part

# In a story in haste, longer durations are cut to these, in seconds. The time that an effect may be late is kept.
_SHORT = {"patience": 5.0, "within": 4.0, "hold": 2.0, "timeout": 20.0}
_GRACE, _STALL, _WAIT = 4.0, 6.0, 25.0
_TIMEOUT = 5.0  # of one command


_shipped = remembered(load_runbook)


@remembered
def runbook(name: str, *, haste: bool) -> Runbook:
    """The shipped runbook. In haste, its long waits are cut."""
    shipped = _shipped(name)
    if not haste:
        return shipped
    return shipped.model_copy(update={"steps": tuple(_hurried(step) for step in shipped.steps)})


def _hurried(step: Step) -> Step:
    cut: dict[str, object] = {name: limit for name, limit in _SHORT.items() if (getattr(step, name) or 0.0) > limit}
    if step.when_guard_breaks is not None:
        cut["when_guard_breaks"] = step.when_guard_breaks.model_copy(update={"grace": _GRACE, "wait_at_most": _WAIT})
    if step.when_stalled is not None:
        cut["when_stalled"] = step.when_stalled.model_copy(update={"after": _STALL, "wait_at_most": _WAIT})
    return step.model_copy(update=cut)


@remembered
def _plain_runbook(name: str, *, haste: bool) -> dict[str, Any]:
    return runbook(name, haste=haste).model_dump(mode="json")


@remembered
def readings_of(name: str) -> frozenset[str]:
    """The readings that a shipped runbook takes."""
    return frozenset(_named(_plain_runbook(name, haste=False)))


def _named(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("reading"), str):
            yield part["reading"]
        part = list(part.values())
    if isinstance(part, list):
        for one in part:
            yield from _named(one)


def plain(plan: ev.Plan, part: Part) -> dict[str, Any]:
    """The plan of ``part`` as plain data, for the judge: most of it is the runbook, which many runs have in common."""
    told = plan.model_dump(mode="json", exclude={"runbook"})
    if part.own is not None:
        return {**told, "runbook": plan.runbook.model_dump(mode="json")}
    return {**told, "runbook": _plain_runbook(part.runbook, haste=part.haste)}


def plan_of(part: Part, stage: Stage, now: float, failed_over_at: float | None = None) -> ev.Plan:
    """The plan of ``part``. ``now``: seconds since the epoch, by the planner's clock. ``failed_over_at``: the same, by
    the world's clock."""
    outage = None
    if part.outage_ago is not None:
        outage = ev.Outage(at=now - part.outage_ago, suspended=part.suspended, spool_lost=part.spool_lost)
    elif failed_over_at is not None:
        outage = ev.Outage(at=failed_over_at, suspended=part.suspended, spool_lost=part.spool_lost)
    approval = None
    if part.sought is not None:
        sought = part.sought
        approval = ev.ApprovalRule(
            needed=sought.needed, within=sought.within, requester="ann", break_glass=sought.break_glass
        )
    steps = runbook(part.runbook, haste=part.haste)
    return ev.Plan(
        runbook=steps if part.own is None else _with_own(steps, part.own),
        inventory=stage.inventory(command_timeout=_TIMEOUT),
        pair="night",
        source=part.source,
        target=next(site for site in stage.sites if site != part.source),
        services=part.services,
        policy=part.policy,
        simulated=True,
        outage=outage,
        waves=part.waves,
        approval=approval,
    )


def _with_own(steps: Runbook, own: OwnCommand) -> Runbook:
    """The runbook with a step for the operator's own command."""
    undo = Undo(do=Do(on="source", action="ensure", args={"command": "unpark"}))
    step = Step(
        id="own-command",
        title="The operator's own command",
        do=Do(on="source", action="ensure", args={"command": "park"}),
        undo=undo if own.has_undo else None,
    )
    at = steps.index_of(own.before)
    return steps.model_copy(update={"steps": (*steps.steps[:at], step, *steps.steps[at:])})
