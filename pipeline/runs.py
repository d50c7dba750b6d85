"""Writes the records of runs as Parquet: what questions over many runs are asked of. Reads no journal itself.

    DIR/run=20261120-0305-ab12/records.parquet

One row for each record, in order; ``event`` is the record as it was stored, as JSON, so nothing of it is lost.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.errors import OutputLost

_ROWS_A_GROUP = 10_000
_PRIVATE_FILE, _PRIVATE_DIRECTORY = 0o600, 0o700

# Column, type, may it be empty, what it is.
COLUMNS: tuple[tuple[str, pa.DataType, bool, str], ...] = (
    ("run", pa.string(), False, "the run"),
    ("seq", pa.int64(), False, "the record's number in its run, from 1"),
    ("at", pa.timestamp("us", tz="UTC"), False, "when it was recorded"),
    ("lane", pa.string(), True, "the service; empty for what concerns the whole run"),
    ("kind", pa.string(), False, "what kind of event"),
    ("step", pa.string(), True, "the step it belongs to, if any"),
    ("simulated", pa.bool_(), False, "was the run a simulation"),
    ("event", pa.string(), False, "the whole event, as JSON"),
    ("hash", pa.string(), False, "the record's link in the hash chain"),
)
SCHEMA = pa.schema([pa.field(name, kind, nullable=empty) for name, kind, empty, _ in COLUMNS])


def write_runs(directory: Path, runs: Iterable[tuple[str, Iterable[Mapping[str, Any]]]]) -> int:
    """Write each run's stored records (``run``, ``seq``, ``at``, ``lane``, ``event``, ``hash``, ``simulated``) into a
    file of its own, all of it or nothing; an earlier export of the same run is replaced. Returns how many records.

    For the owner only, as the journal is. Raises ``OutputLost``.
    """
    written = 0
    for run, records in runs:
        folder = directory / f"run={run}"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=_PRIVATE_DIRECTORY)
            written += _write(folder / "records.parquet", records)
        except (OSError, pa.ArrowException) as error:
            raise OutputLost(f"{folder} could not be written: {str(error).splitlines()[0]}") from error
    return written


def _write(path: Path, records: Iterable[Mapping[str, Any]]) -> int:
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    count = 0
    try:
        with (
            os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE_FILE), "wb") as stream,
            pq.ParquetWriter(stream, SCHEMA, compression="zstd") as writer,
        ):
            for rows in _groups(map(_row, records)):
                writer.write_table(pa.Table.from_pylist(rows, SCHEMA))
                count += len(rows)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
    return count


def _groups(rows: Iterator[dict[str, object]]) -> Iterator[list[dict[str, object]]]:
    while group := list(islice(rows, _ROWS_A_GROUP)):
        yield group


def _row(record: Mapping[str, Any]) -> dict[str, object]:
    event = json.loads(record["event"])
    step = event.get("step")
    return {
        **{name: record[name] for name in ("run", "seq", "lane", "event", "hash", "simulated")},
        "at": round(record["at"] * 1_000_000),
        "kind": event["kind"],
        "step": step if isinstance(step, str) else None,
    }
