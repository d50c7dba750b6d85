"""States in one sentence what a lane waits for, from its last round of readings. This module decides nothing."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.core.decide.evaluate import Verdict, judge
from orchestrator.core.decide.for_each import listed
from orchestrator.core.lane import Lane, Stage
from orchestrator.core.run import Run
from orchestrator.counting import counted
from orchestrator.model.runbook import Check, ForEach, Step


def waits_for(run: Run, service: str, now: float) -> str:
    """The first condition of the present step that the last readings do not show as true, such as ``ny: not keeping up``.
    Empty if there is none. ``now`` is in seconds since the epoch."""
    lane = run.lanes[service]
    steps = run.plan.runbook.steps
    if lane.ended or lane.gates or lane.step >= len(steps):
        return ""
    step = steps[lane.step]
    if lane.goal_since is not None and step.hold:
        return f"the goal must hold for {step.hold:.0f}s, and has held for {max(0.0, now - lane.goal_since):.0f}s"
    if lane.stage is Stage.REQUIRE and step.only_if and not lane.condition_met:
        # The lane waits only while it is unknown whether the step applies.
        verdict = judge(run.plan, lane, _read(lane, step.only_if))
        return verdict.why if verdict.holds is None else ""
    if lane.stage is Stage.MAIN and step.for_each is not None:
        return _left_to_others(run, lane, step, step.for_each, now)
    verdict = judge(run.plan, lane, _read(lane, _conditions(run, lane, step)))
    return "" if verdict.holds else verdict.why


def _left_to_others(run: Run, lane: Lane, step: Step, each: ForEach, now: float) -> str:
    """The items that are left to the transaction manager until the ``delay`` of the step is over."""
    items = listed(run.plan, lane, each)
    left = lane.left_at + run.plan.delay_of(step) - now
    if isinstance(items, Verdict):
        return items.why
    if not items or left <= 0:
        return ""
    return f"{counted(len(items), 'transaction')} left to the transaction manager for {left:.0f}s more"


def _read(lane: Lane, checks: Sequence[Check]) -> list[Check]:
    return [check for check in checks if lane.reading(check.on, check.reading) is not None]


def _conditions(run: Run, lane: Lane, step: Step) -> Sequence[Check]:
    if lane.status == "reverting" and lane.undo:
        undo = run.plan.runbook.steps[run.plan.runbook.index_of(lane.undo[-1])].undo
        return undo.expect if undo is not None and lane.stage is Stage.PROVE else ()
    match lane.stage:
        case Stage.REQUIRE:
            return (*step.require, *step.reconfirm)
        case Stage.MAIN:
            return (*step.guard, *step.until)
        case Stage.PROVE:
            return step.expect
        case _:
            return ()
