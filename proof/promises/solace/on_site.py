"""Solace: the rules for a whole site, not for one message VPN: its doors, and the services that rely on shut doors."""

from __future__ import annotations

from collections.abc import Iterator

from proof.promises.facts import Broken, Case, LaneFacts, Plain, words
from proof.promises.solace.facts import is_fenced

# Runbooks that close their source permanently.
_FENCING = frozenset({"solace/uncontrolled-isolated", "solace/uncontrolled-commanded", "solace/guard"})
_CLOSING = frozenset({("set_backbone", "down"), ("set_external_fence", "closed")})
_GIVEN_UP = ("reverted", "refused")


def is_closing(action: str, args: Plain) -> bool:
    """Does the action shut a door of a whole site?"""
    return (action, args.get("state")) in _CLOSING


def relies(case: Case, lane: LaneFacts, site: str) -> bool:
    """Has this lane shut the doors of ``site``, and does it rely on that? It does until a restore has taken over. A lane
    that rolls back does not, unless its target may be active already."""
    if case.runbook not in _FENCING or case.site("source") != site:
        return False
    is_leaving = lane.is_reverting or lane.is_turning or lane.outcome in _GIVEN_UP
    if is_leaving and not lane.may_have_made("target", role="active"):
        return False
    fences = {
        name
        for name, step in case.steps.items()
        if step["do"] and is_closing(step["do"]["action"], step["do"]["args"])
    }
    return not fences.isdisjoint(lane.done) and not _is_restored(case, lane, site)


def _is_restored(case: Case, lane: LaneFacts, site: str) -> bool:
    """Has a restore of the same service made the site its standby?"""
    others = [one for one in case.others if one.runbook.startswith("solace/restore") and one.site("source") == site]
    return any("standby" in one.lanes[lane.service].done for one in others if lane.service in one.lanes)


def relying(case: Case, site: str, besides: LaneFacts) -> list[str]:
    """All services, of any run of this world, that rely on the shut doors of ``site``."""
    return [
        lane.service
        for one in (case, *case.others)
        for lane in one.lanes.values()
        if lane is not besides and relies(one, lane, site)
    ]


def judge_door(case: Case, lane: LaneFacts, order: Plain, world: Plain | None) -> Iterator[Broken]:
    """Promise 14: no run opens a door while others rely on its being shut. Only the run that shut a door may undo
    that."""
    is_undo = not case.runbook.startswith("solace/restore")
    others = [name for name in relying(case, order["site"], lane) if name != order["service"] or is_undo]
    if others:
        yield Broken(14, f"{words(order)}, and {others[0]} relies on its being shut")
    if world is None or not is_undo:
        return
    shut = [one for one in _closings(case, order["site"]) if one["action"] == order["action"]]
    if shut and not any(one.get("found_open", True) for one in shut):
        yield Broken(14, f"{words(order)}, and another had shut it before this run")


def _closings(case: Case, site: str) -> list[Plain]:
    """The commands that this run has sent to shut the doors of a site."""
    sent = [one for lane in case.lanes.values() for one in lane.ordered]
    return [one for one in sent if one["site"] == site and is_closing(one["action"], one["args"])]


def judge_doors(case: Case, lane: LaneFacts, world: Plain) -> Iterator[Broken]:
    """Promise 8: a site that a finished lane has fenced stays fenced, whatever others do, until a restore opens it."""
    site = case.site("source")
    if lane.outcome == "done" and relies(case, lane, site) and not is_fenced(world, site):
        yield Broken(8, f"{lane.service}: done, and clients can reach {site}")


def judge_left_shut(case: Case, lane: LaneFacts, world: Plain) -> Iterator[Broken]:
    """Promise 17: a fully reverted run leaves no door shut that it found open, unless a person accepts by name that the
    door stays shut."""
    site, lanes = case.site("source"), case.lanes.values()
    if any(one.outcome != "reverted" or one.accepted("left-changed") for one in lanes):
        return
    found_open = any(one.get("found_open") for one in _closings(case, site))
    if found_open and is_fenced(world, site) and not relying(case, site, lane):
        yield Broken(17, f"{lane.service}: reverted, and the doors of {site} are still shut")
