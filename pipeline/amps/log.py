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
_UNREAD_FILES_MAX = 100
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
    spark: SparkSession, name: str, files: Sequence[Place], prepare: Prepare = lambda rows: rows, keep: str = ""
) -> Log:
    """Read these dumps once. ``prepare`` adds the column ``keep`` from the payload, which is let go of after it."""
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
    others = good.where(F.col("kind").isNull()).groupBy("type").count().limit(_UNREAD_FILES_MAX)
    report = LogReport(
        name=name,
        files=len(files),
        entries=told["entries"],
        first_txid=told["first"],
        last_txid=told["last"],
        first_at=_seconds(told["from"]),
        last_at=_seconds(told["to"]),
        unread=unread_of(unread) if told["unread"] else (),
        other_types={row["type"]: row["count"] for row in others.collect()} if told["others"] else {},
    )
    return Log(messages, unread, report, (rows,))


def unread_of(unread: DataFrame) -> tuple[Unread, ...]:
    """What is in quarantine, by file and reason."""
    counted = unread.groupBy("file", "reason").agg(F.count("*").alias("pieces"), F.sum("length").alias("bytes"))
    rows = counted.orderBy("file", "reason").limit(_UNREAD_FILES_MAX).collect()
    return tuple(Unread(file=r["file"], reason=r["reason"], pieces=r["pieces"], bytes=r["bytes"] or 0) for r in rows)


def highest_sequences(messages: DataFrame) -> DataFrame:
    """``client`` and ``highest``: the number up to which an instance discards what comes again from that publisher
    (facts on AMPS, section 9: whatever is not above it is taken for a duplicate)."""
    return messages.groupBy("client").agg(F.max("sequence").alias("highest"))


def _kind_of() -> Column:
    name = F.lower("type")
    return F.coalesce(*[F.when(name.contains(word), kind) for word, kind in KINDS])


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else micros / 1e6
