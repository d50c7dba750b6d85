"""The manifest of an export: what was read, when, and whether it is whole. Needs neither Parquet nor Spark.

It is written last, so a directory without one is a collection that has not ended. It is what makes statements such as
"the time between the two snapshots explains this" possible: without the times and counters of an endpoint they would
be guesses.
"""

from __future__ import annotations

import hashlib
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.errors import DefinitionError
from pipeline.rows import Census, EndpointKey, Kind

FORMAT: Literal[1] = 1
NAME = "manifest.json"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CensusModel(_Strict):
    """``Census`` as it is written down."""

    at: float
    messages: int | None = None
    spooled_total: int | None = None
    deleted_total: int | None = None

    @classmethod
    def of(cls, census: Census) -> CensusModel:
        """The same values."""
        return cls(
            at=census.at,
            messages=census.messages,
            spooled_total=census.spooled_total,
            deleted_total=census.deleted_total,
        )


class EndpointSnapshot(_Strict):
    """One endpoint as it was read: from when to when (seconds since the epoch, our clock), and how much.

    ``begins_at``: of a log, by its own clock, when its oldest entry was written; what was older is gone. ``unread``:
    pieces of what it was read from that are in quarantine.
    """

    service: str
    name: str
    kind: Kind = "queue"
    messages: int = Field(ge=0)
    taken_from: float
    taken_to: float
    censuses: tuple[CensusModel, ...] = ()
    begins_at: float | None = None
    unread: int = 0

    @property
    def key(self) -> EndpointKey:
        """What tells it from the others."""
        return EndpointKey(self.service, self.name, self.kind)

    @property
    def is_whole(self) -> bool | None:
        """Was every message read? None when the endpoint did not tell its depth both before and after, as no dump does.

        Messages may be consumed while they are read. Where the counters tell how many, exactly these may be absent;
        where they do not, anything less than both depths is taken for an incomplete reading.
        """
        if self.unread:
            return False
        depths = [census.messages for census in self.censuses if census.messages is not None]
        if len(depths) < 2:
            return None
        gone = self.deleted_between(self.taken_from, self.taken_to)
        return self.messages >= (min(depths) if gone is None else depths[0] - gone)

    def deleted_between(self, start: float, end: float) -> int | None:
        """At most this many messages left the endpoint between these moments; None when its counters do not say."""
        told = sorted(
            (census.at, census.deleted_total) for census in self.censuses if census.deleted_total is not None
        )
        before = [total for at, total in told if at <= start]
        after = [total for at, total in told if at >= end]
        return after[0] - before[-1] if before and after else None


class ServiceSnapshot(_Strict):
    """One service at this site. ``role`` as the site said it; ``was_interrupted``: did replication ever stop queueing?

    ``was_interrupted`` true means messages exist that were never put into the replication queue (replication was
    disabled, or suspended by a full queue: seed 003, "Failing Back to Restored Sites"). None is unknown.
    """

    name: str
    role: Literal["active", "standby"] | None = None
    was_interrupted: bool | None = None


class DataFile(_Strict):
    """One Parquet file of the export; ``path`` is relative to it."""

    path: str
    rows: int = Field(ge=0)
    bytes: int = Field(ge=0)


class UnreadDump(_Strict):
    """What of one dump could not be read: how many pieces and bytes, and why the first of them."""

    file: str
    pieces: int
    bytes: int
    reason: str


class DumpsRead(_Strict):
    """What an export was read from, when that were dumps. ``left_aside``: journal entries that are no messages, by
    type. ``quarantine``: the files of the table with every piece that could not be read."""

    dumps: int
    left_aside: dict[str, int] = Field(default_factory=dict)
    unread: tuple[UnreadDump, ...] = ()
    quarantine: tuple[DataFile, ...] = ()


class Manifest(_Strict):
    """The whole of it. Times are seconds since the epoch by the clock of the machine that collected.

    ``unknown``: columns that what was read tells of no message.
    """

    format: Literal[1] = FORMAT
    site: str = Field(min_length=1)
    simulated: bool = False
    run: str | None = None
    failover_at: float | None = None
    started_at: float
    finished_at: float
    services: tuple[ServiceSnapshot, ...]
    endpoints: tuple[EndpointSnapshot, ...]
    files: tuple[DataFile, ...]
    unknown: tuple[str, ...] = ()
    dumps: DumpsRead | None = None

    @property
    def messages(self) -> int:
        """How many messages the files hold."""
        return sum(file.rows for file in self.files)

    def service(self, name: str) -> ServiceSnapshot | None:
        """One service, if it was read."""
        return next((service for service in self.services if service.name == name), None)

    def encoded(self) -> bytes:
        """As it is written."""
        return (self.model_dump_json(indent=1, exclude_none=True) + "\n").encode()


def decode_manifest(data: bytes, file: str) -> Manifest:
    """The manifest in ``data``. Raises ``DefinitionError`` with the file and the first thing wrong in it."""
    try:
        return Manifest.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise DefinitionError(
            f"not a manifest of an export: {where or 'document'}: {first['msg']}", file=file
        ) from error


def fingerprint_of(data: bytes) -> str:
    """What a report names this very manifest by."""
    return hashlib.sha256(data).hexdigest()
