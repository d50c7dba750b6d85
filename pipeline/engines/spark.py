"""Spark, on this machine or a cluster. It uses only the public interface, so it also works over Spark Connect."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
import pyspark
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from orchestrator.errors import DefinitionError, FailoverError
from pipeline.engines.executor import Dialect, Near, Range, Row
from pipeline.faults import spark_faults
from pipeline.layout import SCHEMA
from pipeline.places import Place
from pipeline.readings import Reading, in_ranges, readings
from pipeline.sides import Files, Side

DIALECT = Dialect(
    {
        "hash64": lambda *values: f"xxhash64({', '.join(values)})",
        "wsum": lambda value: f"sum({value})",
        "wmul": lambda one, other: f"(({one}) * ({other}))",
        "wsub": lambda one, other: f"(({one}) - ({other}))",
        "floordiv": lambda one, other: f"((({one}) - pmod({one}, {other})) div {other})",
        "moment": lambda micros: f"timestamp_micros({micros})",
        "named": lambda name: f"`{name}`",
        "ratio": lambda one, other: f"(CAST({one} AS DOUBLE) / CAST({other} AS DOUBLE))",
        "percentile_of": lambda value, share: f"percentile({value}, {share})",
    }
)
_TYPES: Mapping[pa.DataType, T.DataType] = {
    pa.string(): T.StringType(),
    pa.int64(): T.LongType(),
    pa.int32(): T.IntegerType(),
    pa.bool_(): T.BooleanType(),
}
# Spark treats these characters in the names of input files as patterns.
_GLOB = re.compile(r"[\[\]{}*?\\]")
# Below this number of rows, Spark must not optimise the plan again: that takes longer than computing the rows.
_FEW = 500_000
_BRIEFLY = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": "2"}
_MOMENTS = {"spooled_at": "micros", "expires_at": "expires"}


class Spark:
    """An ``Executor``. It neither starts nor ends the session."""

    hash_bits = 64
    tells_ranges = True
    dialect = DIALECT

    def __init__(self, session: SparkSession) -> None:
        self.name = f"spark {pyspark.__version__}"
        self.session = session
        self._plans = {name: (session.conf.get(name) or "", brief) for name, brief in _BRIEFLY.items()}
        self._held: list[DataFrame] = []
        self._sides: Sequence[tuple[Side, Collection[str]]] = ()

    def open_sides(self, left: Side, right: Side, services: Collection[str]) -> None:
        """See ``Executor``."""
        self._sides = [(left, services), (right, services)]
        for letter, (side, _) in zip("lr", self._sides, strict=True):
            self._rows(side, services).createOrReplaceTempView(f"rows_{letter}")

    def check_output(self, place: Place) -> None:
        """See ``Executor``. Spark searches for a file at the place, with the same library that it uses for writing."""
        absent = place.child("absent").for_spark
        try:
            with spark_faults():
                self.session.read.schema("value STRING").text(
                    absent
                ).isLocal()  # isLocal also checks a Connect server
        except FailoverError as error:
            cause = error.__cause__
            if not (isinstance(cause, PySparkException) and cause.getCondition() == "PATH_NOT_FOUND"):
                raise

    def expect(self, rows: int) -> None:
        """See ``Executor``. For few rows, Spark plans a query once, not after every exchange, with few partitions."""
        for name, (usual, brief) in self._plans.items():
            self.session.conf.set(name, brief if rows < _FEW else usual)

    def narrow(self, near: Near | None) -> None:
        """See ``Executor``. The sides are joined into one table first, so each step is planned once."""
        found = []
        for number, (side, services) in enumerate(self._sides):
            rows = self._rows(side, services) if near is None else self._near(side, services, near.ranges)
            found.append(rows.select(F.lit(number).alias("side"), "*"))
        both = found[0].unionByName(found[1])
        if near is not None and near.endpoints is not None:
            both = both.where(F.col("endpoint").isin(list(near.endpoints)))
        both.createOrReplaceTempView("near")

    def given(self, name: str, table: pa.Table) -> None:
        """See ``Executor``. Uses Arrow, which needs no Python on the workers."""
        self.session.createDataFrame(table).createOrReplaceTempView(name)

    def read(self, name: str, what: str, places: Sequence[Place], settings: Mapping[str, Any]) -> None:
        """See ``Executor``."""
        from pipeline.engines.source import table_of

        self.keep(name, table_of(self.session, what, places, settings))

    def view(self, name: str, sql: str) -> None:
        """See ``Executor``."""
        with spark_faults():
            self.session.sql(sql).createOrReplaceTempView(name)

    def hold(self, name: str, sql: str) -> None:
        """See ``Executor``. The rows are kept in memory, and on disk if memory is not enough."""
        with spark_faults():
            self.keep(name, self.session.sql(sql))

    def keep(self, name: str, table: DataFrame) -> None:
        """Keep a Spark table as ``name``, like ``hold``."""
        self._held.append(table.persist(StorageLevel.MEMORY_AND_DISK))
        self._held[-1].createOrReplaceTempView(name)

    def rows(self, sql: str) -> list[Row]:
        """See ``Executor``."""
        with spark_faults():
            return [row.asDict() for row in self.session.sql(sql).collect()]

    def write(self, sql: str, place: Place, *, is_small: bool) -> None:
        """See ``Executor``."""
        with spark_faults():
            rows = self.session.sql(sql)
            written = (rows.coalesce(1) if is_small else rows).write.mode("error").option("compression", "zstd")
            written.parquet(place.for_spark)

    def release(self) -> None:
        """See ``Executor``."""
        self.expect(_FEW)
        for table in self._held:
            table.unpersist()
        self._held.clear()

    def _rows(self, side: Side, services: Collection[str], only: Collection[str] | None = None) -> DataFrame:
        parts = [self._read(side.place, one) for one in side.files(services, only)]
        if not parts:
            return _columns(self.session.createDataFrame([], _schema(has_service=True)))
        return reduce(DataFrame.unionByName, parts)

    def _read(self, place: Place, files: Files) -> DataFrame:
        base = place.for_spark
        check_names(place, files.paths)
        paths = [_GLOB.sub(r"\\\g<0>", f"{base}/{path}") for path in files.paths]
        if files.service is None:
            read = self.session.read.schema(_schema(has_service=True)).option("basePath", base).parquet(*paths)
            return _columns(read)
        # The directory name is not used for the service.
        bare = self.session.read.schema(_schema(has_service=False)).option("recursiveFileLookup", "true")
        return _columns(bare.parquet(*paths).withColumn("service", F.lit(files.service)))

    def _near(self, side: Side, services: Collection[str], ranges: Sequence[Range]) -> DataFrame:
        """The messages of one side with a number in these ranges."""
        paths = {file.path for file in side.manifest.files if file.of_service in services}
        found = readings({path: span for path, span in side.numbers.items() if path in paths}, ranges)
        parts = [in_numbers(self._rows(side, services, one.files), one.ranges) for one in found or [Reading([], [])]]
        return reduce(DataFrame.unionByName, parts)


def check_names(place: Place, paths: Sequence[str]) -> None:
    """Raises ``DefinitionError`` for a hidden file, which Spark ignores, or a name with ":", which Hadoop splits."""
    for path in paths:
        if any((part.startswith((".", "_")) and "=" not in part) or ":" in part for part in path.split("/")):
            raise DefinitionError(
                "Spark cannot read a file with this name",
                file=place.child(path).name,
                hint="rename the file, also in the manifest, or use --engine duckdb",
            )


def in_numbers(rows: DataFrame, ranges: Sequence[Range]) -> DataFrame:
    """The rows whose numbers are in ``ranges``."""
    # With the first condition, Spark does not check for empty values after every comparison.
    return rows.where(f"sequence IS NOT NULL AND ({in_ranges(ranges)})")


def _schema(*, has_service: bool) -> T.StructType:
    fields = [T.StructField(field.name, _type(field.type)) for field in SCHEMA]
    return T.StructType([*fields, *([T.StructField("service", T.StringType())] if has_service else [])])


def _type(found: pa.DataType) -> T.DataType:
    if pa.types.is_timestamp(found):
        return T.TimestampType()
    return _TYPES.get(found, T.BinaryType())


def _columns(rows: DataFrame) -> DataFrame:
    plain = [name for name in SCHEMA.names if name not in _MOMENTS]
    moments: list[Column] = [F.unix_micros(name).alias(micros) for name, micros in _MOMENTS.items()]
    return rows.select("service", *plain, *moments)
