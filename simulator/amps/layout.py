"""The initial content of a simulated AMPS fabric: instances, topics, links, clients.

Frozen data with defaults, so that a test names only the values it needs. Unknown keys are refused. Durations are
seconds, rates are messages a second. Defaults come from docs/sources/amps.md where it has one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from orchestrator.errors import DefinitionError

Check = Literal[
    "txlog",
    "replicate",
    "sow",
    "cascade",
    "queue",
    "keys",
    "replicate_filter",
    "queue_passthrough",
    "queue_underlying",
]
TransportType = Literal["tcp", "tcps", "amps-unix", "amps-replication", "amps-replication-secure"]
_SPECIAL = frozenset(".^$*+?()[]{}|\\")


def _expression(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from error
    return text


Expression = Annotated[str, AfterValidator(_expression)]
Names = Annotated[tuple[str, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)]


@lru_cache(maxsize=1_000)  # called for each message at each link
def names_topic(pattern: str, topic: str) -> bool:
    """Does a configured topic name (literal or expression) match this topic? Unanchored search (docs/sources/amps.md,
    2)."""
    return re.search(pattern, topic) is not None if _SPECIAL & set(pattern) else pattern == topic


class _Layout(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Assumptions(_Layout):
    """The assumptions about behaviour that 60East does not document. Another world may have different assumptions."""

    detects: Literal["source", "destination"] = Field("source", description="who logs why a link failed validation")
    admin_while_bootstrapping: bool = Field(
        False, description="does the administration answer before a bootstrap is done? It blocks every other service"
    )
    clients_before_recovery: bool = Field(
        True,
        description="does a transport take connections while recovery still runs? LIVE saw it; nothing is served",
    )
    resync: Literal["missing", "acknowledged"] = Field(
        "missing",
        description="where a link starts: at the earliest message that the other side misses (both 5.3.3 or newer), "
        "or behind the last one that it acknowledged",
    )
    bootstrap_order: tuple[Literal["sow", "txlog"], ...] = ("sow", "txlog")
    acknowledges: Literal["logged", "persisted"] = Field(
        "logged",
        description="what a destination acknowledges: what is in its own log, or only what its own sync "
        "destinations have acknowledged too",
    )
    queue_acks: Literal["at_once", "by_link"] = Field(
        "at_once",
        description="when connected instances hear what consumers acknowledged: at once, or each ack_interval",
    )
    grants: Literal["unattended", "left_over"] = Field(
        "unattended",
        description="which messages an owner hands over to one that asks: those of a queue that none of its own clients "
        "takes from, or also those that its own clients leave over while the other's have nothing to do",
    )
    leases_kept: float = Field(
        0.0, ge=0, description="how long after its consumer is gone a message returns to its queue, seconds"
    )
    absent_nodes: Names = Field(
        (), description="nodes of the statistics that are not there (404): the guide lists no /amps/instance/group"
    )
    interrupted_bootstrap: Literal["anew", "goes_on"] = Field(
        "anew", description="does an interrupted bootstrap keep anything of its first try?"
    )


class TopicLayout(_Layout):
    """A topic. ``keys`` empty: no SOW. ``logged`` false: not in the transaction log, so never replicated."""

    name: str
    message_type: str = "json"
    keys: tuple[str, ...] = ()
    logged: bool = True

    @cached_property
    def id(self) -> str:
        """The id of the topic, such as ``orders!json``."""
        return f"{self.name}!{self.message_type}"


class QueueLayout(_Layout):
    """A queue over ``underlying`` (its own name, if empty). ``initial_owner``: of a GroupLocalQueue."""

    name: str
    message_type: str = "json"
    underlying: str = ""
    kind: Literal["Queue", "GroupLocalQueue", "LocalQueue"] = "Queue"
    initial_owner: str = ""

    @cached_property
    def id(self) -> str:
        """The id of the queue, such as ``jobs!json``."""
        return f"{self.name}!{self.message_type}"

    @property
    def topic(self) -> str:
        """The underlying topic."""
        return self.underlying or self.name


class TransportLayout(_Layout):
    """An incoming transport. ``enabled`` is its InitialState, which applies after every start."""

    name: str
    type: TransportType = "tcp"
    enabled: bool = True

    @property
    def is_replication(self) -> bool:
        """Is the transport only for other instances, not for clients?"""
        return self.type.startswith("amps-replication")


class LinkTopic(_Layout):
    """A topic, or an expression for several topics, that a destination receives."""

    name: Expression
    exclude: frozenset[Check] = frozenset()


class DestinationLayout(_Layout):
    """A link to another instance. ``servers``: names of instances, in the order in which they are tried (default: the
    instance with the link's name). ``pass_through``: an expression for groups whose messages are passed on. None: only
    messages published here are sent."""

    name: str
    group: str
    sync: bool = True
    pass_through: Expression | None = None
    topics: tuple[LinkTopic, ...] = (LinkTopic(name=".*"),)
    servers: tuple[str, ...] = ()

    @field_validator("topics", mode="before")
    @classmethod
    def _names(cls, given: object) -> object:
        is_list = isinstance(given, Sequence) and not isinstance(given, str)
        return [{"name": one} if isinstance(one, str) else one for one in given] if is_list else given  # type: ignore[attr-defined]

    @property
    def addresses(self) -> tuple[str, ...]:
        """The instances that the link tries, in order."""
        return self.servers or (self.name,)

    def topic(self, name: str) -> LinkTopic | None:
        """The first entry that names this topic."""
        for one in self.topics:
            if names_topic(one.name, name):
                return one
        return None


class BootstrapLayout(_Layout):
    """The sources of an empty instance's state (docs/sources/amps.md, 3.5). ``rate``: messages and records a second."""

    servers: tuple[str, ...] = Field(min_length=1)
    topics: tuple[Expression, ...] = (".*",)
    data: frozenset[Literal["sow", "txlog"]] = frozenset({"sow", "txlog"})
    rate: float = Field(2_000.0, gt=0)


class DowngradeLayout(_Layout):
    """The scheduled actions that downgrade and upgrade links by the age of their oldest unacknowledged message."""

    age: float = Field(30.0, gt=0)
    upgrade_age: float = Field(15.0, gt=0)
    every: float = Field(15.0, gt=0)


class InstanceLayout(_Layout):
    """One instance. ``group`` empty: its own name. ``journal_messages``: the number of messages in a full journal file.
    ``retention``: acknowledged journals older than this are removed (None: kept). ``recovery``: the duration of a start.
    """

    name: str
    site: str = ""
    group: str = ""
    topics: tuple[TopicLayout, ...] = ()
    queues: tuple[QueueLayout, ...] = ()
    transports: tuple[TransportLayout, ...] = (
        TransportLayout(name="amps-tcp"),
        TransportLayout(name="amps-replication", type="amps-replication"),
    )
    destinations: tuple[DestinationLayout, ...] = ()
    bootstrap: BootstrapLayout | None = None
    downgrade: DowngradeLayout | None = None
    interval: float = Field(10.0, ge=1.0)
    journal_messages: int = Field(5_000, ge=1)
    retention: float | None = None
    recovery: float = Field(1.0, ge=0)
    running: bool = True
    version: str = "5.3.5.135"

    @property
    def group_name(self) -> str:
        """The group. Without one, the instance's own name."""
        return self.group or self.name

    @property
    def site_name(self) -> str:
        """The site. Without one, the instance's own name."""
        return self.site or self.name

    def topic(self, name: str) -> TopicLayout | None:
        """A topic by name."""
        for one in self.topics:
            if one.name == name:
                return one
        return None

    def logs(self, name: str) -> bool:
        """Is the topic in the instance's transaction log?"""
        topic = self.topic(name)
        return topic is not None and topic.logged


class ClientLayout(_Layout):
    """The settings that all clients have."""

    name: str
    servers: tuple[str, ...] = Field(min_length=1, description="instances, in the order in which they are tried")


class PublisherLayout(ClientLayout):
    """A publisher with a publish store: messages without a persisted ack are sent again after a reconnect. It stalls when
    ``store`` messages have no persisted ack. ``keys``: message n is record n modulo ``keys``."""

    topic: str
    rate: float = Field(20.0, ge=0)
    keys: int = Field(100, ge=1)
    store: int = Field(10_000, ge=1)


class SubscriberLayout(ClientLayout):
    """A subscriber that reads a topic from a bookmark. ``fully_durable``: it reads only messages that every sync
    destination has. ``not_found``: where it starts if an instance does not know its bookmark (5.3.5: now)."""

    topic: str
    fully_durable: bool = True
    not_found: Literal["now", "epoch"] = "now"


class ConsumerLayout(ClientLayout):
    """A consumer that takes messages from a queue and acknowledges each after ``work`` seconds."""

    queue: str
    rate: float = Field(200.0, ge=0)
    work: float = Field(0.2, ge=0)


class Refusal(_Layout):
    """A link that validation refuses, independent of the rules of this world."""

    source: str
    destination: str
    check: Check
    topic: str


class FabricLayout(_Layout):
    """The whole fabric. ``latency``: one way. ``link_rate``: the rate of a link. ``ack_interval``: how often a
    destination acknowledges (AckConflationInterval). ``reconnect``: the pause between two tries of a link.
    ``client_reconnect``: the same for a client (LIVE saw 0.3 s). ``tick``: the step in which time moves."""

    instances: tuple[InstanceLayout, ...] = Field(min_length=1)
    publishers: tuple[PublisherLayout, ...] = ()
    subscribers: tuple[SubscriberLayout, ...] = ()
    consumers: tuple[ConsumerLayout, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    validates: bool = True
    latency: float = Field(0.005, ge=0)
    admin_latency: float = Field(0.002, ge=0)
    link_rate: float = Field(2_000.0, gt=0)
    ack_interval: float = Field(1.0, gt=0)
    reconnect: float = Field(1.0, gt=0)
    client_reconnect: float = Field(0.3, gt=0)
    tick: float = Field(0.1, gt=0)
    assume: Assumptions = Assumptions()

    @model_validator(mode="after")
    def _fits(self) -> FabricLayout:
        names = [one.name for one in self.instances]
        clients = [one.name for one in (*self.publishers, *self.subscribers, *self.consumers)]
        for listed in (names, clients):
            twice = sorted({name for name in listed if listed.count(name) > 1})
            if twice:
                raise ValueError(f"{twice[0]} is there twice; names are unique in the whole fabric")
        for where, server in self._named():
            if server not in names:
                raise ValueError(f"{where} names {server}; the fabric has {', '.join(names)}")
        return self

    def _named(self) -> list[tuple[str, str]]:
        named = [
            (one.name, server)
            for one in (*self.publishers, *self.subscribers, *self.consumers)
            for server in one.servers
        ]
        for instance in self.instances:
            named += [
                (f"{instance.name}/{link.name}", server)
                for link in instance.destinations
                for server in link.addresses
            ]
            if instance.bootstrap:
                named += [(f"the bootstrap of {instance.name}", server) for server in instance.bootstrap.servers]
        return named

    def instance(self, name: str) -> InstanceLayout:
        """An instance by name. Raises ``DefinitionError``."""
        for one in self.instances:
            if one.name == name:
                return one
        raise DefinitionError(f"the fabric has no instance {name}; it has {', '.join(self.names)}")

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all instances, in order."""
        return tuple(one.name for one in self.instances)


def fabric_from(data: Mapping[str, Any]) -> FabricLayout:
    """The fabric from a document (from YAML or a world's file). Raises ``DefinitionError`` with the place."""
    try:
        return FabricLayout.model_validate(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the fabric"
        raise DefinitionError(f"{where}: {first['msg'].removeprefix('Value error, ')}") from error
