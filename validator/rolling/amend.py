"""Changes to the model of an instance, as new values: exclusions added, definitions merged, destinations exchanged.

These functions try out the effect of a change. They never change a file. Each part keeps the place that it was read from.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import NamedTuple, Protocol, TypeVar

from adapters.amps.config.model import (
    Check,
    Destination,
    Instance,
    LoggedTopic,
    Queue,
    ReplicatedTopic,
    SowTopic,
    Topic,
    TransactionLog,
)


class _Named(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def message_type(self) -> str: ...


T = TypeVar("T", bound=_Named)


class EntryKey(NamedTuple):
    """The part of a Topic entry that stays equal while configurations change."""

    instance: str
    destination: str
    name: str | None
    message_type: str


def key_of(instance: Instance, destination: Destination, entry: ReplicatedTopic) -> EntryKey:
    return EntryKey(instance.name, destination.label, entry.name, entry.message_type)


def with_exclusions(instance: Instance, add: Mapping[EntryKey, Collection[Check]]) -> Instance:
    """The instance with further checks excluded; the same instance if it has none of the entries."""
    if not any(key.instance == instance.name for key in add):
        return instance
    destinations = []
    for destination in instance.destinations:
        topics = tuple(
            replace(entry, excluded=entry.excluded | set(more))
            if (more := add.get(key_of(instance, destination, entry)))
            else entry
            for entry in destination.topics
        )
        destinations.append(replace(destination, topics=topics))
    return replace(instance, destinations=tuple(destinations))


def with_definitions(instance: Instance, other: Instance) -> Instance:
    """The instance with the logged and stored topics of ``other`` added. If both define a topic, ``other`` wins."""
    log = instance.log
    if other.log is not None:
        logged = _merged(instance.log.topics if instance.log else (), other.log.topics)
        log = TransactionLog(at=(instance.log or other.log).at, topics=logged)
    return replace(
        instance,
        log=log,
        sow=_merged(instance.sow, other.sow),
        queues=_merged(instance.queues, other.queues),
        transports=other.transports or instance.transports,
        regexes=other.regexes,
    )


def same_definitions(one: Instance, other: Instance) -> bool:
    """Do both instances log and define the same topics?"""
    return _definitions(one) == _definitions(other)


def same_destinations(one: Instance, other: Instance) -> bool:
    """Do both instances replicate the same topics, in the same way, with the same checks?"""
    return [_destination_shape(each) for each in one.destinations] == [
        _destination_shape(each) for each in other.destinations
    ]


def new_definitions(before: Instance, after: Instance) -> tuple[list[SowTopic | Queue], list[LoggedTopic]]:
    """The definitions and logged topics of ``after`` that ``before`` lacks or defines differently."""
    had = {_sow_shape(each) for each in before.sow}
    queues = {_queue_shape(each) for each in before.queues}
    logged = {_topic(each) for each in before.log.topics} if before.log else set()
    stored: list[SowTopic | Queue] = [each for each in after.sow if _sow_shape(each) not in had]
    stored += [each for each in after.queues if _queue_shape(each) not in queues]
    return stored, [each for each in (after.log.topics if after.log else ()) if _topic(each) not in logged]


def entry_shape(entry: ReplicatedTopic) -> tuple[object, ...]:
    """The properties of a Topic entry that AMPS uses."""
    return (entry.name, entry.message_type, entry.filter, entry.excluded)


def _merged(mine: tuple[T, ...], theirs: tuple[T, ...]) -> tuple[T, ...]:
    replaced = {_topic(each) for each in theirs}
    return (*(each for each in mine if _topic(each) not in replaced), *theirs)


def _topic(each: _Named) -> Topic:
    return Topic(each.name, each.message_type)


def _definitions(instance: Instance) -> tuple[object, ...]:
    logged: frozenset[Topic] | None = None
    if instance.log is not None:
        logged = frozenset(_topic(each) for each in instance.log.topics)
    return (
        logged,
        _shapes(instance.sow, _sow_shape),
        _shapes(instance.queues, _queue_shape),
        frozenset((each.type, each.addresses) for each in instance.transports),
        instance.group,
        instance.regexes,
    )


def _shapes(parts: tuple[T, ...], shape: Callable[[T], tuple[object, ...]]) -> frozenset[tuple[object, ...]]:
    return frozenset(shape(each) for each in parts)


def _sow_shape(each: SowTopic) -> tuple[object, ...]:
    return (each.name, each.message_type, each.keys, each.key_domain, each.key_generator, each.pattern)


def _queue_shape(each: Queue) -> tuple[object, ...]:
    return (
        *(each.name, each.message_type, each.kind, each.underlying, each.filter),
        *(each.semantics, each.initial_owner, each.domain),
    )


def _destination_shape(each: Destination) -> tuple[object, ...]:
    return (
        *(each.name, each.group, each.sync_type, each.passthrough, each.addresses, each.transport_types),
        tuple(entry_shape(entry) for entry in each.topics),
    )
