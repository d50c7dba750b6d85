"""Writes the unreadable pieces of dumps as a table of an export, so every part of a dump is recorded.

    EXPORT/quarantine/part-00001.parquet

The table has one row for each piece, with dump, offset and excerpt. A row without an offset is about a whole dump.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.errors import OutputLost
from pipeline.amps.text import Quarantined
from pipeline.commits import QUARANTINE
from pipeline.manifest import DataFile
from pipeline.places import MAKE_ROOM, write_whole

SCHEMA = pa.schema(
    [
        pa.field("file", pa.string(), nullable=False),
        pa.field("offset", pa.int64()),
        pa.field("length", pa.int64()),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("excerpt", pa.binary()),
    ]
)
# An excerpt has up to 2 KB (text.EXCERPT_BYTES), so this limits the memory.
_ROWS_A_FILE = 4096


class Quarantine:
    """The table of one export. ``first``: the number of its next file."""

    def __init__(self, directory: Path, first: int) -> None:
        self._directory = directory
        self._next = first
        self._rows: list[dict[str, object]] = []
        self._closed: list[DataFile] = []

    def piece(self, file: str, one: Quarantined) -> None:
        """Add a piece of the dump ``file``. Raises ``OutputLost``."""
        told = {"offset": one.offset, "length": one.length, "excerpt": one.excerpt}
        self._add({"file": file, "reason": one.reason, **told})

    def remark(self, file: str, reason: str) -> None:
        """Add a remark on the whole dump ``file``. Raises ``OutputLost``."""
        self._add({"file": file, "reason": reason})

    def close_all(self) -> Sequence[DataFile]:
        """Write the waiting rows. Returns the files written since the last call. Raises ``OutputLost``."""
        self._flush()
        closed, self._closed = self._closed, []
        return closed

    def _add(self, row: dict[str, object]) -> None:
        self._rows.append(row)
        if len(self._rows) >= _ROWS_A_FILE:
            self._flush()

    def _flush(self) -> None:
        if not self._rows:
            return
        relative = f"{QUARANTINE}/part-{self._next:05d}.parquet"
        sink = pa.BufferOutputStream()
        pq.write_table(pa.Table.from_pylist(self._rows, SCHEMA), sink, compression="zstd")
        data = sink.getvalue().to_pybytes()
        try:
            write_whole(self._directory / relative, data)
        except OSError as error:
            lost = f"{self._directory / relative} could not be written: {error.strerror}"
            raise OutputLost(lost, hint=MAKE_ROOM) from error
        self._closed.append(DataFile(path=relative, rows=len(self._rows), bytes=len(data)))
        self._next += 1
        self._rows.clear()
