"""The plan of a story's run: its runbook, loaded once, its inventory, and what was decided beforehand."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from orchestrator import events as ev
from orchestrator.loader import load_runbook
from orchestrator.runbook import Runbook, Step
from proof.simulation.stage import Stage
from proof.simulation.story import Story

# What takes longer is cut to this, seconds, for a story in haste; how long an effect may be late is not touched.
_SHORT = {"patience": 5.0, "within": 4.0, "hold": 2.0, "timeout": 20.0}
_GRACE, _STALL = 4.0, 6.0
_TIMEOUT = 5.0  # of one command


_shipped = cache(load_runbook)


@cache
def runbook(name: str, *, haste: bool) -> Runbook:
    """The shipped runbook; in haste with the long waits cut."""
    shipped = _shipped(name)
    if not haste:
        return shipped
    return shipped.model_copy(update={"steps": tuple(_hurried(step) for step in shipped.steps)})


def _hurried(step: Step) -> Step:
    cut: dict[str, object] = {name: limit for name, limit in _SHORT.items() if (getattr(step, name) or 0.0) > limit}
    if step.when_guard_breaks is not None:
        cut["when_guard_breaks"] = step.when_guard_breaks.model_copy(update={"grace": _GRACE})
    if step.when_stalled is not None:
        cut["when_stalled"] = step.when_stalled.model_copy(update={"after": _STALL})
    return step.model_copy(update=cut)


@cache
def _plain_runbook(name: str, *, haste: bool) -> dict[str, Any]:
    return runbook(name, haste=haste).model_dump(mode="json")


@cache
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


def plain(plan: ev.Plan, story: Story) -> dict[str, Any]:
    """The plan of ``story`` as plain data, for the judge: most of it is the runbook, which many nights have in common."""
    told = plan.model_dump(mode="json", exclude={"runbook"})
    return {**told, "runbook": _plain_runbook(story.runbook, haste=story.haste)}


def plan_of(story: Story, stage: Stage, now: float) -> ev.Plan:
    """``now``: seconds since the epoch."""
    outage = None
    if story.outage_ago is not None:
        outage = ev.Outage(at=now - story.outage_ago, suspended=story.suspended, spool_lost=story.spool_lost)
    return ev.Plan(
        runbook=runbook(story.runbook, haste=story.haste),
        inventory=stage.inventory(command_timeout=_TIMEOUT),
        pair="night",
        source=story.source,
        target=next(site for site in stage.sites if site != story.source),
        services=story.services,
        policy=story.policy,
        simulated=True,
        outage=outage,
        waves=story.waves,
    )
