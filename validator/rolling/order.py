"""Orders a change of configuration across instances that are restarted one at a time.

60East ("cascade validation check"): exclusions come first and stay while topics are added or changed. They are removed
from all configurations together, when all instances are offline at the same time. To find the needed exclusions, this
module simulates the restarts and checks what AMPS would refuse after each. It never changes an instance or a file.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from adapters.amps.config.model import MANDATORY, Check, Instance, Queue, SowTopic
from adapters.amps.config.settings import ValidateOptions
from validator.fabric.fabric import Fabric
from validator.fixes import paste, rendered, topic_entry
from validator.report import Fix, PlanStep
from validator.rolling.amend import (
    EntryKey,
    key_of,
    new_definitions,
    same_definitions,
    same_destinations,
    with_definitions,
    with_exclusions,
)
from validator.rolling.changes import destination_changes, exclusion_changes
from validator.rolling.moment import Moment, refusals, routes

EXCLUDE, DEFINE, REPLICATE, WITHDRAW, RESTORE = "exclude", "define", "replicate", "withdraw", "restore"

_WHAT = {
    EXCLUDE: "exclude checks during the change, and restart",
    DEFINE: "log and define the new topics, replicate as before, and restart",
    REPLICATE: "replicate as in the new configuration, with the temporary exclusions, and restart",
    WITHDRAW: "remove the topics that the new configuration no longer logs or defines, and restart",
    RESTORE: "stop all of these at the same time, give them the new configurations without the temporary exclusions, "
    "and start them. If that is not possible, remove the exclusions except cascade from one instance after the other: "
    "a fabric that excludes only cascade fully meets the rules",
}

Exclusions = dict[EntryKey, set[Check]]


@dataclass(frozen=True, slots=True)
class _Restart:
    stage: str
    instance: Instance
    before: Instance | None


def rolling_plan(
    before: Sequence[Instance], after: Sequence[Instance], options: ValidateOptions
) -> tuple[PlanStep, ...] | None:
    """The steps from ``before`` to ``after``. None when AMPS would already refuse a link of ``after``."""
    old, new = Fabric(before, options), Fabric(after, options)
    if any(True for link in new.links for _ in refusals(new, link)):
        return None
    leads = routes(old, new)
    order = _upstream_first(new)
    exclusions: Exclusions = {}
    while True:
        restarts = list(_restarts(old.instances, new.instances, exclusions, order))
        needed = _needed(Moment(old.instances, leads, options), restarts)
        missing = [(key, check) for key, check in needed if check not in exclusions.get(key, ())]
        if not missing:
            break
        for key, check in missing:
            exclusions.setdefault(key, set()).add(check)
    moment = Moment(old.instances, leads, options)
    gone = sorted({each.name for each in old.instances} - {each.name for each in new.instances})
    return tuple(_steps(moment, restarts, gone, new, exclusions))


def _upstream_first(fabric: Fabric) -> list[str]:
    """The names of the instances. Senders come before receivers if links have one direction, else sorted by name."""
    upstream: dict[str, set[str]] = defaultdict(set)
    downstream: dict[str, set[str]] = defaultdict(set)
    for link in fabric.links:
        upstream[link.target.name].add(link.source.name)
        downstream[link.source.name].add(link.target.name)
    names = sorted({each.name for each in fabric.instances})
    waiting = [(len(upstream[name]), name) for name in names]
    heapq.heapify(waiting)
    order: list[str] = []
    done: set[str] = set()
    while waiting:
        count, name = heapq.heappop(waiting)
        if name in done or count != len(upstream[name] - done):
            continue
        order.append(name)
        done.add(name)
        for near in downstream[name] - done:
            heapq.heappush(waiting, (len(upstream[near] - done), near))
    return order


def _restarts(
    before: Sequence[Instance], after: Sequence[Instance], exclusions: Exclusions, order: Sequence[str]
) -> Iterator[_Restart]:
    """Every restart that changes something, by stage and instance, except the last, common restart."""
    old = {each.name: each for each in before}
    new = {each.name: each for each in after}
    running: dict[str, Instance] = dict(old)
    for stage in (EXCLUDE, DEFINE, REPLICATE, WITHDRAW):
        for name in order:
            target = _at_stage(stage, old.get(name), new[name], exclusions)
            now = running.get(name)
            if target is None or (now is not None and _same(now, target)):
                continue
            yield _Restart(stage, target, now)
            running[name] = target


def _at_stage(stage: str, old: Instance | None, new: Instance, exclusions: Exclusions) -> Instance | None:
    """The configuration of one instance after a stage. A new instance starts with ``define``."""
    if old is None:
        return None if stage == EXCLUDE else with_exclusions(new, exclusions)
    if stage == EXCLUDE:
        return with_exclusions(old, exclusions)
    if stage == WITHDRAW:
        return with_exclusions(new, exclusions)
    merged = with_definitions(old, new)
    if stage == REPLICATE:
        merged = replace(merged, destinations=new.destinations, group=new.group)
    return with_exclusions(merged, exclusions)


def _same(one: Instance, other: Instance) -> bool:
    return same_definitions(one, other) and same_destinations(one, other)


def _needed(moment: Moment, restarts: Iterable[_Restart]) -> set[tuple[EntryKey, Check]]:
    """The exclusions that prevent refusals during the change. Mandatory checks cannot be excluded."""
    known = set(moment.refusals)  # an existing refusal is not caused by the change
    needed: set[tuple[EntryKey, Check]] = set()
    for restart in restarts:
        moment.restart(restart.instance)
        needed |= {(each.entry, each.check) for each in moment.refusals - known if each.check not in MANDATORY}
    return needed


def _steps(
    moment: Moment, restarts: Sequence[_Restart], gone: Sequence[str], new: Fabric, exclusions: Exclusions
) -> Iterator[PlanStep]:
    number = 0
    for restart in restarts:
        number += 1
        moment.restart(restart.instance)
        yield PlanStep(
            number=number,
            stage=restart.stage,
            instances=(restart.instance.name,),
            what=_WHAT[restart.stage],
            changes=tuple(_changes(restart)),
            refused=tuple(sorted({each.link for each in moment.refusals})),
        )
    for name in gone:
        number += 1
        moment.stop(name)
        refused = tuple(sorted({each.link for each in moment.refusals}))
        yield PlanStep(number=number, stage=WITHDRAW, instances=(name,), what="stop it permanently", refused=refused)
    restored = tuple(_restored(new, exclusions))
    if restored:
        yield PlanStep(
            number=number + 1,
            stage=RESTORE,
            instances=tuple(sorted({fix.instance for fix in restored})),
            together=True,
            what=_WHAT[RESTORE],
            changes=restored,
        )


def _changes(restart: _Restart) -> Iterator[Fix]:
    """The XML that an instance gets at a restart."""
    instance, before = restart.instance, restart.before
    if before is None:
        return  # its whole configuration is new
    if restart.stage == EXCLUDE:
        yield from exclusion_changes(before, instance)
        return
    stored, logged = new_definitions(before, instance)
    for each in stored:
        yield paste(instance, "SOW", _definition(each), instance.at)
    for topic in logged:
        at = instance.log.at if instance.log else instance.at
        yield paste(instance, "TransactionLog", topic_entry(topic.name, topic.message_type), at)
    yield from destination_changes(before, instance)


def _definition(each: SowTopic | Queue) -> str:
    return rendered(each.element) if each.element is not None else ""


def _restored(new: Fabric, exclusions: Mapping[EntryKey, set[Check]]) -> Iterator[Fix]:
    """The Topic entries that had temporary exclusions, as they are in the new configurations."""
    for instance in new.instances:
        for destination in instance.destinations:
            for entry in destination.topics:
                if key_of(instance, destination, entry) in exclusions:
                    xml = topic_entry(entry.name, entry.message_type, filter=entry.filter, excluded=entry.excluded)
                    yield paste(instance, f"Destination {destination.label}, in place of the entry", xml, entry.at)
