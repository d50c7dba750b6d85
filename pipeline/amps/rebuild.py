"""Rebuilds the SOW of one instance from its transaction log, and says where its real SOW differs, and why.

Seed 002: a SOW is made of the messages that are still in the transaction log, in the order in which they were logged;
the last message of a key is its record, a deletion ends it, and a record whose message has aged out of the log is valid
in the SOW that has it and cannot be made again anywhere else.

What a deletion names is not documented: one whose payload holds the key fields ends that key, any other makes every
older record of its topic uncertain. The unit of an expiration is not documented either: a record with one may be gone.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.amps.kinds import DELETION, PART
from pipeline.amps.log import TOPIC

RECORD = (*TOPIC, "key")
# A record whose key fields are not known or not there goes by AMPS's own key, which no log tells.
NO_FIELDS = "#"


@dataclass(frozen=True, slots=True)
class Bounds:
    """From where to where an instance's log and its SOW dumps reach, in its own transaction ids; None when empty."""

    log_first: int | None
    log_last: int | None
    sow_last: int | None
    is_log_whole: bool


def last_operations(messages: DataFrame) -> DataFrame:
    """For each key that the log knows: its last operation as ``op_*``. ``messages`` has the column ``key``."""
    told = F.struct("txid", "kind", "client", "sequence", "digest", "expiration", "micros")
    last = messages.where("key IS NOT NULL").groupBy(*RECORD).agg(F.max_by(told, "txid").alias("op"))
    names = ("txid", "kind", "client", "sequence", "expiration", "micros")
    # What a part of a message makes of the record is not known: its content is not compared.
    digest = F.when(F.col("op.kind") != PART, F.col("op.digest")).alias("op_digest")
    return last.select(*RECORD, *[F.col(f"op.{name}").alias(f"op_{name}") for name in names], digest)


def blind_deletions(messages: DataFrame) -> DataFrame:
    """For each topic: the last deletion that does not say which key it is of."""
    blind = messages.where((F.col("kind") == DELETION) & F.col("key").isNull())
    return blind.groupBy(*TOPIC).agg(F.max("txid").alias("blind_txid"))


def against_log(records: DataFrame, messages: DataFrame, bounds: Bounds) -> DataFrame:
    """One row for each key that the SOW or the rebuilt SOW has: ``cause`` is None where both agree.

    ``records``: ``RECORD``, ``txid``, ``digest``. ``has`` and ``is_rebuilt``: is there a record, should there be.
    ``is_unverified``: both are there, and the content could not be compared.
    """
    logged = last_operations(messages)
    joined = records.withColumn("has", F.lit(True)).join(logged, list(RECORD), "full_outer")
    joined = joined.join(F.broadcast(blind_deletions(messages)), list(TOPIC), "left")
    joined = joined.withColumn("has", F.coalesce("has", F.lit(False)))
    joined = joined.withColumn("is_rebuilt", F.coalesce(F.col("op_kind") != DELETION, F.lit(False)))
    both = F.col("has") & F.col("is_rebuilt")
    is_blind = F.isnull("digest") | F.isnull("op_digest")
    return joined.withColumn("cause", _cause(bounds)).withColumn(
        "is_unverified", both & (F.col("txid") == F.col("op_txid")) & is_blind
    )


def _cause(bounds: Bounds) -> Column:
    has, rebuilt = F.col("has"), F.col("is_rebuilt")
    txid, logged = F.col("txid"), F.col("op_txid")
    both = has & rebuilt
    # A comparison with an unknown is never true: an empty SOW explains nothing. Of an empty log all has aged out.
    is_emptied = F.lit(bounds.log_first is None and bounds.is_log_whole)
    is_older = F.coalesce(txid < F.lit(bounds.log_first), is_emptied)
    later_dump = txid > F.lit(bounds.log_last)
    later_log = logged > F.lit(bounds.sow_last)
    absent = F.lit("not-in-log" if bounds.is_log_whole else "unknown")
    may_be_deleted = F.coalesce(F.col("blind_txid") > F.coalesce(logged, txid), F.lit(False))
    behind = F.when(later_log, "dumped-later").otherwise("not-applied")
    return (
        F.when(both & (txid == logged), F.when(F.col("digest") != F.col("op_digest"), "changed"))
        .when(both & (logged > txid), behind)
        .when(has & logged.isNotNull() & (logged > txid), behind)  # the last operation is a deletion
        .when(has & is_older, "aged-out")
        .when(has & later_dump, "dumped-later")
        .when(has, F.when(F.col("key").startswith(NO_FIELDS), "unknown").otherwise(absent))
        .when(~rebuilt, None)
        .when(later_log, "dumped-later")
        .when(F.col("op_expiration") > 0, "expired")
        .when(may_be_deleted, "unknown")
        .otherwise("not-applied")
    )
