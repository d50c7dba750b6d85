"""Solace: the rules for the world itself, at every moment and at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator

from proof.promises.facts import Broken, Case, LaneFacts, Plain
from proof.promises.solace.facts import COMMANDED, LOSSLESS, has_foreign_hand, is_foreign
from proof.promises.solace.on_site import judge_doors, judge_left_shut

_NEAR = 1e-6
# Ends after which nothing may be lost. After an escalation, no more than the reported number may be lost.
_COUNTED = ("done", "reverted", "refused", "escalated")


def judge_world(case: Case, lane: LaneFacts, service: Plain, world: Plain) -> Iterator[Broken]:
    """Every promise that the world shows to be broken, at any moment."""
    if not lane.accepted("unfenced"):
        yield from _both_active(case, lane, service, world)
    yield from judge_doors(case, lane, world)


def _both_active(case: Case, lane: LaneFacts, service: Plain, world: Plain) -> Iterator[Broken]:
    """Promise 1: no command of ours starts an interval with two active sites."""
    begun = case.begun["moment"] if case.begun is not None else 0.0
    for start, _ in service["both_active"]:
        if start < begun:
            continue
        took = [
            site
            for moment, site, role, by in service["changes"]
            if role == "active" and by != "somebody" and abs(moment - start) < _NEAR
        ]
        told = {
            order["site"]
            for order in lane.ordered
            if order["action"] == "set_role"
            and order["args"]["role"] == "active"
            and order["moment"] <= start + _NEAR
        }
        for site in told.intersection(took):
            other = next(one for one in service["roles"] if one != site)
            if not is_foreign(case, lane, world, other):
                yield Broken(1, f"{lane.service}: activating {site} made two active sites")


def judge_end(case: Case, lane: LaneFacts, service: Plain, world: Plain) -> Iterator[Broken]:
    """Promises 3, 4 and 7, once no process leads the run any more and everything in transit has arrived."""
    yield from _where_activity_is(case, lane, world)
    yield from judge_doors(case, lane, world)
    yield from judge_left_shut(case, lane, world)
    yield from _refilled(case, lane, service, world)
    yield from _own_left(case, lane, service)
    yield from _changed_nothing(case, lane, service, world)
    yield from _lost(case, lane, service, world)
    yield from _left_behind(case, lane, service)


def judge_lasting(case: Case, lane: LaneFacts, service: Plain, world: Plain) -> Iterator[Broken]:
    """Judges the permanent results of a lane, after all later runs."""
    yield from judge_doors(case, lane, world)


def counts(case: Case, lane: LaneFacts) -> bool:
    """Does the run promise no loss, or a limit on the loss? Only then the outcome of the messages matters."""
    return case.runbook in LOSSLESS and lane.outcome in _COUNTED


def _where_activity_is(case: Case, lane: LaneFacts, world: Plain) -> Iterator[Broken]:
    """The name of an end determines which site is active, unless another person changed a role or a site is lost."""
    if has_foreign_hand(case, lane, world) or "restore" in case.runbook or "suspend" in case.runbook:
        return
    source, target = case.site("source"), case.site("target")
    # The state of a site that is down or fenced is unknown. The operator who answers for it by name was informed.
    is_behind_fence = case.runbook == COMMANDED
    known = world["sites"][source]["serves"] and not is_behind_fence and not lane.accepted("unfenced")
    begun = {} if case.begun is None else case.begun["services"][lane.service]["roles"]
    away = {source: "standby", target: "active"} if known else {target: "active"}
    wanted = {"done": away, "escalated": away, "reverted": begun}
    roles = world["services"][lane.service]["roles"]
    for site, role in wanted.get(lane.outcome or "", {}).items():
        if roles[site] != role:
            yield Broken(4, f"{lane.service}: ended {lane.outcome}, and {site} is {roles[site]}")


def _refilled(case: Case, lane: LaneFacts, service: Plain, world: Plain) -> Iterator[Broken]:
    """Promise 15: a lane that is done without an escalation has left nothing queued at its source."""
    if (
        lane.outcome != "done"
        or case.runbook not in LOSSLESS
        or has_foreign_hand(case, lane, world, since=_read_before_leaving(lane))
    ):
        return
    left = service["queued"][case.site("source")]
    if left:
        yield Broken(15, f"{lane.service}: done, and {left} messages are queued at {case.site('source')}")


def _read_before_leaving(lane: LaneFacts) -> float | None:
    """The moment of the readings on which the target was last told to take over. None: unknown."""
    told = [one for one in lane.ordered if one["action"] == "set_role" and one["on"] == "target"]
    return None if not told else told[-1].get("read") or told[-1]["moment"]


def _own_left(case: Case, lane: LaneFacts, service: Plain) -> Iterator[Broken]:
    """Promise 17: reverted means that no change of the run is left, not even one by the operator's own commands."""
    if lane.outcome != "reverted" or lane.accepted("left-changed"):
        return
    before = [] if case.begun is None else case.begun["services"][lane.service]["effects"]
    for site, action, args, _ in (one for one in service["effects"] if one not in before):
        if action == "ensure" and args["command"] == "park":
            yield Broken(17, f"{lane.service}: reverted, and the operator's own command at {site} is still in effect")


def _changed_nothing(case: Case, lane: LaneFacts, service: Plain, world: Plain) -> Iterator[Broken]:
    """Refused means that nothing was changed. The doors of a site are exempt, because all its services share them. Roles
    are exempt if a person changed one: a change that was undone before it was read looks as if it had never happened."""
    if lane.outcome != "refused" or case.begun is None:
        return
    before = case.begun["services"][lane.service]["effects"]
    excused = {"set_backbone", "set_external_fence", "ensure"} | (
        {"set_role"} if has_foreign_hand(case, lane, world) else set()
    )
    new = [one for one in service["effects"] if one[3] and one not in before and one[1] not in excused]
    if new:
        yield Broken(4, f"{lane.service}: refused, and {new[0][1]} took effect at {new[0][0]}")


def _lost(case: Case, lane: LaneFacts, service: Plain, world: Plain) -> Iterator[Broken]:
    """Promise 3: nothing is lost if the run is done, reverted or refused. After an escalation, no more than was said to
    be at risk."""
    if not counts(case, lane) or lane.accepted("unsafe-return") or "lost" not in service:
        return
    if case.begun is None or has_foreign_hand(case, lane, world):
        return
    new = service["lost"] - case.begun["services"][lane.service]["lost"]
    if new > 0 and lane.outcome in ("done", "reverted", "refused"):
        yield Broken(3, f"{lane.service}: {lane.outcome}, and {new} messages were lost")
    at_risk = None if lane.escalated is None else lane.escalated["at_risk"]
    if lane.outcome == "escalated" and at_risk is not None and new > at_risk:
        yield Broken(3, f"{lane.service}: {at_risk} messages were said to be at risk, and {new} were lost")


def _left_behind(case: Case, lane: LaneFacts, service: Plain) -> Iterator[Broken]:
    """Promise 7: a transaction that was completed by decision is deleted afterwards."""
    if lane.outcome not in ("done", "escalated") or lane.waived:
        return
    completed = {
        order["args"]["xid"] for order in lane.ordered if order["action"] == "complete_transaction"
    } & lane.rulings.keys()
    sides = ("source",) if "restore" in case.runbook else ("source", "target")
    for site in (case.site(side) for side in sides):
        left = [
            xid for xid, state in service["transactions"][site].items() if state == "COMPLETE" and xid in completed
        ]
        if left:
            yield Broken(7, f"{lane.service}: {lane.outcome}, and {', '.join(left)} is left complete at {site}")
