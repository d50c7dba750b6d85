"""What an export is made of: endpoints, their messages, and the two parts of a message's identity.

Plain values, so that whoever collects messages from a device needs neither Parquet nor Spark.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

Kind = Literal["queue", "topic-endpoint", "topic", "sow"]
Replicated = Literal["replicated", "not-replicated", "pending-replication"]

DIGEST_BYTES = 16
# Assumption: no broker holds a larger message. Solace accepts up to 30 MB; AMPS has 32 bits for the length of a message.
# The sum of two thousand million of these fits into 64 bits.
SIZE_MAX = 2**32 - 1
# The moment at which a message expires that never does: SEMP's `expiryTime` is 0 then.
NEVER = 0.0
NOT_REPLICATED: Replicated = "not-replicated"
PENDING: Replicated = "pending-replication"
# Of AMPS: the transaction log of a topic, and the records of its SOW. Nothing leaves these by being consumed.
LOG: Kind = "topic"
SOW: Kind = "sow"
KEPT: frozenset[str] = frozenset({LOG, SOW})

# A replication group message id ends in a 64-bit number, written as two groups of eight hexadecimal digits; what
# is before it names where the numbers were given out. An AMPS identity is `client name hash|client seq`.
_GROUP_ID = re.compile(r"(.+)-([0-9a-f]{8})-([0-9a-f]{8})")
_CLIENT_ID = re.compile(r"(\d+)\|(0|[1-9]\d*)")
OPAQUE = "#"


@dataclass(frozen=True, slots=True, order=True)
class EndpointKey:
    """One endpoint of one service."""

    service: str
    name: str
    kind: Kind = "queue"

    def __str__(self) -> str:
        return f"{self.service}/{self.kind}/{self.name}"


@dataclass(frozen=True, slots=True)
class Message:
    """One message in one endpoint, as one site holds it.

    ``message_id`` is equal at both sites (Solace: the replication group message id; AMPS: ``client hash|client seq``, of
    a SOW's record its key).
    ``spooled_at`` is seconds since the epoch by that broker's clock. ``size`` is bytes of content and attachment.
    ``digest`` is ``digest_of`` the content, None when the content could not be read. ``position``: a number of the
    site's own that grows along its endpoint; None has messages counted. ``expires_at`` is seconds since the epoch,
    ``NEVER`` for a message that does not expire; ``dmq_eligible``: goes to the dead message queue rather than being
    discarded; ``priority`` from 0 to 9, the highest. None anywhere else is unknown.
    """

    message_id: str
    spooled_at: float
    size: int | None = None
    digest: bytes | None = None
    replicated: Replicated | None = None
    redeliveries: int | None = None
    position: int | None = None
    expires_at: float | None = None
    dmq_eligible: bool | None = None
    priority: int | None = None


@dataclass(frozen=True, slots=True)
class Census:
    """What an endpoint said of itself at one moment: its depth, and its life-time counters.

    Two of them around a span of time bound what was consumed in it. ``at`` is seconds since the epoch, by our clock.
    """

    at: float
    messages: int | None = None
    spooled_total: int | None = None
    deleted_total: int | None = None


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far an endpoint was read: the position and the id of the last message that is safely on disk."""

    position: int
    message_id: str


class Source(Protocol):
    """Where the messages of one site's export come from; the collectors that read devices fit this."""

    def endpoints(self) -> Sequence[EndpointKey]:
        """Every endpoint to be read, always in the same order."""
        ...

    def census(self, key: EndpointKey) -> Census:
        """What the endpoint says of itself now."""
        ...

    def messages(self, key: EndpointKey, after: Cursor | None) -> Iterator[Message]:
        """Its messages in the order in which it would deliver them; ``after``: only those behind that one."""
        ...


def split_id(message_id: str) -> tuple[str, int]:
    """Stream and number of a message id: which series of numbers it is of, and which of them.

    Messages of neighbouring numbers are compared together, so that a difference is found without reading far around
    it. An id of no known form gets the stream ``#`` and a 64-bit hash as its number. This only decides which messages
    are compared together; whether two are the same is decided by the whole id.
    """
    found = _CLIENT_ID.fullmatch(message_id)
    if found and int(found[2]) < 1 << 63:
        return found[1], int(found[2])
    found = _GROUP_ID.fullmatch(message_id)
    if found and found[2] < "80000000":
        return found[1], int(found[2] + found[3], 16)
    return OPAQUE, int.from_bytes(hashlib.blake2b(message_id.encode(), digest_size=8).digest(), "big", signed=True)


def digest_of(content: bytes) -> bytes:
    """16 bytes of BLAKE2b; equal for equal content, and for nothing else that anybody will meet."""
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()
