"""AMPS: the rules for the world itself, at every moment and at the end of a run."""

from __future__ import annotations

from collections.abc import Iterator

from proof.promises.amps.facts import (
    LOSSLESS,
    foreign_changes,
    instances,
    is_async,
    is_foreign,
    is_made,
    stranding_changes,
)
from proof.promises.facts import Broken, Case, LaneFacts, Plain, changes_since

_NEAR = 1e-6
# Ends after which nothing may be lost.
_KEPT_ALL = ("done", "reverted")


def judge_world(case: Case, lane: LaneFacts, service: Plain, world: Plain) -> Iterator[Broken]:
    """Every promise that the world shows to be broken, at any moment."""
    if is_async(instances(lane, world)) and not lane.accepted("unfenced"):
        yield from _both_open(case, lane, service, world)


def _both_open(case: Case, lane: LaneFacts, service: Plain, world: Plain) -> Iterator[Broken]:
    """Promise 1: across an async link, no command of ours starts an interval in which both instances let clients in."""
    begun = case.begun["moment"] if case.begun is not None else 0.0
    for start, _ in service["both_open"]:
        ours = [
            site
            for moment, site, what, by in changes_since(case, lane, world)
            if what == "open" and by == "command" and abs(moment - start) < _NEAR
        ]
        for site in ours if start >= begun else ():
            other = next(one for one in service["instances"] if one != site)
            if not is_foreign(case, lane, world, other, "open"):
                yield Broken(1, f"{lane.service}: letting clients in at {site} made two instances that take them")


def judge_end(case: Case, lane: LaneFacts, service: Plain, world: Plain) -> Iterator[Broken]:
    """Promises 3 and 4, once no process leads the run any more and everything in transit has arrived."""
    yield from _where_clients_are(case, lane, world)
    yield from _changed_nothing(case, lane, service, world)
    yield from _lost(case, lane, service, world)
    yield from _owned_by_the_source(case, lane, world)


def judge_lasting(case: Case, lane: LaneFacts, service: Plain, world: Plain) -> Iterator[Broken]:
    """Judges the permanent results of a lane, after all later runs."""
    yield from ()


def judge_claim(case: Case, lane: LaneFacts, claim: Plain, world: Plain) -> Iterator[Broken]:
    """Promise 17: the report says only what is true, unless something else changed the service."""
    if foreign_changes(case, lane, world) or world.get("lags"):
        return
    both = instances(lane, world)
    for site, is_open in claim["lets_clients_in"].items():
        if both[site]["phase"] != "down" and any(both[site]["doors"]) is not is_open:
            what = "lets clients in" if is_open else "lets no client in"
            yield Broken(17, f"{lane.service}: the report says that {site} {what}")


def counts(case: Case, lane: LaneFacts) -> bool:
    """Does the run promise that nothing is lost or left at the source? Only then the outcome of the messages matters."""
    return case.runbook in LOSSLESS and lane.outcome in _KEPT_ALL


def _where_clients_are(case: Case, lane: LaneFacts, world: Plain) -> Iterator[Broken]:
    """The name of an end determines which instance lets clients in, unless something else changed it or an instance is
    down."""
    if foreign_changes(case, lane, world) or lane.waived:
        return
    both = instances(lane, world)
    for site, what in _wanted(case, lane, both).items():
        if both[site]["phase"] != "down" and not is_made(both[site], what):
            yield Broken(4, f"{lane.service}: ended {lane.outcome}, and {site} is not {what}")


def _wanted(case: Case, lane: LaneFacts, both: Plain) -> dict[str, str]:
    source, target = case.site("source"), case.site("target")
    if lane.outcome == "reverted" and case.begun is not None:
        before = instances(lane, case.begun)
        return {site: "open" if all(before[site]["doors"]) else "closed" for site in both if _is_plain(before[site])}
    if lane.outcome not in ("done", "escalated"):
        return {}
    if case.runbook in LOSSLESS:
        return {source: "closed", target: "open"}
    if case.runbook == "amps/guard":
        return {source: "closed"}
    if case.runbook == "amps/proxied-transfer":
        return {target: "proxied"}
    if "restore" in case.runbook:
        return {target: "open", source: "closed" if is_async(both) else "open"}
    return {target: "open"}


def _is_plain(instance: Plain) -> bool:
    """Was the instance up, with all its doors in the same state?"""
    return instance["phase"] != "down" and (all(instance["doors"]) or not any(instance["doors"]))


def _changed_nothing(case: Case, lane: LaneFacts, service: Plain, world: Plain) -> Iterator[Broken]:
    """Refused means that nothing was changed. If something else changed the service, the rule does not apply: a change
    that was undone before it was read looks as if it had never happened."""
    if lane.outcome != "refused" or case.begun is None or foreign_changes(case, lane, world):
        return
    new = service["effects"][len(case.begun["services"][lane.service]["effects"]) :]
    if new:
        yield Broken(4, f"{lane.service}: refused, and {new[0][1]} took effect at {new[0][0]}")


def _lost(case: Case, lane: LaneFacts, service: Plain, world: Plain) -> Iterator[Broken]:
    """Promise 3: nothing is lost if the run is done or reverted. Messages at an instance that is down come back with it,
    and after ``done`` the source may be down. A refused run has sent nothing (promise 4), so it did not cause a loss: a
    link that is never repaired strands messages by itself. Such a link does not excuse another end. A run that is done
    has seen everything at the target before it let clients in there. A run that rolled back has left the clients where
    they were. Messages that are published at the target afterwards wait for the link, and are not lost.
    """
    if not counts(case, lane) or case.begun is None or lane.escalated is not None or lane.waived:
        return
    both, target = instances(lane, world), case.site("target")
    needed = (target,) if lane.outcome == "done" else tuple(both)
    if stranding_changes(case, lane, world) or any(both[site]["phase"] != "running" for site in needed):
        return
    if "lost" not in service:
        return  # this world does not count lost messages
    new = service["lost"] - case.begun["services"][lane.service]["lost"]
    if new > 0:
        yield Broken(3, f"{lane.service}: {lane.outcome}, and {new} messages were lost")


def _owned_by_the_source(case: Case, lane: LaneFacts, world: Plain) -> Iterator[Broken]:
    """Promise 3: a run that is done has told people that the source may be stopped. Queue messages that the source still
    owns would become unavailable, and across a cut link they cannot be handed over."""
    if not counts(case, lane) or lane.outcome != "done" or lane.waived:
        return
    source = case.site("source")
    owned = instances(lane, world)[source]["owned"]
    if owned and not stranding_changes(case, lane, world):
        yield Broken(3, f"{lane.service}: done, and {source} still owns {owned} queue messages")
