"""The replication fabric: instances, the links between them, and the topics each link carries.

The fabric is built once from the model. Its size is linear in links × topics. A link is directed and validated
separately, as in AMPS ("Replication Configuration Validation": the comparison is made when the connection is made).
This module never judges.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from adapters.amps.config.model import Destination, Instance, Topic
from adapters.amps.config.patterns import PatternBook
from adapters.amps.config.settings import ValidateOptions
from validator.fabric.directory import Directory, Resolution
from validator.fabric.holdings import Carriage, Holdings


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """One directed link. A destination with several addresses makes one link for each instance it may reach."""

    source: Instance
    destination: Destination
    target: Instance

    @property
    def is_sync(self) -> bool:
        return self.destination.sync_type == "sync"

    def __str__(self) -> str:
        return f"{self.source.name} → {self.target.name}"


class Stray(NamedTuple):
    """A destination whose instance was not given."""

    source: Instance
    destination: Destination
    resolution: Resolution


class Fabric:
    """The fabric of ``instances``. They are sorted, so results do not depend on the order of files."""

    def __init__(
        self,
        instances: Iterable[Instance],
        options: ValidateOptions | None = None,
        directory: Directory | None = None,
    ) -> None:
        self.options = options or ValidateOptions()
        self.assumptions = self.options.assumptions
        self.instances: tuple[Instance, ...] = tuple(sorted(instances, key=lambda each: (each.name, each.at)))
        self.book = PatternBook(dotted_names=self.assumptions.dotted_names)
        self.holdings = {each: Holdings(each, self.book, self.assumptions) for each in self.instances}
        self.directory = directory or Directory(self.instances, self.options.hosts, self.assumptions)
        self.links: list[Link] = []
        self.strays: list[Stray] = []
        self.ambiguous: list[tuple[Instance, Destination, Resolution]] = []
        self.outgoing: dict[Instance, list[Link]] = {each: [] for each in self.instances}
        self.incoming: dict[Instance, list[Link]] = {each: [] for each in self.instances}
        self._back: dict[tuple[Instance, Instance], list[Destination]] = defaultdict(list)
        self._traffic: dict[Link, list[tuple[Topic, Carriage]]] = {}
        self._connect()
        self._known = _spread(self)

    def ways_back(self, link: Link) -> Sequence[Destination]:
        """The destinations of the link's target that lead to its source."""
        return self._back.get((link.target, link.source), ())

    def known(self, instance: Instance) -> frozenset[Topic] | set[Topic]:
        """The topics that can exist on the instance and are known by name."""
        return self._known[instance]

    def carries(self, link: Link, topic: Topic) -> Carriage | None:
        """How the link carries the topic; None when it does not.

        An expression stands for the topics that the source's own transaction log records (``only_logged_topics``);
        a topic that is written out counts in any case.
        """
        holdings = self.holdings[link.source]
        carriage = holdings.carriage(link.destination, topic)
        if carriage is None or not self.assumptions.only_logged_topics:
            return carriage
        if holdings.carriers[link.destination].is_literal(topic) or holdings.logged(topic) is not False:
            return carriage
        return None

    def traffic(self, link: Link) -> Sequence[tuple[Topic, Carriage]]:
        """Every known topic that the link carries, with its carriage."""
        found = self._traffic.get(link)
        if found is None:
            each = ((topic, self.carries(link, topic)) for topic in self._known[link.source])
            found = self._traffic[link] = [(topic, carriage) for topic, carriage in each if carriage is not None]
        return found

    def _connect(self) -> None:
        for source in self.instances:
            for destination in source.destinations:
                resolution = self.directory.targets(source, destination)
                if not resolution.targets:
                    self.strays.append(Stray(source, destination, resolution))
                if resolution.is_ambiguous:
                    self.ambiguous.append((source, destination, resolution))
                for target in resolution.targets:
                    link = Link(source, destination, target)
                    self.links.append(link)
                    self.outgoing[source].append(link)
                    self.incoming[target].append(link)
                for target in self._reached(destination, resolution):
                    self._back[source, target].append(destination)

    def _reached(self, destination: Destination, resolution: Resolution) -> Iterable[Instance]:
        """The instances for which this destination of another instance is a way back (``way_back``)."""
        if self.assumptions.way_back == "instance":
            return resolution.targets
        groups = {destination.group or destination.name, *(each.group for each in resolution.targets)}
        return [each for group in sorted(groups) for each in self.directory.by_group.get(group, ())]


def _spread(fabric: Fabric) -> dict[Instance, set[Topic]]:
    """The topics that can exist on each instance: the topics it names, and the topics of its links that match.

    Each topic passes each link at most once in each direction.
    """
    known: dict[Instance, set[Topic]] = {each: _named(fabric, each) for each in fabric.instances}
    fresh = {instance: set(topics) for instance, topics in known.items() if topics}
    while fresh:
        instance, topics = fresh.popitem()
        for link in fabric.outgoing[instance]:
            _hand_over(fabric, link, topics, link.target, known, fresh)
        for link in fabric.incoming[instance]:
            _hand_over(fabric, link, topics, link.source, known, fresh)
    return known


def _hand_over(
    fabric: Fabric,
    link: Link,
    topics: set[Topic],
    to: Instance,
    known: dict[Instance, set[Topic]],
    fresh: dict[Instance, set[Topic]],
) -> None:
    missing = topics - known[to]
    arriving = {topic for topic in missing if fabric.carries(link, topic) is not None}
    if arriving:
        known[to] |= arriving
        fresh.setdefault(to, set()).update(arriving)


def _named(fabric: Fabric, instance: Instance) -> set[Topic]:
    """The topics that an instance's configuration names, and the topics of the options that it logs or replicates."""
    holdings = fabric.holdings[instance]
    named = {Topic(each.name, each.message_type) for each in instance.sow}
    for queue in instance.queues:
        named.add(Topic(queue.name, queue.message_type))
        names = fabric.book.pattern(queue.underlying).names
        named |= {Topic(name, queue.message_type) for name in names or ()}
    named |= set(holdings.log.written_out())
    for carrier in holdings.carriers.values():
        named |= set(carrier.written_out())
    for entry in fabric.options.topics:
        topic = Topic(entry.name, entry.message_type)
        if holdings.logged(topic) or holdings.relays(topic).all:
            named.add(topic)
    return named
