"""Writes messages into Parquet files, one set of files for each partition, in bounded memory.

A file that is being written has a name that readers ignore, so a reader never sees a partial file. A closed file is on
disk before its name is returned to the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import IO

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.errors import OutputLost
from pipeline.layout import MICROS, SCHEMA, day_of, open_parquet, partition_path
from pipeline.manifest import DataFile
from pipeline.places import MAKE_ROOM, sync
from pipeline.rows import EndpointKey, Message, split_id

UNFINISHED = ".unfinished"


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits for memory, open files and the size of a file. ``rows_buffered`` is counted over all files."""

    rows_buffered: int = 262_144
    files_open: int = 8
    rows_a_group: int = 131_072
    rows_a_file: int = 4_000_000


class _Digested:
    """A file being written, with the SHA-256 of its content."""

    def __init__(self, path: Path) -> None:
        self._stream: IO[bytes] = path.open("wb")
        self._digest = sha256()

    def write(self, data: bytes) -> int:
        self._digest.update(data)
        return self._stream.write(data)

    def tell(self) -> int:
        return self._stream.tell()

    def flush(self) -> None:
        self._stream.flush()

    def close(self) -> None:
        self._stream.close()

    @property
    def closed(self) -> bool:
        return self._stream.closed

    def hexdigest(self) -> str:
        return self._digest.hexdigest()


@dataclass(slots=True)
class _Part:
    """One file being written. ``rows`` is the number of rows in the file; ``columns`` holds the rows still in memory."""

    path: Path
    service: str
    stream: _Digested
    writer: pq.ParquetWriter
    rows: int = 0
    columns: list[list[object]] = field(default_factory=lambda: [[] for _ in SCHEMA])

    @property
    def waiting(self) -> int:
        return len(self.columns[0])

    def flush(self) -> None:
        if self.waiting:
            arrays = [pa.array(values, field.type) for values, field in zip(self.columns, SCHEMA, strict=True)]
            self.writer.write_table(pa.table(arrays, schema=SCHEMA))
            self.rows += self.waiting
            self.columns = [[] for _ in SCHEMA]


class Parts:
    """The files of one site's export. ``first``: the number of the next file, counted over the whole export."""

    def __init__(self, directory: Path, site: str, *, first: int = 1, bounds: Bounds | None = None) -> None:
        self._directory = directory
        self._site = site
        self._next = first
        self._bounds = bounds or Bounds()
        self._open: dict[str, _Part] = {}  # the least recently used comes first
        self._closed: list[DataFile] = []
        self._waiting = 0

    @property
    def next_number(self) -> int:
        """The number of the next file."""
        return self._next

    def add(self, key: EndpointKey, position: int, message: Message) -> None:
        """Append one message. Raises ``OutputLost``."""
        part = self._part(partition_path(self._site, key.service, day_of(message.spooled_at)), key.service)
        stream, sequence = split_id(message.message_id)
        row = (
            *(key.name, key.kind, message.message_id, stream, sequence, position),
            *(round(message.spooled_at * MICROS), message.size, message.digest),
            *(message.replicated, message.redeliveries),
            *(None if message.expires_at is None else round(message.expires_at * MICROS),),
            *(message.dmq_eligible, message.priority),
        )
        for column, value in zip(part.columns, row, strict=True):
            column.append(value)
        self._waiting += 1
        self._keep_within_bounds(part)

    def close_all(self) -> Sequence[DataFile]:
        """Close every open file. Returns the files closed since the last call. Raises ``OutputLost``."""
        for partition in list(self._open):
            self._close(partition)
        closed, self._closed = self._closed, []
        return closed

    def abandon(self) -> None:
        """Delete the open files. Closed files stay."""
        for part in self._open.values():
            with suppress(OSError, pa.ArrowException):  # the file is deleted in any case
                part.writer.close()
            with suppress(OSError):
                part.stream.close()
            part.path.unlink(missing_ok=True)
        self._open.clear()
        self._waiting = 0

    def _part(self, partition: str, service: str) -> _Part:
        part = self._open.pop(partition, None)
        if part is None:
            if len(self._open) >= self._bounds.files_open:
                self._close(next(iter(self._open)))
            part = self._begin(partition, service)
        self._open[partition] = part
        return part

    def _begin(self, partition: str, service: str) -> _Part:
        name = f"part-{self._next:05d}.parquet"
        self._next += 1
        path = self._directory / partition / f".{name}{UNFINISHED}"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            stream = _Digested(path)
            return _Part(path, service, stream, open_parquet(stream))
        except OSError as error:
            path.unlink(missing_ok=True)
            raise _lost(path, error) from error

    def _keep_within_bounds(self, part: _Part) -> None:
        if part.waiting >= self._bounds.rows_a_group:
            self._flush(part)
        if self._waiting >= self._bounds.rows_buffered:
            self._flush(max(self._open.values(), key=lambda one: one.waiting))
        if part.rows + part.waiting >= self._bounds.rows_a_file:
            self._close(next(name for name, one in self._open.items() if one is part))

    def _flush(self, part: _Part) -> None:
        self._waiting -= part.waiting
        try:
            part.flush()
        except (OSError, pa.ArrowException) as error:
            raise _lost(part.path, error) from error

    def _close(self, partition: str) -> None:
        part = self._open[partition]
        self._flush(part)
        final = part.path.with_name(part.path.name.removeprefix(".").removesuffix(UNFINISHED))
        try:
            part.writer.close()
            part.stream.close()
            sync(part.path)
            part.path.replace(final)
            sync(final.parent)
            size = final.stat().st_size
        except (OSError, pa.ArrowException) as error:
            raise _lost(final, error) from error
        del self._open[partition]  # only now: `abandon` deletes a file that could not be closed
        relative = final.relative_to(self._directory).as_posix()
        digest = part.stream.hexdigest()
        self._closed.append(DataFile(path=relative, rows=part.rows, bytes=size, sha256=digest, service=part.service))


def _lost(path: Path, error: Exception) -> OutputLost:
    return OutputLost(f"{path} could not be written: {str(error).splitlines()[0]}", hint=MAKE_ROOM)
