"""The parts of an export: endpoints, their messages, and the two parts of a message's identity.

The values are plain, so a collector of a device's messages needs neither Parquet nor Spark.
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
# The sum of two thousand million such sizes fits into 64 bits.
SIZE_MAX = 2**32 - 1
# The expiry time of a message that never expires: SEMP's `expiryTime` is 0 then.
NEVER = 0.0
NOT_REPLICATED: Replicated = "not-replicated"
PENDING: Replicated = "pending-replication"
# AMPS: the transaction log of a topic, and the records of its SOW. Consumers do not remove entries from either.
LOG: Kind = "topic"
SOW: Kind = "sow"
KEPT: frozenset[str] = frozenset({LOG, SOW})

# A replication group message id ends in a 64-bit number, written as two groups of eight hexadecimal digits. The part
# before names the source of the numbers. An AMPS identity is `client name hash|client seq`.
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

    ``message_id`` is equal at both sites (Solace: the replication group message id; AMPS: ``client hash|client seq``, or
    the key of a SOW record).
    ``spooled_at`` is seconds since the epoch by that broker's clock. ``size`` is bytes of content and attachment.
    ``digest`` is ``digest_of`` the content, None when the content could not be read. ``position``: the site's own number,
    which grows along the endpoint; if None, the collector counts the messages. ``expires_at`` is seconds since the epoch,
    ``NEVER`` for a message that does not expire. ``dmq_eligible``: the message goes to the dead message queue and is not
    discarded. ``priority``: from 0 to 9, the highest. None in any other field is unknown.
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
    """The state that an endpoint reported at one time: its depth, and its life-time counters.

    Two censuses around a span of time limit the number consumed in it. ``at`` is seconds since the epoch, by our clock.
    """

    at: float
    messages: int | None = None
    spooled_total: int | None = None
    deleted_total: int | None = None


@dataclass(frozen=True, slots=True)
class Cursor:
    """The position and the id of the last message of an endpoint that is safely on disk."""

    position: int
    message_id: str


class Source(Protocol):
    """The source of the messages of one site's export. Collectors that read devices implement it."""

    def endpoints(self) -> Sequence[EndpointKey]:
        """Every endpoint to read, always in the same order."""
        ...

    def census(self, key: EndpointKey) -> Census:
        """The state that the endpoint reports now."""
        ...

    def messages(self, key: EndpointKey, after: Cursor | None) -> Iterator[Message]:
        """The endpoint's messages in the order of delivery. ``after``: only the messages after this cursor."""
        ...


def split_id(message_id: str) -> tuple[str, int]:
    """Stream and number of a message id: the series of numbers, and the number in that series.

    Messages with neighbouring numbers are compared together, so finding a difference needs few other messages. An id of
    unknown form gets the stream ``#`` and a 64-bit hash as its number. This function only decides which messages are
    compared together. The whole id decides whether two messages are the same.
    """
    found = _CLIENT_ID.fullmatch(message_id)
    if found and int(found[2]) < 1 << 63:
        return found[1], int(found[2])
    found = _GROUP_ID.fullmatch(message_id)
    if found and found[2] < "80000000":
        return found[1], int(found[2] + found[3], 16)
    return OPAQUE, int.from_bytes(hashlib.blake2b(message_id.encode(), digest_size=8).digest(), "big", signed=True)


def digest_of(content: bytes) -> bytes:
    """16 bytes of BLAKE2b. Equal for equal content; a collision is not expected in practice."""
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()
