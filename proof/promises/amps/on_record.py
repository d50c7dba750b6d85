"""AMPS: the rules for an event that is on record."""

from __future__ import annotations

from collections.abc import Iterator

from proof.promises.amps.facts import DOORS, instances, is_foreign, is_made, made_by
from proof.promises.facts import Broken, Case, LaneFacts, Plain


def judge_record(case: Case, lane: LaneFacts, event: Plain, world: Plain | None) -> Iterator[Broken]:
    """Every promise that this event breaks. ``lane`` does not contain the event yet."""
    if world is None or event.get("step") in lane.waived:
        return
    match event["kind"]:
        case "step.done":
            yield from _unproven(case, lane, case.steps[event["step"]], event["step"], world)
        case "undo.done" if not event["skipped"]:
            yield from _unproven(case, lane, case.steps[event["step"]]["undo"], event["step"], world)


def _unproven(case: Case, lane: LaneFacts, task: Plain, step: str, world: Plain) -> Iterator[Broken]:
    """Promises 1 and 4: a step that counts as done or undone is really so: it was read, and the world agrees."""
    do = task.get("do")
    if do is None or not task.get("expect"):
        return
    site, what = case.site(do["on"]), made_by(do["action"], do["args"])
    instance = instances(lane, world)[site]
    if instance["phase"] == "down" or is_made(instance, what) or is_foreign(case, lane, world, site, what):
        return
    yield Broken(1 if what in DOORS else 4, f"{lane.service}: {step} is done, and {site} is not {what}")
