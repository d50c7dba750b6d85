"""The readers of ``pipeline.engines.readers`` as a Spark data source: every worker reads whole files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from pipeline.engines.readers import batches_of, schema_of
from pipeline.places import Place

_TYPES = {
    pa.string(): "string",
    pa.int64(): "bigint",
    pa.binary(): "binary",
    pa.float64(): "double",
    pa.bool_(): "boolean",
}
_NAME = "failover_files"
# A dump is one partition; with many small files, several are one partition.
_PIECES = 256


def table_of(spark: SparkSession, what: str, places: Sequence[Place], settings: Mapping[str, Any]) -> DataFrame:
    """The rows in these files."""
    if not places:
        return spark.createDataFrame([], _ddl(what))
    spark.dataSource.register(_Source)
    files = json.dumps([place.address for place in places])
    options = {"what": what, "files": files, "settings": json.dumps(settings)}
    return spark.read.format(_NAME).options(**options).load()


def _ddl(what: str) -> str:
    return ", ".join(f"`{field.name}` {_TYPES[field.type]}" for field in schema_of(what))


@dataclass
class _Piece(InputPartition):
    """The files of one partition."""

    files: Sequence[str]


class _Source(DataSource):
    """The data source for Spark."""

    @classmethod
    def name(cls) -> str:
        return _NAME

    def schema(self) -> str:
        return _ddl(self.options["what"])

    def reader(self, schema: Any) -> DataSourceReader:
        options = self.options
        return _Reader(options["what"], json.loads(options["files"]), json.loads(options["settings"]))


class _Reader(DataSourceReader):
    """Reads the files of a partition in a Spark executor."""

    def __init__(self, what: str, files: Sequence[str], settings: Mapping[str, Any]) -> None:
        self._what, self._files, self._settings = what, files, settings

    def partitions(self) -> Sequence[InputPartition]:
        each = -(-len(self._files) // _PIECES)
        return [_Piece(self._files[n : n + each]) for n in range(0, len(self._files), each)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        for file in cast(_Piece, partition).files:
            yield from batches_of(self._what, file, self._settings)
