"""Compares the records of two instances with each other, and says of each difference why it is there.

Only records that differ are looked up in the logs. The message behind a record is the entry of the log with its
transaction id; its client and sequence are the same at the mate (facts on AMPS, section 8.1).
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipeline.amps.instance import Topic
from pipeline.amps.kinds import DELETION
from pipeline.amps.log import IDENTITY, TOPIC, highest_sequences
from pipeline.amps.rebuild import RECORD, Bounds

Side = tuple[DataFrame, DataFrame, Bounds, int | None]
_STATE = ("has", "sow_key", "txid", "digest", "expiration", "op_txid", "op_kind")


def paired(left: Side, right: Side, *, apart: Sequence[Topic], skew_micros: int) -> DataFrame:
    """One row for each key that either SOW has: ``RECORD``, ``has_l``, ``has_r``, ``other_sow_key`` and ``cause``, None
    where both have the same content. ``apart``: topics whose keys the two define differently."""
    both = _states(left[0], "l").join(_states(right[0], "r"), list(RECORD), "full_outer")
    both = both.withColumns({f"has_{s}": F.coalesce(f"has_{s}", F.lit(False)) for s in "lr"}).where("has_l OR has_r")
    is_same = F.coalesce(F.col("has_l") & F.col("has_r") & (F.col("digest_l") == F.col("digest_r")), F.lit(False))
    both = both.withColumn("is_same", is_same)
    for own, (letter, other_letter) in ((left, ("l", "r")), (right, ("r", "l"))):
        other = right if own is left else left
        both = _with_message(both, own[1], letter)
        both = _with_mate(both, other[1], letter, other_letter)
    other_key = F.col("has_l") & F.col("has_r") & (F.col("sow_key_l") != F.col("sow_key_r"))
    cause = F.when(~F.col("is_same"), _cause(left, right, apart, skew_micros))
    return both.select(
        *RECORD, "has_l", "has_r", F.coalesce(other_key, F.lit(False)).alias("other_sow_key"), cause.alias("cause")
    )


def _states(judged: DataFrame, letter: str) -> DataFrame:
    return judged.select(*RECORD, *[F.col(name).alias(f"{name}_{letter}") for name in _STATE])


def _with_message(rows: DataFrame, messages: DataFrame, letter: str) -> DataFrame:
    """Adds the message behind a side's state: the one that made its record, or the deletion that ended it."""
    ended = F.when(F.col(f"op_kind_{letter}") == DELETION, F.col(f"op_txid_{letter}"))
    of_state = F.when(F.col(f"has_{letter}"), F.col(f"txid_{letter}")).otherwise(ended)
    at = f"at_{letter}"
    told = messages.select(
        *TOPIC,
        F.col("txid").alias(at),
        *[F.col(name).alias(f"{name}_{letter}") for name in (*IDENTITY, "micros")],
    ).dropDuplicates([*TOPIC, at])  # the same journal may have been dumped twice
    return rows.withColumn(at, F.when(~F.col("is_same"), of_state)).join(told, [*TOPIC, at], "left")


def _with_mate(rows: DataFrame, mate: DataFrame, letter: str, other: str) -> DataFrame:
    """Adds whether the mate's log has that message, and the mate's highest number of its publisher."""
    client, sequence = (f"{name}_{letter}" for name in IDENTITY)
    known = mate.select(
        *TOPIC,
        F.col("client").alias(client),
        F.col("sequence").alias(sequence),
        F.lit(True).alias(f"at_mate_{letter}"),
    ).distinct()
    highest = highest_sequences(mate).select(F.col("client").alias(client), F.col("highest").alias(f"above_{letter}"))
    return rows.join(known, [*TOPIC, client, sequence], "left").join(highest, client, "left")


def _cause(left: Side, right: Side, apart: Sequence[Topic], skew_micros: int) -> Column:
    is_apart = F.lit(False)
    for topic in apart:
        is_apart = is_apart | ((F.col("topic") == topic.name) & (F.col("message_type") == topic.message_type))
    known_l, known_r = F.col("sequence_l").isNotNull(), F.col("sequence_r").isNotNull()
    is_same_message = (F.col("client_l") == F.col("client_r")) & (F.col("sequence_l") == F.col("sequence_r"))
    astray = [_astray(own, mate, skew_micros) for own, mate in (("l", right), ("r", left))]
    either = [F.coalesce(one, F.lit("")) for one in astray]
    absent = [_gone(letter, side[2]) for letter, side in (("l", left), ("r", right))]
    later = [_dumped_later(letter, side[2]) for letter, side in (("l", left), ("r", right))]
    expired = [~F.col(f"has_{own}") & (F.col(f"expiration_{other}") > 0) for own, other in (("l", "r"), ("r", "l"))]
    is_unapplied = (~F.col("has_l") & (F.col("op_kind_l") != DELETION)) | (
        ~F.col("has_r") & (F.col("op_kind_r") != DELETION)
    )
    found: Column = F.when(is_same_message & F.col("has_l") & F.col("has_r"), "changed")
    for word in ("lost", "unknown", "not-yet-replicated"):
        found = found.when((either[0] == word) | (either[1] == word), word)
    return (
        found.when(later[0] | later[1], "dumped-later")
        .when(absent[0] | absent[1] | (either[0] == "aged-out") | (either[1] == "aged-out"), "aged-out")
        .when(expired[0] | expired[1], "expired")
        .when(is_apart, "different-keys")
        .when(is_unapplied, "not-applied")
        .when(known_l & known_r, "other-order")
        .otherwise("unknown")
    )


def _astray(own: str, mate: Side, skew_micros: int) -> Column:
    """Why the mate's log has not the message behind this side's state; None when it has it, or none is known."""
    bounds, begins = mate[2], mate[3]
    is_older = F.col(f"micros_{own}") + skew_micros < F.lit(begins)
    above = F.col(f"above_{own}")
    lost = F.lit("lost" if bounds.is_log_whole else "unknown")
    return F.when(
        F.col(f"sequence_{own}").isNotNull() & F.col(f"at_mate_{own}").isNull(),
        F.when(F.col(f"sequence_{own}") > above, "not-yet-replicated")
        .when(is_older, "aged-out")
        .when(above.isNull(), "not-yet-replicated")
        .otherwise(lost),
    )


def _gone(letter: str, bounds: Bounds) -> Column:
    """The message behind this side's record is older than its own log."""
    is_emptied = F.lit(bounds.log_first is None and bounds.is_log_whole)
    is_older = F.coalesce(F.col(f"txid_{letter}") < F.lit(bounds.log_first), is_emptied)
    return F.coalesce(F.col(f"has_{letter}") & F.col(f"sequence_{letter}").isNull() & is_older, F.lit(False))


def _dumped_later(letter: str, bounds: Bounds) -> Column:
    """The log goes on behind the SOW dump, or the SOW dump behind the log: they tell of different moments."""
    has, txid, logged = F.col(f"has_{letter}"), F.col(f"txid_{letter}"), F.col(f"op_txid_{letter}")
    is_log_later = (logged > F.lit(bounds.sow_last)) & (~has | (logged > txid))
    is_sow_later = has & (txid > F.lit(bounds.log_last))
    return F.coalesce(is_log_later, F.lit(False)) | F.coalesce(is_sow_later, F.lit(False))
