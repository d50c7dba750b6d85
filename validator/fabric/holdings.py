"""The configuration of one instance for a topic: log, SOW, queue, and the destinations that carry it.

Each lookup searches by name first, then by precompiled expression, and caches the result. So a thousand lookups of a
topic cost about as much as one. This module never checks another instance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from adapters.amps.config.model import (
    ALL_CHECKS,
    Check,
    Destination,
    Instance,
    LoggedTopic,
    Queue,
    ReplicatedTopic,
    SowTopic,
)
from adapters.amps.config.model import Topic as Topic
from adapters.amps.config.patterns import Pattern, PatternBook
from adapters.amps.config.settings import Assumptions


class Entry(Protocol):
    """An entry of a list of topics: a literal name, an expression, or (None) every topic of the message type."""

    @property
    def name(self) -> str | None: ...

    @property
    def message_type(self) -> str: ...


E = TypeVar("E", bound=Entry)


class Selector(Generic[E]):
    """A list of topic entries that finds the entries matching a topic."""

    def __init__(self, entries: Sequence[E], book: PatternBook, *, regexes: bool, nameless: bool = True) -> None:
        self._book = book
        self._exact: dict[Topic, tuple[E, ...]] = {}
        self._expressions: dict[str, list[tuple[int, E, Pattern]]] = defaultdict(list)
        self._memo: dict[Topic, tuple[E, ...]] = {}
        self._position = {id(entry): position for position, entry in enumerate(entries)}
        self.patterns: dict[str, list[tuple[E, Pattern]]] = defaultdict(list)
        for position, entry in enumerate(entries):
            if entry.name is None and not nameless:
                continue
            text = ".*" if entry.name is None else entry.name
            pattern = book.pattern(text, regexes=regexes or entry.name is None)
            self.patterns[entry.message_type].append((entry, pattern))
            if pattern.is_regex:
                self._expressions[entry.message_type].append((position, entry, pattern))
            else:
                key = Topic(text, entry.message_type)
                self._exact[key] = (*self._exact.get(key, ()), entry)

    def matching(self, topic: Topic) -> tuple[E, ...]:
        """The entries that certainly match, in document order."""
        expressions = self._expressions.get(topic.message_type)
        if not expressions:
            return self._exact.get(topic, ())
        found = self._memo.get(topic)
        if found is None:
            by_expression = [entry for _, entry, pattern in expressions if self._book.matches(pattern, topic.name)]
            exact = self._exact.get(topic, ())
            if exact and by_expression:
                both = (*exact, *by_expression)
                found = tuple(sorted(both, key=lambda entry: self._position[id(entry)]))
            else:
                found = exact or tuple(by_expression)
            self._memo[topic] = found
        return found

    def is_uncertain(self, topic: Topic) -> bool:
        """Is there an unreadable expression that may match the topic?"""
        return any(not pattern.is_readable for _, _, pattern in self._expressions.get(topic.message_type, ()))

    def written_out(self) -> Iterator[Topic]:
        """Every topic that the list names, by a name or by an expression for a few names."""
        for message_type, entries in self.patterns.items():
            for _, pattern in entries:
                for name in pattern.names or ():
                    yield Topic(name, message_type)

    def is_literal(self, topic: Topic) -> bool:
        """Does the list name the topic?"""
        return topic in self._exact or any(
            pattern.names is not None and topic.name in pattern.names
            for _, _, pattern in self._expressions.get(topic.message_type, ())
        )


@dataclass(frozen=True, slots=True, eq=False)
class Carriage:
    """How one destination carries a topic: the matching entries, the active checks and the active filters."""

    destination: Destination
    entries: tuple[ReplicatedTopic, ...]
    enforced: frozenset[Check]
    filters: frozenset[str]

    @property
    def entry(self) -> ReplicatedTopic:
        return self.entries[0]


@dataclass(frozen=True, slots=True, eq=False)
class Relays:
    """All carriages of one topic by one instance, with the combined data that the checks need.

    ``enforced``: the checks that every carriage enforces. ``by_passthrough``: one carriage for each ``PassThrough``. It
    saves time, because each of a thousand neighbours checks a topic of an instance with a thousand destinations.
    """

    all: tuple[Carriage, ...]
    enforced: frozenset[Check]
    by_passthrough: Mapping[str | None, Carriage]

    @classmethod
    def of(cls, carriages: Sequence[Carriage]) -> Relays:
        by_passthrough: dict[str | None, Carriage] = {}
        for carriage in carriages:
            by_passthrough.setdefault(carriage.destination.passthrough, carriage)
        enforced = ALL_CHECKS.intersection(*(carriage.enforced for carriage in carriages))
        return cls(tuple(carriages), enforced, by_passthrough)


class Holdings:
    """One instance, with an index for lookups by topic."""

    def __init__(self, instance: Instance, book: PatternBook, assumptions: Assumptions) -> None:
        self.instance = instance
        self._book = book
        self._first_entry_only = assumptions.overlapping_entries == "first"
        self.log: Selector[LoggedTopic] = Selector(
            instance.log.topics if instance.log else (), book, regexes=instance.regexes
        )
        nameless = assumptions.topic_without_name == "every-topic"
        self.carriers: dict[Destination, Selector[ReplicatedTopic]] = {
            destination: Selector(destination.topics, book, regexes=instance.regexes, nameless=nameless)
            for destination in instance.destinations
        }
        self._sow: dict[Topic, SowTopic] = {}
        self.containers: dict[str, list[tuple[SowTopic, Pattern]]] = defaultdict(list)
        for topic in instance.sow:
            self._sow.setdefault(Topic(topic.name, topic.message_type), topic)
            if topic.pattern is not None:
                self.containers[topic.message_type].append((topic, book.pattern(topic.pattern)))
        self._queues: dict[Topic, Queue] = {}
        for queue in instance.queues:
            self._queues.setdefault(Topic(queue.name, queue.message_type), queue)
        self._carriages: dict[tuple[ReplicatedTopic, ...], Carriage] = {}
        self._relays: dict[Topic, Relays] = {}

    def logged(self, topic: Topic) -> bool | None:
        """Is the topic in the transaction log? None when an expression cannot be read.

        A topic of a SOW container (``Pattern``) is in the log when the container's own name is (AMPS user guide,
        "Storing Multiple Logical Topics in One Physical Topic").
        """
        container = self.sow(topic)
        if container is not None and container.pattern is not None:
            topic = Topic(container.name, topic.message_type)
        if self.log.matching(topic):
            return True
        return None if self.log.is_uncertain(topic) else False

    def sow(self, topic: Topic) -> SowTopic | None:
        """The ``SOW/Topic`` that stores the topic: the entry with its name, or the first container that matches it."""
        found = self._sow.get(topic)
        if found is None and topic.message_type in self.containers:
            for container, pattern in self.containers[topic.message_type]:
                if self._book.matches(pattern, topic.name):
                    return container
        return found

    def queue(self, topic: Topic) -> Queue | None:
        """The queue that can be replicated: a ``Queue`` or a ``GroupLocalQueue``."""
        found = self._queues.get(topic)
        return None if found is None or found.kind == "LocalQueue" else found

    def local_queue(self, topic: Topic) -> Queue | None:
        found = self._queues.get(topic)
        return found if found is not None and found.kind == "LocalQueue" else None

    def carriage(self, destination: Destination, topic: Topic) -> Carriage | None:
        """How ``destination`` carries the topic; None unless it certainly does."""
        entries = self.carriers[destination].matching(topic)
        if not entries:
            return None
        found = self._carriages.get(entries)
        if found is None:
            found = self._carriages[entries] = self._combine(destination, entries)
        return found

    def relays(self, topic: Topic) -> Relays:
        """The carriages of the topic by every destination of this instance that carries it."""
        found = self._relays.get(topic)
        if found is None:
            carried = (self.carriage(destination, topic) for destination in self.instance.destinations)
            found = self._relays[topic] = Relays.of([carriage for carriage in carried if carriage is not None])
        return found

    def _combine(self, destination: Destination, entries: tuple[ReplicatedTopic, ...]) -> Carriage:
        counted = entries[:1] if self._first_entry_only else entries
        excluded: frozenset[Check] = frozenset().union(*(entry.excluded for entry in counted))
        return Carriage(
            destination=destination,
            entries=entries,
            enforced=ALL_CHECKS - excluded if excluded else ALL_CHECKS,
            filters=frozenset(entry.filter for entry in counted),
        )
