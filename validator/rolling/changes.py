"""The changes in the destinations of one instance from one restart to the next, as XML to paste."""

from __future__ import annotations

from collections.abc import Iterator

from adapters.amps.config.model import Destination, Instance, ReplicatedTopic
from validator.fixes import leaf, paste, topic_entry
from validator.report import Fix
from validator.rolling.amend import entry_shape


def exclusion_changes(before: Instance, after: Instance) -> Iterator[Fix]:
    """The Topic entries whose exclusions differ. Both instances must have the same destinations and entries."""
    for old, new in zip(before.destinations, after.destinations, strict=True):
        for was, entry in zip(old.topics, new.topics, strict=True):
            if was.excluded != entry.excluded:
                yield paste(after, f"Destination {new.label}, in place of the entry", _entry(entry), entry.at)


def destination_changes(before: Instance, after: Instance) -> Iterator[Fix]:
    """Destinations and Topic entries that are new, changed or removed."""
    old = {each.label: each for each in before.destinations}
    for destination in after.destinations:
        was = old.pop(destination.label, None)
        if was is None:
            yield paste(after, "Replication", _destination(destination), destination.at)
            continue
        yield from _within(after, was, destination)
    for destination in old.values():
        yield paste(after, f"Replication, without Destination {destination.label}", "", destination.at)


def _within(instance: Instance, was: Destination, now: Destination) -> Iterator[Fix]:
    where = f"Destination {now.label}"
    for tag, old, new in (
        ("Group", was.group, now.group),
        ("SyncType", was.sync_type, now.sync_type),
        ("PassThrough", was.passthrough, now.passthrough),
    ):
        if old != new:
            yield paste(instance, where if new else f"{where}, without {tag}", leaf(tag, new) if new else "", now.at)
    if (was.addresses, was.transport_types) != (now.addresses, now.transport_types):
        yield paste(instance, where, _transport(now), now.at)
    had = {entry_shape(entry) for entry in was.topics}
    has = {entry_shape(entry) for entry in now.topics}
    kept = {(entry.name, entry.message_type) for entry in now.topics}
    for entry in now.topics:
        if entry_shape(entry) not in had:
            yield paste(instance, where, _entry(entry), entry.at)
    for entry in was.topics:
        if entry_shape(entry) not in has and (entry.name, entry.message_type) not in kept:
            yield paste(instance, f"{where}, without the entry {entry.name or 'without a name'}", "", entry.at)


def _entry(entry: ReplicatedTopic) -> str:
    return topic_entry(entry.name, entry.message_type, filter=entry.filter, excluded=entry.excluded)


def _destination(destination: Destination) -> str:
    parts = [leaf("Name", destination.name)] if destination.name else []
    parts += [leaf("Group", destination.group)] if destination.group else []
    parts.append(leaf("SyncType", destination.sync_type))
    parts += [leaf("PassThrough", destination.passthrough)] if destination.passthrough else []
    parts += [_entry(entry) for entry in destination.topics]
    return f"<Destination>{''.join(parts)}{_transport(destination)}</Destination>"


def _transport(destination: Destination) -> str:
    addresses = "".join(leaf("InetAddr", address.text) for address in destination.addresses)
    kind = destination.transport_types[0] if destination.transport_types else "amps-replication"
    return f"<Transport>{leaf('Type', kind)}{addresses}</Transport>"
