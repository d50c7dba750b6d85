"""All instances of a simulated fabric, its links and its clients, as time passes in steps.

The effects follow from the rules of ``replication``, ``bootstrap``, ``clients`` and ``queue``, never from the
expectations of a runbook. ``State`` has everything that the world's file can contain.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

from simulator.amps import bootstrap, clients, replication, rest, sharing
from simulator.amps.account import FabricLedger, FabricTally, StreamTally
from simulator.amps.clients import Client, Consumer, Publisher, Subscriber
from simulator.amps.instance import Instance
from simulator.amps.journal import Entry, Journal
from simulator.amps.layout import FabricLayout, InstanceLayout
from simulator.amps.storage import NOWHERE, Keeping, keepings_of
from simulator.world.intervals import Numbers


@dataclass(slots=True)
class State:
    """The state of a fabric at one moment. ``cuts``: until when the connection ``a|b`` is cut. ``slow``: until when it is
    slower, and by which factor (until, factor)."""

    instances: dict[str, Instance] = field(default_factory=dict)
    publishers: dict[str, Publisher] = field(default_factory=dict)
    subscribers: dict[str, Subscriber] = field(default_factory=dict)
    consumers: dict[str, Consumer] = field(default_factory=dict)
    ledger: FabricLedger = field(default_factory=FabricLedger)
    cuts: dict[str, float] = field(default_factory=dict)
    slow: dict[str, tuple[float, float]] = field(default_factory=dict)
    clients_so_far: int = 16


def _between(one: str, other: str) -> str:
    return "|".join(sorted((one, other)))


def _doors(layout: InstanceLayout, *, is_replication: bool) -> tuple[str, ...]:
    """The names of the transports for other instances, or for clients."""
    return tuple(one.name for one in layout.transports if one.is_replication == is_replication)


class Fabric:
    """The rules over a ``State``. ``instances``: by name. ``ledger``: the independent account. ``now``: the present
    moment of world time."""

    def __init__(self, layout: FabricLayout, state: State | None = None, now: float = 0.0) -> None:
        self.layout = layout
        self.now = now
        self._described = {one.name: one for one in layout.instances}
        self._keepings = {one.name: keepings_of(one) for one in layout.instances}
        self._doors = {one.name: _doors(one, is_replication=False) for one in layout.instances}
        self._is_published_to = any(one.rate > 0 for one in layout.publishers)
        self._entrances = {one.name: _doors(one, is_replication=True) for one in layout.instances}
        self.state = state if state is not None else self._first_state()
        self.instances = self.state.instances
        self.ledger = self.state.ledger
        self.pairs = self._pairs()

    def _first_state(self) -> State:
        """The state at the start: every instance as if it had already run, with an empty log."""
        state = State()
        for one in self.layout.instances:
            instance = Instance(one.name, journal=Journal(one.journal_messages))
            instance.sow = {topic.id: {} for topic in one.topics if topic.keys}
            state.instances[one.name] = instance
            if one.running:
                instance.start(one.model_copy(update={"bootstrap": None}), self.now)
                instance.serve(self.now)
        state.publishers = {one.name: Publisher() for one in self.layout.publishers}
        state.subscribers = {one.name: Subscriber() for one in self.layout.subscribers}
        state.consumers = {one.name: Consumer() for one in self.layout.consumers}
        return state

    def _pairs(self) -> Sequence[tuple[Instance, Instance]]:
        """Every two instances that a link could ever connect."""
        linked = {
            (one.name, to) for one in self.layout.instances for link in one.destinations for to in link.addresses
        }
        return [
            (one, other)
            for one, other in combinations(self.instances.values(), 2)
            if {(one.name, other.name), (other.name, one.name)} & linked
        ]

    def check_names(self) -> None:
        """Raise ``ValueError`` for a state that does not match the layout or that names an unknown instance."""
        state, layout = self.state, self.layout
        for found, described in (
            (state.instances, layout.instances),
            (state.publishers, layout.publishers),
            (state.subscribers, layout.subscribers),
            (state.consumers, layout.consumers),
        ):
            wanted = {one.name for one in described}
            if found.keys() != wanted:
                raise ValueError(f"it has {', '.join(found)} in the place of {', '.join(wanted)}")
        clients = (*state.publishers.values(), *state.subscribers.values(), *state.consumers.values())
        named = {one.at for one in clients} | {
            link.to for one in state.instances.values() for link in one.links.values()
        }
        unknown = sorted(name for name in named if name is not None and name not in state.instances)
        if unknown or any(one.name != name for name, one in state.instances.items()):
            raise ValueError(f"it names an instance that is not there: {', '.join(unknown)}")

    # Queries for the modules with the rules

    def described(self, instance: str) -> InstanceLayout:
        """An instance as it was configured."""
        return self._described[instance]

    def group_of(self, instance: str) -> str:
        """The group of an instance."""
        return self._described[instance].group_name

    def keeping(self, instance: str, topic: str) -> Keeping:
        """The places where an instance stores the messages of a topic."""
        return self._keepings[instance].get(topic, NOWHERE)

    def can_link(self, source: str, destination: str) -> bool:
        """Can a replication link from ``source`` to ``destination`` be connected now?"""
        other = self.instances[destination]
        return (
            other.serves
            and other.lets_in(self._entrances[destination])
            and not (self.state.cuts and self.now < self.state.cuts.get(_between(source, destination), 0.0))
        )

    def has_link(self, source: str, destination: str) -> bool:
        """Is there a connected link from ``source`` to ``destination``?"""
        instance = self.instances[source]
        if instance.phase == "running":
            for link in instance.links.values():
                if link.to == destination:
                    return True
        return False

    def are_connected(self, one: str, other: str) -> bool:
        """Is there a connected link between the two, in either direction?"""
        return self.has_link(one, other) or self.has_link(other, one)

    def carry_rate(self, source: str, destination: str) -> float:
        """Messages a second that the connection carries now."""
        if not self.state.slow:
            return self.layout.link_rate
        until, factor = self.state.slow.get(_between(source, destination), (0.0, 1.0))
        return self.layout.link_rate / (factor if self.now < until else 1.0)

    def takes_clients(self, name: str) -> bool:
        """Can a client connect to this instance?"""
        instance = self.instances[name]
        early = instance.phase == "recovering" and self.layout.assume.clients_before_recovery
        return (instance.phase == "running" or early) and instance.lets_in(self._doors[name])

    def owned_within_reach(self, name: str, queue: str, publisher: str) -> Iterator[Numbers]:
        """The messages of a queue that other instances own, for each instance with a connected link."""
        for other in self.instances.values():
            if other.name != name and queue in other.queues and self.are_connected(name, other.name):
                yield other.queues[queue].owned.get(publisher, Numbers())

    def consumes(self, instance: str, queue: str) -> bool:
        """Does a client connected to the instance consume from this queue?"""
        return instance in [self.state.consumers[one.name].at for one in self.layout.consumers if one.queue == queue]

    def next_client_id(self) -> int:
        """A number for one more connection."""
        self.state.clients_so_far += 1
        return self.state.clients_so_far

    def write(self, instance: Instance, entry: Entry) -> None:
        """Let an instance write an entry that arrived now. The instance then owns ``entry``."""
        arrived = entry if entry.at == self.now else replace(entry, at=self.now)
        instance.take(arrived, self.keeping(instance.name, entry.topic))

    def clients_at(self, name: str) -> list[tuple[str, Client]]:
        """The name and the connection of every application that is connected to the instance."""
        kinds = (self.state.publishers, self.state.subscribers, self.state.consumers)
        return [(who, client) for known in kinds for who, client in known.items() if client.at == name]

    # Time

    def step(self, moment: float) -> None:
        """Let the time up to ``moment`` pass in one step."""
        passed = moment - self.now
        self.now = moment
        for instance in self.instances.values():
            self._live(instance, passed)
        bootstrap.report_circle(self)
        for instance in self.instances.values():
            if instance.serves:
                replication.run_links(self, instance, passed)
        sharing.share_queues(self, passed)
        taking = self._taking()
        self._run_clients(passed, taking)
        self._note_open(taking)

    def note_open(self) -> None:
        """Tell the account at which instances clients can publish from now on."""
        self._note_open(self._taking())

    def _note_open(self, taking: Sequence[str]) -> None:
        self.ledger.note_open(self.now, tuple([name for name in taking if self.instances[name].serves]))

    def _taking(self) -> Sequence[str]:
        """The instances at which a client can connect."""
        return [name for name in self.instances if self.takes_clients(name)]

    def is_quiet(self) -> bool:
        """True if nothing changes until an event from outside."""
        return not self._is_published_to and rest.is_quiet(self)

    def is_steady(self, before: Mapping[str, int], until: float) -> bool:
        """True if only new messages would move up to the moment ``until``. All messages that publishers numbered below
        ``before`` are then at their final places."""
        return rest.is_steady(self, before, until)

    def next_numbers(self) -> dict[str, int]:
        """The number of the next message of each publisher."""
        return {name: publisher.next for name, publisher in self.state.publishers.items()}

    def _live(self, instance: Instance, passed: float) -> None:
        layout = self._described[instance.name]
        if instance.phase == "bootstrapping":
            bootstrap.fetch(self, instance, passed)
        elif instance.phase == "recovering" and self.now >= instance.ready_at:
            instance.serve(self.now)
        for queue in instance.queues.values():
            if queue.leases:
                queue.expire(self.now)
        if instance.serves:
            self._scheduled(instance, layout)

    def _scheduled(self, instance: Instance, layout: InstanceLayout) -> None:
        """Run the scheduled actions of the configuration: downgrade, upgrade, remove journals."""
        if layout.retention is not None and len(instance.journal.files) > 1:
            free = min((link.acked for link in instance.links.values()), default=instance.journal.next)
            instance.journal.remove(instance.journal.removable(free, self.now - layout.retention))
        rule = layout.downgrade
        if rule is None or self.now - instance.checked_at < rule.every:
            return
        instance.checked_at = self.now
        for described, link in replication.linked(layout, instance):
            oldest = replication.oldest_unacked(self, instance, described, link) if described.sync else None
            age = 0.0 if oldest is None else self.now - oldest
            if described.sync and not link.downgraded and age > rule.age:
                link.downgraded = True
                why = f"due to lack of activity in past {rule.age:g} seconds"
                text = f"AMPS replication destination {described.name} downgraded from sync to async {why}"
                instance.note(self.now, "error", "", text)
                self.ledger.changes.append((self.now, instance.name, "async", "schedule"))
            elif described.sync and link.downgraded and link.to is not None and age < rule.upgrade_age:
                link.downgraded = False
                text = f"AMPS replication destination {described.name} upgraded from async to sync"
                instance.note(self.now, "info", "", text)
                self.ledger.changes.append((self.now, instance.name, "sync", "schedule"))

    def _run_clients(self, passed: float, taking: Sequence[str]) -> None:
        """``taking``: the instances at which a client can connect."""
        state = self.state
        for publishing in self.layout.publishers:
            publisher = state.publishers[publishing.name]
            if clients.settle(self, publisher, publishing, taking):
                clients.publish(self, publishing, publisher, passed)
        for reading in self.layout.subscribers:
            subscriber = state.subscribers[reading.name]
            if clients.settle(self, subscriber, reading, taking):
                clients.read(self, reading, subscriber)
        for consuming in self.layout.consumers:
            consumer = state.consumers[consuming.name]
            if clients.settle(self, consumer, consuming, taking):
                clients.consume(self, consuming, consumer, passed)

    # The account

    def tally(self) -> FabricTally:
        """The independent account, now."""
        streams = [*self._subscribed(), *self._consumed()]
        pairs = {frozenset(one.servers) for one in self.layout.publishers}
        return self.ledger.tally(self.now, streams, sorted(pairs, key=sorted))

    def held(self, publisher: str) -> Numbers:
        """The messages of a publisher that any instance has, running or not."""
        return Numbers(run for one in self.instances.values() for run in one.held(publisher))

    def _subscribed(self) -> Iterable[StreamTally]:
        for reader in self.layout.subscribers:
            client = self.state.subscribers[reader.name]
            for publisher in self.layout.publishers:
                if publisher.topic == reader.topic:
                    reachable = clients.still_reachable(self, reader, client, publisher.name)
                    yield self.ledger.stream(publisher.name, reader.name, reachable, self.held)

    def _consumed(self) -> Iterable[StreamTally]:
        for reader in self.layout.consumers:
            serving = [one for one in self.instances.values() if one.serves]
            topics = {
                queue.topic for one in self.layout.instances for queue in one.queues if queue.name == reader.queue
            }
            for publisher in self.layout.publishers:
                if publisher.topic in topics:
                    queues = [one.queues[reader.queue] for one in serving if reader.queue in one.queues]
                    can_be_had = Numbers(
                        run for queue in queues for run in queue.owned.get(publisher.name, Numbers())
                    )
                    for queue in queues:
                        if queue.proxied:
                            for run in queue.held.get(publisher.name, Numbers()):
                                can_be_had.add(*run)
                    yield self.ledger.stream(publisher.name, reader.name, can_be_had, self.held)
