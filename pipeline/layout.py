"""The layout of an export on disk: the Parquet schema, the directories, and the check that files fit both.

    EXPORT/manifest.json
    EXPORT/site=ny/service=Trading_VPN/day=2026-11-20/part-00001.parquet

The directories are Hive partitions, so any Parquet reader also sees the columns ``site``, ``service`` and ``day`` (UTC,
of ``spooled_at``). This file must never read a message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.counting import counted
from orchestrator.errors import DefinitionError
from pipeline.bounds import beyond
from pipeline.manifest import DataFile
from pipeline.places import Place
from pipeline.rows import DIGEST_BYTES, NOT_REPLICATED

MICROS = 1_000_000
_READERS = 8
_ANY = (-(1 << 63), (1 << 63) - 1)
_PIECE_BYTES = 4 << 20
_AGAIN = "collect or copy it again"

# Column, type, may it be empty, meaning. docs/how-to/pipeline.md shows this table; a test checks that both are equal.
COLUMNS: tuple[tuple[str, pa.DataType, bool, str], ...] = (
    ("endpoint", pa.string(), False, "name of the queue or topic endpoint; for AMPS the topic and message type"),
    ("kind", pa.string(), False, "`queue`, `topic-endpoint`; AMPS: `topic` (its log), `sow` (its records)"),
    ("message_id", pa.string(), False, "the id of the message, equal at both sites; see below"),
    (
        "stream",
        pa.string(),
        False,
        "the series of numbers that the id belongs to; `#` if the form of the id is unknown",
    ),
    ("sequence", pa.int64(), False, "the id's number in its stream; for stream `#` a hash of the id"),
    ("position", pa.int64(), False, "a number that grows in the order of delivery; gaps are allowed"),
    ("spooled_at", pa.timestamp("us", tz="UTC"), False, "when the message was spooled, by this site's broker"),
    ("size", pa.int64(), True, "bytes of content and attachment: 0 to 4,294,967,295"),
    (
        "digest",
        pa.binary(DIGEST_BYTES),
        True,
        "BLAKE2b of the content, 16 bytes; empty if the content could not be read",
    ),
    ("replicated", pa.string(), True, "`replicated`, `not-replicated`, `pending-replication`; empty means unknown"),
    ("redeliveries", pa.int32(), True, "how often the message was delivered again"),
    (
        "expires_at",
        pa.timestamp("us", tz="UTC"),
        True,
        "when the message expires; 1970-01-01 means never; empty means unknown",
    ),
    (
        "dmq_eligible",
        pa.bool_(),
        True,
        "whether the message goes to the dead message queue instead of being discarded; empty means unknown",
    ),
    ("priority", pa.int32(), True, "0 to 9, where 9 is the highest; empty means unknown"),
)
SCHEMA = pa.schema([pa.field(name, kind, nullable=empty) for name, kind, empty, _ in COLUMNS])

_REQUIRED = frozenset(name for name, _, empty, _ in COLUMNS if not empty)

DICTIONARIES = ["endpoint", "kind", "stream", "replicated"]
# A closer check reads whole pages. With small pages it reads few rows that it does not search for.
ROWS_A_PAGE = 4_096
_ENCODINGS = {
    "message_id": "DELTA_BYTE_ARRAY",
    "sequence": "DELTA_BINARY_PACKED",
    "position": "DELTA_BINARY_PACKED",
}


def open_parquet(stream: object) -> pq.ParquetWriter:
    """A writer of this schema into ``stream``, with encodings that fit the columns and an index of pages. The index lets
    a reader of a range of numbers read only the pages of that range."""
    return pq.ParquetWriter(
        stream,
        SCHEMA,
        compression="zstd",
        use_dictionary=DICTIONARIES,
        column_encoding=_ENCODINGS,
        version="2.6",
        write_page_index=True,
        write_page_checksum=True,
        max_rows_per_page=ROWS_A_PAGE,
    )


def partition_path(site: str, service: str, day: str) -> str:
    """The directory of the files of one partition, relative to the export."""
    return f"site={_escaped(site)}/service={_escaped(service)}/day={day}"


def _escaped(value: str) -> str:
    return quote(value, safe=" _-.@~+,")


def day_of(spooled_at: float) -> str:
    """``2026-11-20`` for seconds since the epoch, UTC."""
    return datetime.fromtimestamp(spooled_at, UTC).strftime("%Y-%m-%d")


@dataclass(frozen=True, slots=True)
class Footer:
    """The facts in the footer of a file. ``undigested``: the number of rows without a digest. ``numbers``: the lowest and
    highest ``sequence``. ``has_local``: may any row be of a message that is not replicated? ``has_priorities``: may any
    row have a priority? ``absent``: the missing columns; all of them may be empty."""

    undigested: int
    numbers: tuple[int, int]
    has_local: bool
    has_priorities: bool
    absent: frozenset[str]


def check_files(place: Place, files: Sequence[DataFile], *, digests: bool = True) -> list[Footer]:
    """Compare every file with the schema and the manifest, and return the facts of the footers. ``digests``: read each
    file whole, and compare its SHA-256 with the SHA-256 in the manifest, if the manifest has one.

    Raises ``DefinitionError`` with file and column: not a whole Parquet file; a column that is missing, of another type
    or with empty values; another number of rows; a file that differs from the collected file.
    """
    with ThreadPoolExecutor(_READERS) as pool:
        footers = list(pool.map(lambda file: _checked(place, file), files))
        if digests:
            list(pool.map(lambda file: _check_digest(place, file), files))
    return footers


def _check_digest(place: Place, file: DataFile) -> None:
    if file.sha256 is None:
        return
    name, digest, size = place.child(file.path).name, sha256(), 0
    try:
        with place.child(file.path).open_input() as stream:
            while piece := stream.read(_PIECE_BYTES):
                digest.update(piece)
                size += len(piece)
    except OSError as error:
        raise DefinitionError(f"this file cannot be read: {_first_line(error)}", file=name, hint=_AGAIN) from error
    if digest.hexdigest() != file.sha256:
        told = (
            ""
            if size == file.bytes
            else f" The file has {counted(size, 'byte')}, but the manifest says {file.bytes:,}."
        )
        raise DefinitionError(
            f"this file was damaged or changed: its SHA-256 differs from the SHA-256 in the manifest.{told}".rstrip(
                "."
            ),
            file=name,
            hint=_AGAIN,
        )


def _checked(place: Place, file: DataFile) -> Footer:
    name = place.child(file.path).name
    try:
        with place.child(file.path).open_input() as stream:
            parquet = pq.ParquetFile(stream)
            found, metadata = parquet.schema_arrow, parquet.metadata
            column = _wrong_column(found)
            empty = _empty_values(parquet, () if column else _REQUIRED)
            strange = None if column else beyond(parquet)
    except FileNotFoundError as error:
        raise DefinitionError("the manifest names this file, but the file does not exist", file=name) from error
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError, EOFError) as error:
        raise DefinitionError(
            f"this file is not a complete Parquet file: {_first_line(error)}", file=name, hint=_AGAIN
        ) from error
    column = column or next((f"column {one} has empty values" for one in sorted(empty) if one in _REQUIRED), None)
    if column is not None:
        raise DefinitionError(column, file=name, hint="docs/how-to/pipeline.md has the schema")
    if strange is not None:
        raise DefinitionError(
            f"column {strange.column} has the value {strange.value}, which is not possible",
            file=name,
            hint=strange.allowed,
        )
    if metadata.num_rows != file.rows:
        raise DefinitionError(
            f"this file has {counted(metadata.num_rows, 'row')}, but the manifest says {file.rows:,}",
            file=name,
            hint=_AGAIN,
        )
    absent = frozenset(SCHEMA.names) - {*found.names}
    undigested = metadata.num_rows if "digest" in absent else empty.get("digest", 0)
    return Footer(undigested, _numbers(metadata), _has_local(metadata), _has_priorities(metadata), absent)


def damaged_file(place: Place, files: Sequence[DataFile]) -> DefinitionError | None:
    """The error for the first file and column that cannot be read to the end; None when all can. Used when an engine
    failed and did not name the file."""
    for file in files:
        for name in SCHEMA.names:
            try:
                with place.child(file.path).open_input() as stream:
                    parquet = pq.ParquetFile(stream, page_checksum_verification=True)
                    if name in parquet.schema_arrow.names:
                        for _ in parquet.iter_batches(columns=[name]):
                            pass
            except (pa.ArrowException, OSError, EOFError) as error:
                why = f"column {name} cannot be read: {_first_line(error)}"
                return DefinitionError(why, file=place.child(file.path).name, hint=_AGAIN)
    return None


def _wrong_column(found: pa.Schema) -> str | None:
    for name, wanted, may_be_empty, _ in COLUMNS:
        index = found.get_field_index(name)
        if index < 0 and may_be_empty:
            continue  # a file of an older release, or of another writer, may lack this column
        if index < 0:
            return f"column {name} is missing"
        if not _fits(found.field(index).type, wanted):
            return f"column {name} has the type {found.field(index).type}, but must have {wanted}"
    # DuckDB ignores the case of column names. If two names differ only in case, it reads the first column.
    names = {name.lower(): name for name in SCHEMA.names}
    odd = next((one for one in found.names if names.get(one.lower(), one) != one), None)
    return None if odd is None else f"column {odd} differs from {names[odd.lower()]} only in capital letters"


def _fits(found: pa.DataType, wanted: pa.DataType) -> bool:
    if pa.types.is_dictionary(found):
        found = found.value_type
    if pa.types.is_string(wanted):
        return bool(pa.types.is_string(found) or pa.types.is_large_string(found))
    if pa.types.is_timestamp(wanted):
        return bool(pa.types.is_timestamp(found) and found.unit in ("ms", "us") and found.tz is not None)
    if pa.types.is_fixed_size_binary(wanted):
        return bool(found == wanted or pa.types.is_binary(found))
    return bool(found == wanted)


def _empty_values(parquet: pq.ParquetFile, required: Collection[str]) -> dict[str, int]:
    """The number of empty values of each column that has any, from the statistics in the footer. ``required`` columns
    without statistics are read, unless the file itself declares the column as required."""
    counts: Counter[str] = Counter()
    untold: set[str] = set()
    metadata = parquet.metadata
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        for place, column in enumerate(map(group.column, range(group.num_columns))):
            name, told = column.path_in_schema, column.statistics
            if told is not None and told.has_null_count:
                counts[name] += told.null_count
            elif name in required and parquet.schema.column(place).max_definition_level > 0:
                untold.add(name)
    for name in untold:
        counts[name] = sum(batch.column(0).null_count for batch in parquet.iter_batches(columns=[name]))
    return {name: number for name, number in counts.items() if number}


def _numbers(metadata: pq.FileMetaData) -> tuple[int, int]:
    """Lowest and highest ``sequence``; any number if a group has no statistics."""
    told = [one.statistics for one in _chunks(metadata, "sequence")]
    if not all(one is not None and one.has_min_max for one in told):
        return _ANY
    return min((one.min for one in told), default=0), max((one.max for one in told), default=0)


def _has_local(metadata: pq.FileMetaData) -> bool:
    """May any row be of a message that is not replicated? A group without statistics may have any value."""
    return any(_may_have(chunk, NOT_REPLICATED) for chunk in _chunks(metadata, "replicated"))


def _has_priorities(metadata: pq.FileMetaData) -> bool:
    """May any row have a priority?"""
    chunks = [(chunk.statistics, chunk.num_values) for chunk in _chunks(metadata, "priority")]
    return any(told is None or not told.has_null_count or told.null_count < rows for told, rows in chunks)


def _may_have(chunk: pq.ColumnChunkMetaData, value: str) -> bool:
    told = chunk.statistics
    if told is None or not told.has_min_max:
        return told is None or not told.has_null_count or told.null_count < chunk.num_values
    return bool(told.min <= value <= told.max)


def _chunks(metadata: pq.FileMetaData, name: str) -> list[pq.ColumnChunkMetaData]:
    """A column's part of each group of rows."""
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    columns = [column for group in groups for column in map(group.column, range(group.num_columns))]
    return [column for column in columns if column.path_in_schema == name]


def _first_line(error: BaseException) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]


def described(columns: Iterable[tuple[str, pa.DataType, bool, str]] = COLUMNS) -> list[str]:
    """The schema as rows of a Markdown table."""
    return [
        f"| `{name}` | {kind} | {'may be empty' if empty else 'always'} | {text} |"
        for name, kind, empty, text in columns
    ]
