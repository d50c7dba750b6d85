"""The rules about one instance: its name, transports, log, queues and topic entries.

Sources: AMPS configuration guide ("Transports", "Replication", "Message Queues") and 60East's "Replicating Messages
Between Instances". This module compares two instances only by their names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from adapters.amps.config.model import (
    DerivedTopic,
    Destination,
    Instance,
    LoggedTopic,
    Place,
    Queue,
    ReplicatedTopic,
    SowTopic,
    Topic,
)
from validator.fabric.fabric import Fabric
from validator.fabric.holdings import Holdings
from validator.fixes import paste, topic_entry
from validator.report import Level, ValidationFinding
from validator.rules.broken import broken


def instance_rules(fabric: Fabric) -> Iterator[ValidationFinding]:
    """All findings about single instances."""
    yield from _duplicate_names(fabric)
    for instance in fabric.instances:
        holdings = fabric.holdings[instance]
        for remark in instance.remarks:
            message = f"{remark.message} ({remark.hint})" if remark.hint else remark.message
            yield broken(remark.rule, message, remark.at, source=instance)
        yield from _transports(instance)
        yield from _no_sync(fabric, instance)
        yield from _not_logged(instance, holdings)
        yield from _queues(fabric, instance, holdings)
        yield from _definitions(instance, holdings)
        yield from _unreadable(fabric, instance)
        yield from _overlaps(fabric, instance, holdings)


def _duplicate_names(fabric: Fabric) -> Iterator[ValidationFinding]:
    for name, instances in fabric.directory.by_name.items():
        for other in instances[1:]:
            message = f"two instances have the name {name}"
            yield broken("duplicate-name", message, other.at, source=other, other_at=instances[0].at)


def _transports(instance: Instance) -> Iterator[ValidationFinding]:
    transports = instance.replication_transports
    if len(transports) > 1:
        names = ", ".join(transport.name or "one without a name" for transport in transports)
        message = f"{instance.name} has {len(transports)} incoming replication transports: {names}"
        yield broken("replication-transports", message, transports[1].at, source=instance)


def _no_sync(fabric: Fabric, instance: Instance) -> Iterator[ValidationFinding]:
    """The rule is documented for every replicating instance that accepts publishes, deletes or acknowledgements.

    A configuration does not say whether clients publish. Clients can publish to any instance with a client transport.
    """
    if any(out.sync_type == "sync" for out in instance.destinations) or not instance.client_transports:
        return
    if instance.destinations:
        first = instance.destinations[0]
        fix = paste(instance, f"Destination {first.label}", "<SyncType>sync</SyncType>", first.at)
        message = f"{instance.name} takes clients, but none of its destinations is sync"
        yield broken("no-sync-destination", message, first.at, source=instance, fix=fix)
    elif fabric.incoming[instance]:
        message = f"{instance.name} takes clients but replicates to no instance; keep publishers away from it"
        yield broken("no-sync-destination", message, instance.at, source=instance, level=Level.NOTE)


def _not_logged(instance: Instance, holdings: Holdings) -> Iterator[ValidationFinding]:
    at = instance.log.at if instance.log else instance.at
    seen: set[Topic] = set()
    for destination in instance.destinations:
        for topic in holdings.carriers[destination].written_out():
            if topic in seen or holdings.logged(topic) is not False:
                continue
            seen.add(topic)
            entry = holdings.carriers[destination].matching(topic)[0]
            fix = paste(instance, "TransactionLog", topic_entry(topic.name, topic.message_type), at)
            message = f"{instance.name} replicates {topic.name} but does not log it"
            yield broken("topic-not-logged", message, entry.at, source=instance, topic=topic, fix=fix)


def _queues(fabric: Fabric, instance: Instance, holdings: Holdings) -> Iterator[ValidationFinding]:
    at = instance.log.at if instance.log else instance.at
    for queue in instance.queues:
        topic = Topic(queue.name, queue.message_type)
        for needed in (topic, *underlying_topics(fabric, instance, queue)):
            if holdings.logged(needed) is False:
                what = "the queue" if needed == topic else f"the underlying topic of the queue {queue.name},"
                message = f"{instance.name} does not log {what} {needed.name}"
                fix = paste(instance, "TransactionLog", topic_entry(*needed), at)
                yield broken("queue-not-logged", message, queue.at, source=instance, topic=needed, fix=fix)
        if queue.kind == "LocalQueue":
            for relay in holdings.relays(topic).all:
                if holdings.carriers[relay.destination].is_literal(topic):
                    message = f"{instance.name} replicates {queue.name}, a LocalQueue, to {relay.destination.label}"
                    yield broken("local-queue-replicated", message, relay.entry.at, source=instance, topic=topic)
        elif queue.initial_owner and queue.initial_owner not in fabric.directory.by_name:
            message = (
                f"the InitialOwner of {queue.name} is {queue.initial_owner}, but no given instance has this name"
            )
            yield broken("initial-owner-unknown", message, queue.at, source=instance, topic=topic)


def underlying_topics(fabric: Fabric, instance: Instance, queue: Queue) -> list[Topic]:
    """The known underlying topics of a queue, without the queue itself."""
    pattern = fabric.book.pattern(queue.underlying)
    if pattern.names is not None:
        names: Iterable[str] = sorted(pattern.names)
    else:
        known = fabric.known(instance)
        names = sorted(
            topic.name
            for topic in known
            if topic.message_type == queue.message_type and fabric.book.matches(pattern, topic.name)
        )
    return [Topic(name, queue.message_type) for name in names if name != queue.name]


def _definitions(instance: Instance, holdings: Holdings) -> Iterator[ValidationFinding]:
    seen: dict[Topic, Place] = {}
    defined: list[SowTopic | Queue | DerivedTopic] = [*instance.sow, *instance.queues, *instance.derived]
    for each in sorted(defined, key=lambda each: each.at):
        topic = Topic(each.name, each.message_type)
        first = seen.setdefault(topic, each.at)
        if first is not each.at:
            message = f"{each.name} is defined twice in the SOW of {instance.name}"
            yield broken("duplicate-definition", message, each.at, source=instance, topic=topic, other_at=first)
    names: set[str] = set()
    for out in instance.destinations:
        if out.name and out.name in names:
            message = f"two destinations of {instance.name} have the name {out.name}"
            yield broken("duplicate-definition", message, out.at, source=instance)
        names.add(out.name)
    yield from _sow_order(instance, holdings)
    for derived in instance.derived:
        topic = Topic(derived.name, derived.message_type)
        for relay in holdings.relays(topic).all:
            if holdings.carriers[relay.destination].is_literal(topic):
                message = f"{instance.name} replicates {derived.name}, a {derived.kind}"
                yield broken("derived-replicated", message, relay.entry.at, source=instance, topic=topic)


def _sow_order(instance: Instance, holdings: Holdings) -> Iterator[ValidationFinding]:
    """Findings for plain SOW topics that an earlier container matches."""
    position = {topic: index for index, topic in enumerate(instance.sow)}
    for topic in instance.sow:
        for container, pattern in holdings.containers.get(topic.message_type, ()):
            if position[container] < position[topic] and topic.pattern is None and pattern.matches(topic.name):
                message = f"the SOW topic {topic.name} comes after {container.name}, whose Pattern matches it"
                key = Topic(topic.name, topic.message_type)
                yield broken("sow-order", message, topic.at, source=instance, topic=key, other_at=container.at)
                break


def _unreadable(fabric: Fabric, instance: Instance) -> Iterator[ValidationFinding]:
    logged = instance.log.topics if instance.log else ()
    entries: list[LoggedTopic | ReplicatedTopic] = [*logged]
    entries += [topic for destination in instance.destinations for topic in destination.topics]
    for entry in entries:
        if entry.name and not fabric.book.pattern(entry.name, regexes=instance.regexes).is_readable:
            topic = Topic(entry.name, entry.message_type)
            message = f"the expression {entry.name} cannot be read by this validation"
            yield broken("pattern-unreadable", message, entry.at, source=instance, topic=topic)
    for destination in instance.destinations:
        if destination.passthrough and not fabric.book.pattern(destination.passthrough).is_readable:
            at = destination.passthrough_at or destination.at
            message = f"the PassThrough {destination.passthrough} cannot be read by this validation"
            yield broken("pattern-unreadable", message, at, source=instance)


def _overlaps(fabric: Fabric, instance: Instance, holdings: Holdings) -> Iterator[ValidationFinding]:
    for destination in instance.destinations:
        told: set[tuple[ReplicatedTopic, ...]] = set()
        for topic in sorted(fabric.known(instance)):
            carriage = holdings.carriage(destination, topic)
            if carriage is None or len(carriage.entries) < 2 or carriage.entries in told:
                continue
            told.add(carriage.entries)
            yield from _overlap(instance, destination, topic, carriage.entries)


def _overlap(
    instance: Instance, destination: Destination, topic: Topic, entries: tuple[ReplicatedTopic, ...]
) -> Iterator[ValidationFinding]:
    first, *others = entries
    for other in others:
        differ = (
            "exclusions" if other.excluded != first.excluded else "filters" if other.filter != first.filter else ""
        )
        if differ:
            message = f"two Topic entries of {destination.label} match {topic.name} with different {differ}"
            at = first.at
            yield broken("overlapping-topics", message, at, source=instance, topic=topic, other_at=other.at)
            return
