"""The manifest of an export: what was read, when, and whether it is complete. Needs neither Parquet nor Spark.

The manifest is written last, so a directory without a manifest is a collection that has not ended. Its times and
counters of each endpoint prove statements such as "the time between the two snapshots explains this".
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection
from posixpath import normpath
from typing import Annotated, Literal, Self
from urllib.parse import unquote

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from orchestrator.errors import DefinitionError
from pipeline.moments import BEGIN_S, END_S, Moment
from pipeline.rows import Census, EndpointKey, Kind

FORMAT = 1
NAME = "manifest.json"
# Features that a reader must know, besides the format, to read an export correctly. This release writes none of them.
FEATURES: frozenset[str] = frozenset()


class _Strict(BaseModel):
    # A later release may add optional fields: an older reader ignores them. Fields it must know are in `features`.
    model_config = ConfigDict(frozen=True, extra="ignore")


class CensusModel(_Strict):
    """``Census`` as the manifest stores it."""

    at: Moment
    messages: int | None = None
    spooled_total: int | None = None
    deleted_total: int | None = None

    @classmethod
    def of(cls, census: Census) -> CensusModel:
        """A model with the values of ``census``."""
        return cls(
            at=census.at,
            messages=census.messages,
            spooled_total=census.spooled_total,
            deleted_total=census.deleted_total,
        )


class EndpointSnapshot(_Strict):
    """One endpoint as it was read: start and end of reading (seconds since the epoch, our clock), and the count.

    ``begins_at``: for a log, the time of its oldest entry by the log's own clock; older entries are gone. ``unread``:
    the number of pieces of the endpoint's input that are in quarantine.
    """

    service: str
    name: str
    kind: Kind = "queue"
    messages: int = Field(ge=0)
    taken_from: Moment
    taken_to: Moment
    censuses: tuple[CensusModel, ...] = ()
    begins_at: Annotated[float, Field(ge=BEGIN_S, lt=END_S, allow_inf_nan=False)] | None = None
    unread: int = 0

    @property
    def key(self) -> EndpointKey:
        """The key that identifies the endpoint."""
        return EndpointKey(self.service, self.name, self.kind)

    @property
    def is_whole(self) -> bool | None:
        """Was every message read? None when the endpoint did not report its depth both before and after; dumps never do.

        Messages may be consumed while they are read. If the counters give their number, at most that many may be absent.
        Otherwise, fewer messages than both depths mean an incomplete reading.
        """
        if self.unread:
            return False
        depths = [census.messages for census in self.censuses if census.messages is not None]
        if len(depths) < 2:
            return None
        gone = self.deleted_between(self.taken_from, self.taken_to)
        return self.messages >= (min(depths) if gone is None else depths[0] - gone)

    def deleted_between(self, start: float, end: float) -> int | None:
        """The largest number of messages that can have left the endpoint between these times; None without counters."""
        told = sorted(
            (census.at, census.deleted_total) for census in self.censuses if census.deleted_total is not None
        )
        before = [total for at, total in told if at <= start]
        after = [total for at, total in told if at >= end]
        return after[0] - before[-1] if before and after else None


class ServiceSnapshot(_Strict):
    """One service at this site. ``role``: as the site reported it. ``was_interrupted``: did replication stop queueing?

    ``was_interrupted`` true means messages exist that were never put into the replication queue (replication was
    disabled, or suspended by a full queue: docs/sources/solace-procedure.md, fail-back). None is unknown.
    """

    name: str
    role: Literal["active", "standby"] | None = None
    was_interrupted: bool | None = None


class DataFile(_Strict):
    """One Parquet file of the export; ``path`` is relative to it. ``sha256``: of the whole file, None in an export of
    0.1.0. ``service``: the service of its messages; if None, the directory name gives the service."""

    path: str
    rows: int = Field(ge=0)
    bytes: int = Field(ge=0)
    sha256: str | None = None
    service: str | None = None

    @property
    def of_service(self) -> str | None:
        """The service of its messages; None if neither the manifest nor the path names the service."""
        if self.service is not None:
            return self.service
        parts = (part.partition("=") for part in self.path.split("/")[:-1])
        return next((unquote(value) for name, _, value in parts if name == "service"), None)


class UnreadDump(_Strict):
    """The unreadable part of one dump: the number of pieces and bytes, and the reason for the first piece."""

    file: str
    pieces: int
    bytes: int
    reason: str


class DumpsRead(_Strict):
    """The dumps that an export was read from. ``left_aside``: journal entries that are not messages, by type.
    ``quarantine``: the files of the table with every piece that could not be read."""

    dumps: int
    left_aside: dict[str, int] = Field(default_factory=dict)
    unread: tuple[UnreadDump, ...] = ()
    quarantine: tuple[DataFile, ...] = ()


class Manifest(_Strict):
    """The whole manifest. Times are seconds since the epoch by the clock of the machine that collected.

    ``unknown``: columns that the input has for no message. ``features``: what a reader must know to read it correctly.
    """

    format: int = FORMAT
    features: tuple[str, ...] = ()
    site: str = Field(min_length=1)
    simulated: bool = False
    run: str | None = None
    failover_at: Moment | None = None
    started_at: Moment
    finished_at: Moment
    services: tuple[ServiceSnapshot, ...]
    endpoints: tuple[EndpointSnapshot, ...]
    files: tuple[DataFile, ...]
    unknown: tuple[str, ...] = ()
    dumps: DumpsRead | None = None

    @model_validator(mode="after")
    def _names_each_once(self) -> Self:
        _check_once("file", [file.path for file in self.files])
        _check_once("endpoint", [str(endpoint.key) for endpoint in self.endpoints])
        _check_once("service", [service.name for service in self.services])
        for file in self.files:
            if file.path.startswith("/") or ".." in file.path.split("/"):
                raise ValueError(f"{file.path} is not inside the export")
            if file.path == "." or file.path != normpath(file.path):  # a file with two names would be read twice
                raise ValueError(f"{file.path or 'an empty text'} is not a plain file name")
        return self

    @property
    def messages(self) -> int:
        """The number of messages in the files."""
        return sum(file.rows for file in self.files)

    def rows_of(self, services: Collection[str]) -> int:
        """The number of messages in the files of these services."""
        return sum(file.rows for file in self.files if file.of_service in services)

    def service(self, name: str) -> ServiceSnapshot | None:
        """One service, if it was read."""
        return next((service for service in self.services if service.name == name), None)

    def encoded(self) -> bytes:
        """The content of the manifest file."""
        return (self.model_dump_json(indent=1, exclude_none=True) + "\n").encode()


def _check_once(what: str, names: Collection[str]) -> None:
    twice = [name for name, number in Counter(names).items() if number > 1]
    if twice:
        raise ValueError(f"{what} {twice[0]} is listed twice")


def decode_manifest(data: bytes, file: str) -> Manifest:
    """The manifest in ``data``. Raises ``DefinitionError`` with the file and its first fault."""
    try:
        manifest = Manifest.model_validate_json(data)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise DefinitionError(
            f"this file is not a manifest of an export: {where or 'document'}: "
            f"{first['msg'].removeprefix('Value error, ')}",
            file=file,
            hint="collect the export again",
        ) from error
    unknown = sorted({*manifest.features} - FEATURES)
    if manifest.format != FORMAT or unknown:
        what = f"format {manifest.format}" if manifest.format != FORMAT else f"the feature {unknown[0]}"
        raise DefinitionError(
            f"the export has {what}, but this release does not support it",
            file=file,
            hint="use a newer release of failover",
        )
    return manifest


def fingerprint_of(data: bytes) -> str:
    """The hash by which a report identifies this exact manifest."""
    return hashlib.sha256(data).hexdigest()
