"""Solace: the rules for an event that is on record."""

from __future__ import annotations

from collections.abc import Iterator

from proof.promises.facts import Broken, Case, LaneFacts, Plain
from proof.promises.solace.facts import is_fenced, is_foreign


def judge_record(case: Case, lane: LaneFacts, event: Plain, world: Plain | None) -> Iterator[Broken]:
    """Every promise that this event breaks. ``lane`` does not contain the event yet."""
    match event["kind"]:
        case "step.done":
            yield from _unproven(case, lane, event, world)
        case "lane.escalated" if event["at_risk"] is None and lane.has_gauge:
            yield Broken(3, f"{lane.service}: escalated without the number of messages at risk")


def _unproven(case: Case, lane: LaneFacts, event: Plain, world: Plain | None) -> Iterator[Broken]:
    """Promises 1 and 8: a step that counts as done is really so: it was read, and the world agrees."""
    step = case.steps[event["step"]]
    do = step.get("do")
    if do is None or not step.get("expect") or event["step"] in lane.waived or world is None:
        return
    site = case.site(do["on"])
    if do["action"] == "set_role":
        role = world["services"][lane.service]["roles"][site]
        if role != do["args"]["role"] and not is_foreign(case, lane, world, site):
            yield Broken(1, f"{lane.service}: {step['id']} is done, and {site} is {role}")
    closes = any(check["where"].get("closed") is True for check in step["expect"])
    if do["action"] in ("set_backbone", "set_external_fence") and closes and not is_fenced(world, site):
        yield Broken(8, f"{lane.service}: {step['id']} is done, and clients can reach {site}")
