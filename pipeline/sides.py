"""Opens the two exports that are compared. In one table of both, the column ``side`` is 0 for left and 1 for right."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import astuple, dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from orchestrator.errors import DefinitionError
from pipeline.layout import check_files
from pipeline.manifest import Manifest
from pipeline.places import Place, read_manifest
from pipeline.readings import Range
from pipeline.rows import OPAQUE, EndpointKey

LEFT, RIGHT = 0, 1
KEY = ("service", "endpoint", "kind")
# Hashes of 64 bits stand for names: to compare four names for every message takes a third of the reading's time. Which
# endpoint is meant follows from the manifests; what a stream is called, nobody needs to know.
STREAM = ("endpoint_id", "stream_id")
BUCKET = (*STREAM, "bucket")

# An id without a number is in one of 4,096 buckets of its endpoint, by the first bits of its hash; so many are left out.
HASHED_LOG2 = 64 - 12

# Spark looks for patterns in the names of what it shall read, and these characters would be some.
_GLOB = re.compile(r"[\[\]{}*?\\]")

_SCHEMA = T.StructType(
    [
        T.StructField("endpoint", T.StringType()),
        T.StructField("kind", T.StringType()),
        T.StructField("message_id", T.StringType()),
        T.StructField("stream", T.StringType()),
        T.StructField("sequence", T.LongType()),
        T.StructField("position", T.LongType()),
        T.StructField("spooled_at", T.TimestampType()),
        T.StructField("size", T.LongType()),
        T.StructField("digest", T.BinaryType()),
        T.StructField("replicated", T.StringType()),
        T.StructField("redeliveries", T.IntegerType()),
        T.StructField("site", T.StringType()),
        T.StructField("service", T.StringType()),
        T.StructField("day", T.StringType()),
    ]
)


_NAMES = pa.schema([pa.field(name, pa.string()) for name in KEY])


@dataclass(frozen=True, slots=True)
class Side:
    """One export. ``fingerprint`` is what a report names its manifest by; ``undigested`` counts the messages whose
    content could not be read; ``numbers`` has the lowest and highest number in each file, by its path; ``has_local``: may
    any message be one that is not replicated?"""

    place: Place
    manifest: Manifest
    fingerprint: str
    undigested: int
    numbers: Mapping[str, Range]
    has_local: bool

    @classmethod
    def open(cls, name: str) -> Side:
        """The export called ``name``, with every file's footer checked. Raises ``DefinitionError``."""
        place = Place.of(name)
        manifest, fingerprint = read_manifest(place)
        footers = check_files(place, manifest.files)
        numbers = {file.path: footer.numbers for file, footer in zip(manifest.files, footers, strict=True)}
        undigested = sum(footer.undigested for footer in footers)
        return cls(place, manifest, fingerprint, undigested, numbers, any(footer.has_local for footer in footers))

    @property
    def has_digests(self) -> bool:
        """Was the content of at least one message read, or is there none to be read?"""
        return self.undigested < self.manifest.messages or not self.manifest.messages

    def rows(self, spark: SparkSession, files: Collection[str] | None = None) -> DataFrame:
        """Its messages, in no order, or those of some of its files; an empty table where there are none."""
        base = self.place.for_spark
        names = [file.path for file in self.manifest.files] if files is None else files
        if not names:
            return spark.createDataFrame([], _SCHEMA)
        paths = [_GLOB.sub(r"\\\g<0>", f"{base}/{name}") for name in names]
        return spark.read.schema(_SCHEMA).option("basePath", base).parquet(*paths)


def check_pair(left: Side, right: Side) -> None:
    """Raises ``DefinitionError`` for two exports that cannot be compared."""
    if left.manifest.site == right.manifest.site:
        raise DefinitionError(f"both exports are of site {left.manifest.site}", hint="give one of each site")
    if not {one.name for one in left.manifest.services} & {one.name for one in right.manifest.services}:
        raise DefinitionError("the two exports have no service in common", hint="collect the same services at both")


def rows_of_both(
    spark: SparkSession, left: Side, right: Side, columns: Sequence[str], numbers_log2: int
) -> tuple[DataFrame, DataFrame]:
    """These columns of each side, with ``BUCKET``: the run of 2**``numbers_log2`` neighbouring numbers it is in.

    Two tables, and not one with a column for the side: Spark folds rows while it reads them, but not behind a union.
    """
    left_rows, right_rows = (with_buckets(side.rows(spark), columns, numbers_log2) for side in (left, right))
    return left_rows, right_rows


def with_buckets(rows: DataFrame, columns: Sequence[str], numbers_log2: int) -> DataFrame:
    """These columns of some messages, with ``BUCKET``."""
    ids = (stream_id("stream").alias("stream_id"), _bucket(numbers_log2).alias("bucket"))
    return rows.select("*", endpoint_id()).select(*columns, "endpoint_id", *ids)


def together(left: DataFrame, right: DataFrame) -> DataFrame:
    """Both as one table with the column ``side``."""
    return left.withColumn("side", F.lit(LEFT)).unionByName(right.withColumn("side", F.lit(RIGHT)))


def endpoint_id() -> Column:
    """What stands for the names in the columns ``KEY``."""
    return F.xxhash64(*KEY).alias("endpoint_id")


def stream_id(stream: Column | str) -> Column:
    """What stands for a stream of ``endpoint_id``."""
    return F.xxhash64("endpoint_id", stream)


def endpoints_by_id(spark: SparkSession, left: Side, right: Side) -> Mapping[int, EndpointKey]:
    """Every endpoint of the manifests. Raises ``DefinitionError`` where two have the same id."""
    keys = {endpoint.key for side in (left, right) for endpoint in side.manifest.endpoints}
    names = pa.Table.from_pylist([dict(zip(KEY, astuple(key), strict=True)) for key in keys], _NAMES)
    rows = spark.createDataFrame(names).select(*KEY, endpoint_id()).collect()
    found = {row["endpoint_id"]: EndpointKey(row["service"], row["endpoint"], row["kind"]) for row in rows}
    if len(found) < len(keys):
        raise DefinitionError("the names of two endpoints have the same 64-bit hash")
    return found


def omitted_log2(numbers_log2: int) -> Column:
    """How many bits of a number are left out to tell the bucket of a row that has ``BUCKET``."""
    is_opaque = F.col("stream_id") == stream_id(F.lit(OPAQUE))
    return F.when(is_opaque, HASHED_LOG2).otherwise(numbers_log2)


def _bucket(numbers_log2: int) -> Column:
    hashed = F.shiftright("sequence", HASHED_LOG2)
    return F.when(F.col("stream") == OPAQUE, hashed).otherwise(F.shiftright("sequence", numbers_log2))
