"""A simple implementation of the nine checks of AMPS: every instance against every other, without a cache.

``amps_validate`` measures the product against it, and the tests of ``amps_validate`` compare the results. It shares the
model with the product, but none of its lookups. It supports only the default assumptions. It treats literal topics and
expressions in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from adapters.amps.config.model import (
    MANDATORY,
    Check,
    Destination,
    Instance,
    LoggedTopic,
    Queue,
    ReplicatedTopic,
    SowTopic,
    Topic,
)

Failure = tuple[str, str, str, str, str]  # check, source, destination, topic, message type


def plain_loop(instances: Sequence[Instance]) -> set[Failure]:
    """The active checks that fail, for every pair of instances and every topic that any file names."""
    topics = {topic for instance in instances for topic in _named(instance)}
    failures: set[Failure] = set()
    for source in instances:
        for target in instances:
            if source is target:
                continue
            for destination in source.destinations:
                if not _leads(destination, target):
                    continue
                for topic in topics:
                    entries = _matching(destination.topics, topic)
                    if entries and _travels(source, entries, topic):
                        for check in _failing(source, destination, target, topic, entries):
                            failures.add((check.value, source.name, target.name, topic.name, topic.message_type))
    return failures


def _failing(
    source: Instance, destination: Destination, target: Instance, topic: Topic, entries: Sequence[ReplicatedTopic]
) -> Iterator[Check]:
    onward = [(out, _matching(out.topics, topic)) for out in target.destinations]
    onward = [(out, found) for out, found in onward if found]
    back = [(out, found) for out, found in onward if _leads(out, source)]
    failed = {
        Check.TXLOG: not _is_logged(target, topic),
        Check.REPLICATE: not back,
        Check.CASCADE: any(not _enforced(entries) <= _enforced(found) for _, found in onward),
        Check.REPLICATE_FILTER: _filters(entries) != {""}
        and any(_filters(found) != _filters(entries) for _, found in back),
    }
    here, there = _sow(source, topic), _sow(target, topic)
    failed[Check.SOW] = here is not None and there is None
    failed[Check.KEYS] = here is not None and (there is None or here.keys != there.keys)
    mine, other = _queue(source, topic), _queue(target, topic)
    failed[Check.QUEUE] = mine is not None and other is None
    failed[Check.QUEUE_UNDERLYING] = mine is not None and (
        other is None or (mine.underlying, mine.filter) != (other.underlying, other.filter)
    )
    failed[Check.QUEUE_PASSTHROUGH] = mine is not None and any(
        out.passthrough is None or not re.search(out.passthrough, source.group) for out, _ in onward
    )
    enforced = _enforced(entries)
    yield from (check for check, fails in failed.items() if fails and check in enforced)


def _named(instance: Instance) -> Iterator[Topic]:
    entries: list[SowTopic | Queue | LoggedTopic | ReplicatedTopic] = [*instance.sow, *instance.queues]
    entries += instance.log.topics if instance.log else ()
    entries += [entry for destination in instance.destinations for entry in destination.topics]
    for entry in entries:
        if entry.name and not re.search(r"[.^$*+?()\[\]{}|\\]", entry.name):
            yield Topic(entry.name, entry.message_type)


def _leads(destination: Destination, target: Instance) -> bool:
    return destination.name == target.name


def _matching(entries: Iterable[ReplicatedTopic], topic: Topic) -> list[ReplicatedTopic]:
    return [entry for entry in entries if entry.message_type == topic.message_type and _is(entry.name or ".*", topic)]


def _is(name: str, topic: Topic) -> bool:
    if not re.search(r"[.^$*+?()\[\]{}|\\]", name):
        return name == topic.name
    return re.search(name, topic.name) is not None


def _is_logged(instance: Instance, topic: Topic) -> bool:
    logged = instance.log.topics if instance.log else ()
    return any(each.message_type == topic.message_type and _is(each.name, topic) for each in logged)


def _travels(source: Instance, entries: Sequence[ReplicatedTopic], topic: Topic) -> bool:
    return _is_logged(source, topic) or any(entry.name == topic.name for entry in entries)


def _enforced(entries: Sequence[ReplicatedTopic]) -> frozenset[Check]:
    excluded: set[Check] = set().union(*(entry.excluded for entry in entries))
    return frozenset(Check) - (excluded - MANDATORY)


def _filters(entries: Sequence[ReplicatedTopic]) -> set[str]:
    return {entry.filter for entry in entries}


def _sow(instance: Instance, topic: Topic) -> SowTopic | None:
    return next((each for each in instance.sow if (each.name, each.message_type) == topic), None)


def _queue(instance: Instance, topic: Topic) -> Queue | None:
    found = next((each for each in instance.queues if (each.name, each.message_type) == topic), None)
    return None if found is None or found.kind == "LocalQueue" else found
