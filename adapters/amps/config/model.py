"""The replication part of one AMPS instance's configuration: the terms that the fabric and the checks use.

Values are as AMPS would use them, with defaults filled in. Every part knows its file and line. This module neither
reads files nor judges. Source: AMPS configuration guide, the chapters named in each docstring.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, NamedTuple

from adapters.amps.config.xmltree import Element


class Check(StrEnum):
    """The nine checks of AMPS ("Replication Configuration Validation"), by the names ``ExcludeValidation`` takes."""

    TXLOG = "txlog"
    REPLICATE = "replicate"
    SOW = "sow"
    CASCADE = "cascade"
    QUEUE = "queue"
    KEYS = "keys"
    REPLICATE_FILTER = "replicate_filter"
    QUEUE_PASSTHROUGH = "queue_passthrough"
    QUEUE_UNDERLYING = "queue_underlying"


ALL_CHECKS = frozenset(Check)
MANDATORY = frozenset({Check.QUEUE, Check.QUEUE_UNDERLYING})

REPLICATION_TYPES = ("amps-replication", "amps-replication-secure")


class Place(NamedTuple):
    """Where something is written; ``line`` is 1-based."""

    file: str
    line: int

    @classmethod
    def of(cls, element: Element) -> Place:
        return cls(element.file, element.line)


class Topic(NamedTuple):
    """A topic in the sense of AMPS: always the pair of name and message type."""

    name: str
    message_type: str


@dataclass(frozen=True, slots=True, eq=False)
class Transport:
    """An incoming transport ("Transports"). ``addresses`` is as written: a port, ``ip:port`` or ``[::]:port``."""

    name: str
    type: str
    addresses: tuple[str, ...]
    at: Place
    is_enabled: bool = True

    @property
    def is_replication(self) -> bool:
        return self.type in REPLICATION_TYPES


@dataclass(frozen=True, slots=True, eq=False)
class LoggedTopic:
    """One ``TransactionLog/Topic``: a name or regular expression, and a message type."""

    name: str
    message_type: str
    at: Place


@dataclass(frozen=True, slots=True, eq=False)
class TransactionLog:
    at: Place
    topics: tuple[LoggedTopic, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class SowTopic:
    """One ``SOW/Topic``. ``pattern`` is set for a container of many topics; ``name`` is then the physical name."""

    name: str
    message_type: str
    at: Place
    keys: tuple[str, ...] = ()
    key_domain: str = ""
    key_generator: str = ""
    pattern: str | None = None
    element: Element | None = None


QueueKind = Literal["Queue", "GroupLocalQueue", "LocalQueue"]


@dataclass(frozen=True, slots=True, eq=False)
class Queue:
    """One queue of any kind. ``underlying`` is the queue's own name unless ``UnderlyingTopic`` says otherwise."""

    name: str
    message_type: str
    kind: QueueKind
    at: Place
    underlying: str
    filter: str = ""
    semantics: str = "at-least-once"
    initial_owner: str = ""
    domain: str = ""
    element: Element | None = None


@dataclass(frozen=True, slots=True, eq=False)
class DerivedTopic:
    """A ``View`` or ``ConflatedTopic``: AMPS computes it on each instance and never replicates it."""

    name: str
    message_type: str
    kind: Literal["View", "ConflatedTopic"]
    at: Place


@dataclass(frozen=True, slots=True, eq=False)
class ReplicatedTopic:
    """One ``Destination/Topic``. ``name`` is None when the element has none (optional since AMPS 5.3.3).

    ``excluded`` holds the checks that the entry excludes with effect; ``unknown_exclusions`` the words that name no
    check, and ``void_exclusions`` the mandatory checks, which it names without effect.
    """

    name: str | None
    message_type: str
    at: Place
    filter: str = ""
    excluded: frozenset[Check] = frozenset()
    unknown_exclusions: tuple[str, ...] = ()
    void_exclusions: tuple[str, ...] = ()


class Address(NamedTuple):
    """One ``InetAddr`` to connect to; ``host`` is empty for a bare port, ``port`` None when it is not a number."""

    host: str
    port: int | None
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Destination:
    """One ``Replication/Destination``: one outgoing link, to the first of ``addresses`` that answers."""

    name: str
    group: str
    sync_type: str
    at: Place
    topics: tuple[ReplicatedTopic, ...] = ()
    passthrough: str | None = None
    passthrough_at: Place | None = None
    addresses: tuple[Address, ...] = ()
    transport_types: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return self.name or self.group or ", ".join(address.text for address in self.addresses) or "without a name"


@dataclass(frozen=True, slots=True, eq=False)
class Bootstrap:
    """The root's ``Bootstrap``: the source from which an instance without messages fetches them before it serves
    clients.

    ``data``: those of ``sow`` and ``txlog`` that ``DataType`` names. None if it names neither, or is missing: AMPS does
    not document what it fetches then.
    """

    at: Place
    topics: tuple[LoggedTopic, ...] = ()
    addresses: tuple[Address, ...] = ()
    data: frozenset[str] | None = None

    def fetches(self, data: str) -> bool:
        """May the instance fetch ``data``, which is ``sow`` or ``txlog``? Without ``DataType`` it may fetch either."""
        return self.data is None or data in self.data


@dataclass(frozen=True, slots=True)
class Remark:
    """Something the reader of the configuration noticed. ``rule`` is the id of the rule that reports it."""

    rule: str
    message: str
    at: Place
    hint: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """One instance. Two instances are the same only if they are the same object: names may be duplicates."""

    name: str
    group: str
    at: Place
    transports: tuple[Transport, ...] = ()
    log: TransactionLog | None = None
    sow: tuple[SowTopic, ...] = ()
    queues: tuple[Queue, ...] = ()
    derived: tuple[DerivedTopic, ...] = ()
    destinations: tuple[Destination, ...] = ()
    bootstrap: Bootstrap | None = None
    regexes: bool = True
    remarks: tuple[Remark, ...] = ()

    @property
    def replication_transports(self) -> tuple[Transport, ...]:
        return tuple(transport for transport in self.transports if transport.is_replication)

    @property
    def client_transports(self) -> tuple[Transport, ...]:
        return tuple(transport for transport in self.transports if not transport.is_replication)

    def __repr__(self) -> str:
        return f"Instance({self.name!r})"
