"""The rules for the world itself: at every moment, and at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator

from proof.promises.facts import Broken, Case, LaneFacts, Plain
from proof.promises.rules import Rules


def judge_world(rules: Rules, case: Case, world: Plain) -> Iterator[Broken]:
    """Every promise that the world shows to be broken, at any moment."""
    for name, service in world["services"].items():
        for site, action, args, effects in service["effects"]:
            if action in rules.not_idempotent and effects > 1:
                yield Broken(4, f"{name}: {action} {args} took effect {effects} times at {site}")
        lane = case.lanes.get(name)
        if lane is not None:
            yield from rules.world(case, lane, service, world)
            if case.is_whole:
                yield from _unasked(rules, case, lane, service)


def _unasked(rules: Rules, case: Case, lane: LaneFacts, service: Plain) -> Iterator[Broken]:
    """Promise 5: only permitted commands take effect, and each effect has its own permit."""
    if case.begun is None:
        return
    of_others = rules.outside | rules.shared
    had = sum(one[3] for one in case.begun["services"][lane.service]["effects"] if one[1] not in of_others)
    has = sum(one[3] for one in service["effects"] if one[1] not in of_others)
    begun = case.begun["moment"]
    lanes = [lane, *(one.lanes[lane.service] for one in case.others if lane.service in one.lanes)]
    ordered = [one for each in lanes for one in each.ordered if each is lane or one["moment"] >= begun]
    if has - had > sum(order["action"] not in of_others for order in ordered):
        yield Broken(5, f"{lane.service}: something took effect, and no permit was asked for")


def judge_end(rules: Rules, case: Case, world: Plain) -> Iterator[Broken]:
    """Promises at the end: no process leads the run any more, and everything in transit has arrived."""
    for name, service in world["services"].items():
        lane = case.lanes.get(name)
        if lane is None and any(name in other.lanes for other in case.others):
            continue
        if lane is None:
            yield from _untouched(rules, case, name, service)
        else:
            yield from rules.end(case, lane, service, world)


def judge_lasting(rules: Rules, case: Case, world: Plain) -> Iterator[Broken]:
    """Judges the permanent results of a run, after all later runs."""
    for name, lane in case.lanes.items():
        yield from rules.lasting(case, lane, world["services"][name], world)


def _untouched(rules: Rules, case: Case, name: str, service: Plain) -> Iterator[Broken]:
    """A service outside the run is sent nothing. Actions on a whole site are exempt, because all its services share
    them."""
    before = [] if case.begun is None else case.begun["services"][name]["effects"]
    new = [one for one in service["effects"] if one not in before and one[1] not in rules.shared]
    if new:
        yield Broken(4, f"{name}: it is not of this run, and was sent {new[0][1]}")
