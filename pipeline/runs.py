"""Records of runs as Parquet: written from a journal's records, and read for questions over many runs.

    DIR/run=20261120-0305-ab12/records.parquet

The file has one row for each record, in order. It contains every hashed field as it was stored, so the file can be
verified like an export in JSON Lines. This module does not read a journal.
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

from orchestrator.errors import DefinitionError, OutputLost
from pipeline.places import Place

FILE = "records.parquet"
FOLDER = "run="
_ROWS_A_GROUP = 10_000
_PRIVATE_FILE, _PRIVATE_DIRECTORY = 0o600, 0o700

# Column, type, may it be empty, meaning.
COLUMNS: tuple[tuple[str, pa.DataType, bool, str], ...] = (
    ("run", pa.string(), False, "the run"),
    ("seq", pa.int64(), False, "the record's number in its run, from 1"),
    ("at", pa.timestamp("us", tz="UTC"), False, "when the event was recorded"),
    (
        "stored_at",
        pa.float64(),
        False,
        "the same time as stored, in seconds since the epoch; the hash covers this value",
    ),
    ("lane", pa.string(), True, "the service; empty for events of the whole run"),
    ("kind", pa.string(), False, "the kind of event"),
    ("step", pa.string(), True, "the step of the event, if any"),
    ("simulated", pa.bool_(), False, "whether the run was a simulation"),
    ("event", pa.string(), False, "the whole event, as JSON"),
    ("hash", pa.string(), False, "the record's link in the hash chain"),
    ("signature", pa.string(), True, "key and value of the signature on the record, as JSON; empty without one"),
)
SCHEMA = pa.schema([pa.field(name, kind, nullable=empty) for name, kind, empty, _ in COLUMNS])


def write_runs(directory: Path, runs: Iterable[tuple[str, Iterable[Mapping[str, Any]]]]) -> int:
    """Write each run's stored records (``run``, ``seq``, ``at``, ``lane``, ``event``, ``hash``, ``simulated``,
    perhaps ``signature``) into a separate file, all or nothing. An earlier export of the same run is replaced. Returns
    the number of records.

    Only the owner can read the files, like the journal. Raises ``OutputLost``.
    """
    written = 0
    for run, records in runs:
        folder = directory / f"{FOLDER}{run}"
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=_PRIVATE_DIRECTORY)
            written += _write(folder / FILE, records)
        except (OSError, pa.ArrowException) as error:
            raise OutputLost(f"{folder} could not be written: {str(error).splitlines()[0]}") from error
    return written


def runs_in(directory: Place) -> list[Place]:
    """The files that ``write_runs`` wrote into ``directory``."""
    folders = [place.child(FILE) for place in directory.directories() if place.base_name.startswith(FOLDER)]
    return [file for file in folders if file.exists()]


def read_run(file: Place) -> list[dict[str, Any]]:
    """The records in one of these files, with the fields that ``orchestrator.journal.hash_chain.follow_exported``
    needs.

    Raises ``DefinitionError`` with file and column: not a whole Parquet file, a column missing or of another type.
    """
    try:
        with file.open_input() as stream:
            table = pq.read_table(stream)
    except (pa.ArrowException, OSError) as error:
        raise DefinitionError(
            f"this file is not a complete Parquet file: {str(error).splitlines()[0]}",
            file=file.name,
            hint="export the run again",
        ) from error
    for field in SCHEMA:
        found = table.schema.get_field_index(field.name)
        if found < 0 or table.schema.field(found).type != field.type:
            what = (
                "is missing"
                if found < 0
                else f"has the type {table.schema.field(found).type}, but must have {field.type}"
            )
            raise DefinitionError(f"column {field.name} {what}", file=file.name, hint="export the run again")
    stored = table.drop_columns(["at"]).rename_columns({"stored_at": "at"})
    rows: list[dict[str, Any]] = stored.to_pylist()
    return rows


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
    signature = record.get("signature")
    return {
        **{name: record[name] for name in ("run", "seq", "lane", "event", "hash", "simulated")},
        "at": round(record["at"] * 1_000_000),
        "stored_at": record["at"],
        "signature": None if signature is None else json.dumps(signature),
        "kind": event["kind"],
        "step": step if isinstance(step, str) else None,
    }
