"""One instance's transaction log as tables: what it holds, from where to where, and how much of it was not readable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from pipeline.amps.kinds import KINDS
from pipeline.amps.reader import journal_entries, quarantine, readable
from pipeline.amps.report import LogReport, Unread
from pipeline.places import Place

IDENTITY = ("client", "sequence")
TOPIC = ("topic", "message_type")
_READ = (*TOPIC, "type", "txid", *IDENTITY, "micros", "expiration", "digest")
# A damaged dump may have as many types as entries, and damage may be in as many files as there are.
_FILES_MAX = 100
_TYPES_MAX = 100
_FURTHER = "of further types"
Prepare = Callable[[DataFrame], DataFrame]


@dataclass(frozen=True, slots=True)
class Log:
    """The messages of one log (columns ``_READ`` and ``kind``, and what was prepared), and what is told of it."""

    messages: DataFrame
    unread: DataFrame
    report: LogReport
    held: tuple[DataFrame, ...]

    def close(self) -> None:
        """Let go of the tables."""
        for table in self.held:
            table.unpersist()


def open_log(
    spark: SparkSession,
    name: str,
    files: Sequence[Place],
    prepare: Prepare = lambda rows: rows,
    keep: str = "",
    *,
    types_max: int = _TYPES_MAX,
) -> Log:
    """Read these dumps once. ``prepare`` adds the column ``keep`` from the payload, which is let go of after it.
    ``types_max``: so many types of entries that are no messages are told by name."""
    columns = [*_READ, *([keep] if keep else [])]
    rows = prepare(journal_entries(spark, files)).select(
        *columns, "file", "offset", "length", "reason", "excerpt", _kind_of().alias("kind")
    )
    rows = rows.persist(StorageLevel.MEMORY_AND_DISK)
    unread = quarantine(rows)
    good = readable(rows)
    messages = good.where(F.col("kind").isNotNull()).select(*columns, "kind")
    is_good = F.col("reason").isNull()
    told = rows.agg(
        *[F.count(F.when(is_good, 1)).alias("entries"), F.count(F.when(~is_good, 1)).alias("unread")],
        F.count(F.when(is_good & F.isnull("kind"), 1)).alias("others"),
        *[F.min("txid").alias("first"), F.max("txid").alias("last")],
        *[F.min("micros").alias("from"), F.max("micros").alias("to")],
    ).first()
    assert told is not None  # an aggregation without groups has one row
    report = LogReport(
        name=name,
        files=len(files),
        entries=told["entries"],
        first_txid=told["first"],
        last_txid=told["last"],
        first_at=_seconds(told["from"]),
        last_at=_seconds(told["to"]),
        unread=unread_of(unread) if told["unread"] else (),
        unread_pieces=told["unread"],
        other_types=_types(good.where("kind IS NULL"), told["others"], types_max) if told["others"] else {},
    )
    return Log(messages, unread, report, (rows,))


def unread_of(unread: DataFrame, most: int = _FILES_MAX) -> tuple[Unread, ...]:
    """What is in quarantine, by file: the ``most`` files with most of it. What is wrong with a record may be worded
    with its own numbers, so each file tells its first reason."""
    first = F.min_by("reason", F.coalesce("offset", F.lit(1 << 62)))
    by_file = unread.groupBy("file").agg(
        F.count("*").alias("pieces"), F.coalesce(F.sum("length"), F.lit(0)).alias("bytes"), first.alias("reason")
    )
    rows = by_file.orderBy(F.desc("pieces"), "file").limit(most).collect()
    return tuple(Unread(**row.asDict()) for row in rows)


def _types(entries: DataFrame, number: int, most: int) -> dict[str, int]:
    """How many there are of each type: of the most frequent ones each, of all others together."""
    rows = entries.groupBy("type").count().orderBy(F.desc("count"), "type").limit(most).collect()
    named = {row["type"]: row["count"] for row in rows}
    rest = number - sum(named.values())
    return {**named, _FURTHER: rest} if rest else named


def highest_sequences(messages: DataFrame) -> DataFrame:
    """``client`` and ``highest``: the number up to which an instance discards what comes again from that publisher
    (facts on AMPS, section 9: whatever is not above it is taken for a duplicate)."""
    return messages.groupBy("client").agg(F.max("sequence").alias("highest"))


def _kind_of() -> Column:
    name = F.lower("type")
    return F.coalesce(*[F.when(name.contains(word), kind) for word, kind in KINDS])


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else micros / 1e6
