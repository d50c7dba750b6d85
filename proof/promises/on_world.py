"""What must hold of the world itself: at every moment, and at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator

from proof.promises.facts import Broken, Case, Plain
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


def judge_end(rules: Rules, case: Case, world: Plain) -> Iterator[Broken]:
    """Promises of a run that nobody leads any more; everything that was on its way has arrived."""
    for name, service in world["services"].items():
        lane = case.lanes.get(name)
        if lane is None:
            yield from _untouched(rules, case, name, service)
        else:
            yield from rules.end(case, lane, service, world)


def _untouched(rules: Rules, case: Case, name: str, service: Plain) -> Iterator[Broken]:
    """What is not of the run is sent nothing; but a door of a whole site is everybody's."""
    before = [] if case.begun is None else case.begun["services"][name]["effects"]
    new = [one for one in service["effects"] if one not in before and one[1] not in rules.shared]
    if new:
        yield Broken(4, f"{name}: it is not of this run, and was sent {new[0][1]}")
