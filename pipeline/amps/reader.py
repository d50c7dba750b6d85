"""The dumps as Spark tables: every executor reads whole dump files, in batches, and keeps what it could not read.

One file is one piece of work: only from its beginning is it certain where a record begins. Rows with a ``reason`` are
what could not be read, with file and offset; no other rows are lost. The files are opened through PyArrow, so a URI
works on a cluster wherever PyArrow knows its scheme.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from orchestrator.errors import DefinitionError
from pipeline.amps.files import open_dump, pieces_of, remark_on
from pipeline.amps.journal_dump import Entry, JournalDump
from pipeline.amps.sow_dump import SowDump, SowRecord
from pipeline.amps.text import Quarantined
from pipeline.places import Place
from pipeline.rows import digest_of

_ROWS_A_BATCH = 4096
_BYTES_A_BATCH = 16 << 20
_SEPARATOR = "\n"

_COMMON = [
    pa.field("file", pa.string()),
    pa.field("offset", pa.int64()),
    pa.field("reason", pa.string()),
    pa.field("length", pa.int64()),
    pa.field("excerpt", pa.binary()),
]
_JOURNAL = [
    pa.field("entry", pa.int64()),
    pa.field("type", pa.string()),
    pa.field("txid", pa.int64()),
    pa.field("source_txid", pa.string()),
    pa.field("source", pa.string()),
    pa.field("client", pa.string()),
    pa.field("sequence", pa.int64()),
    pa.field("topic", pa.string()),
    pa.field("message_type", pa.string()),
    pa.field("micros", pa.int64()),
    pa.field("expiration", pa.int64()),
    pa.field("size", pa.int64()),
    pa.field("data", pa.binary()),
    pa.field("rep_path", pa.string()),
    pa.field("digest", pa.binary()),
]
_SOW = [
    pa.field("key", pa.string()),
    pa.field("txid", pa.int64()),
    pa.field("micros", pa.int64()),
    pa.field("expiration", pa.int64()),
    pa.field("size", pa.int64()),
    pa.field("data", pa.binary()),
    pa.field("digest", pa.binary()),
]
_SCHEMAS = {"amps_journal_dump": pa.schema(_COMMON + _JOURNAL), "amps_sow_dump": pa.schema(_COMMON + _SOW)}
_SPARK_TYPES = {pa.string(): "string", pa.int64(): "bigint", pa.binary(): "binary"}
_COMPUTED = "digest"


def journal_entries(spark: SparkSession, files: Sequence[Place]) -> DataFrame:
    """The entries of these dumps of ``amps_journal_dump``, and what could not be read of them."""
    return _table(spark, _JournalSource, files)


def sow_records(spark: SparkSession, files: Sequence[Place]) -> DataFrame:
    """The records of these dumps of ``amps_sow_dump -v``, and what could not be read of them."""
    return _table(spark, _SowSource, files)


def readable(rows: DataFrame) -> DataFrame:
    """What was read."""
    return rows.where(F.col("reason").isNull())


def quarantine(rows: DataFrame) -> DataFrame:
    """What was not: one row for each piece with file, offset and how it begins, or for a remark on a whole file."""
    return rows.where(F.col("reason").isNotNull()).select("file", "offset", "length", "reason", "excerpt")


def _table(spark: SparkSession, source: type[_Source], files: Sequence[Place]) -> DataFrame:
    if not files:
        return spark.createDataFrame([], _ddl(source.name()))
    for file in files:
        if not file.exists():
            raise DefinitionError("there is no such dump", file=file.name)
    spark.dataSource.register(source)
    return spark.read.format(source.name()).option("files", _SEPARATOR.join(file.name for file in files)).load()


def _ddl(name: str) -> str:
    return ", ".join(f"{field.name} {_SPARK_TYPES[field.type]}" for field in _SCHEMAS[name])


@dataclass
class _File(InputPartition):
    """One dump file."""

    file: str


class _Source(DataSource):
    """What Spark asks of a format."""

    reads: type[_Reader]

    def schema(self) -> str:
        return _ddl(self.name())

    def reader(self, schema: Any) -> DataSourceReader:
        return self.reads(self.options["files"].split(_SEPARATOR))


class _Reader(DataSourceReader):
    """Reads one dump in an executor."""

    format: str

    def __init__(self, files: Sequence[str]) -> None:
        self._files = files

    def partitions(self) -> Sequence[InputPartition]:
        return [_File(file) for file in self._files]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        file = cast(_File, partition).file
        schema = _SCHEMAS[self.format]
        batch: list[dict[str, object]] = []
        size = 0
        with open_dump(file) as stream:
            for row in self.rows(stream):
                batch.append({"file": file, **row})
                data = row.get("data")
                size += len(data) if isinstance(data, bytes) else 0
                if len(batch) >= _ROWS_A_BATCH or size >= _BYTES_A_BATCH:
                    yield pa.RecordBatch.from_pylist(batch, schema)
                    batch, size = [], 0
        if batch:
            yield pa.RecordBatch.from_pylist(batch, schema)

    def rows(self, stream: IO[bytes]) -> Iterator[dict[str, object]]:
        """One dictionary for each record, piece that could not be read, or remark."""
        raise NotImplementedError


class _JournalReader(_Reader):
    format = "amps_journal_dump"

    def rows(self, stream: IO[bytes]) -> Iterator[dict[str, object]]:
        dump = JournalDump(stream)
        found = 0
        for one in pieces_of(dump):
            found += isinstance(one, Entry)
            yield _row(one, _JOURNAL)
        yield from _remarks(dump.total, found)


class _SowReader(_Reader):
    format = "amps_sow_dump"

    def rows(self, stream: IO[bytes]) -> Iterator[dict[str, object]]:
        dump = SowDump(stream)
        found = 0
        for one in pieces_of(dump):
            found += isinstance(one, SowRecord)
            yield _row(one, _SOW)
        yield from _remarks(dump.total, found)


class _JournalSource(_Source):
    reads = _JournalReader

    @classmethod
    def name(cls) -> str:
        return "amps_journal_dump"


class _SowSource(_Source):
    reads = _SowReader

    @classmethod
    def name(cls) -> str:
        return "amps_sow_dump"


def _row(one: Entry | SowRecord | Quarantined, fields: Sequence[pa.Field]) -> dict[str, object]:
    if isinstance(one, Quarantined):
        return {"offset": one.offset, "reason": one.reason, "length": one.length, "excerpt": one.excerpt}
    row = {field.name: getattr(one, field.name) for field in fields if field.name != _COMPUTED}
    return {**row, "offset": one.offset, _COMPUTED: None if one.data is None else digest_of(one.data)}


def _remarks(told: int | None, found: int) -> Iterator[dict[str, object]]:
    """A remark is no piece of the dump, but something about the whole of it."""
    remark = remark_on(told, found)
    if remark is not None:
        yield {"reason": remark}
