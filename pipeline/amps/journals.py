"""Compares the logs of two instances by the identity that survives replication: client name hash and sequence.

Rules: facts on AMPS, sections 8.1 (what may be compared across instances, and that a publisher's order must be equal)
and 9 (a message that is not above the highest number seen of its publisher is discarded as a duplicate; so what an
asynchronous link had not carried over when the publisher went on at the mate stays behind for good).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from orchestrator.clock import Clock
from orchestrator.counting import counted
from orchestrator.findings import Finding, Level
from pipeline.amps.instance import Instance
from pipeline.amps.log import IDENTITY, TOPIC, Log, highest_sequences, open_log
from pipeline.amps.report import ABSENCES, HARMLESS, JournalsReport, LoggedTopic, LogReport, Remains, Unread
from pipeline.order import steps_back

_REMAINS_MAX = 20
_KEY = (*TOPIC, *IDENTITY)
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class JournalsOutcome:
    """The report, and as tables the messages that differ and what could not be read."""

    report: JournalsReport
    differences: DataFrame
    unread: DataFrame
    close: Callable[[], None]


def compare_journals(
    spark: SparkSession, left: Instance, right: Instance, skew_s: float, clock: Clock, say: Say = lambda _: None
) -> JournalsOutcome:
    """Compare two logs. ``skew_s``: how far the instances' clocks may be apart. Call it inside of ``spark_faults``."""
    logs = []
    for instance in (left, right):
        say(f"reading {counted(len(instance.journals), 'dump')} of {instance.name}")
        logs.append(open_log(spark, instance.name, instance.journals))
    say("comparing the two logs")
    return _Comparison(logs[0], logs[1], skew_s, clock).run()


class _Comparison:
    """One of them."""

    def __init__(self, left: Log, right: Log, skew_s: float, clock: Clock) -> None:
        self._left, self._right = left, right
        self._skew = round(skew_s * 1e6)
        self._clock = clock

    def run(self) -> JournalsOutcome:
        judged = self._judged().persist(StorageLevel.MEMORY_AND_DISK)
        report = JournalsReport(
            created_at=self._clock.now(),
            left=self._left.report,
            right=self._right.report,
            topics=self._topics(judged),
            remains=self._remains(judged),
        )
        report = report.model_copy(update={"findings": tuple(_findings(report))})
        different = judged.where("class IS NOT NULL")

        def close() -> None:
            judged.unpersist()
            self._left.close()
            self._right.close()

        return JournalsOutcome(report, different, self._left.unread.unionByName(self._right.unread), close)

    def _judged(self) -> DataFrame:
        """One row for each identity of a topic, with ``class`` (None: equal) and, for what one side has, ``why``."""
        sides = [log.messages.withColumn("side", F.lit(n)) for n, log in enumerate((self._left, self._right))]
        folds = [
            fold
            for n, letter in enumerate("lr")
            for fold in (
                F.count(F.when(F.col("side") == n, 1)).alias(f"n_{letter}"),
                F.min(F.when(F.col("side") == n, F.col("txid"))).alias(f"txid_{letter}"),
                F.min(F.when(F.col("side") == n, F.col("micros"))).alias(f"micros_{letter}"),
                F.min(F.when(F.col("side") == n, F.col("digest"))).alias(f"digest_{letter}"),
            )
        ]
        one = sides[0].unionByName(sides[1]).groupBy(*_KEY).agg(*folds)
        for letter, log in (("l", self._left), ("r", self._right)):
            highest = highest_sequences(log.messages).withColumnRenamed("highest", f"highest_{letter}")
            topics = log.messages.select(*TOPIC, F.lit(True).alias(f"topic_{letter}")).distinct()
            one = one.join(highest, "client", "left").join(F.broadcast(topics), list(TOPIC), "left")
        changed = F.col("digest_l") != F.col("digest_r")
        kind = F.when(F.col("n_l") == 0, "extra").when(F.col("n_r") == 0, "missing").when(changed, "changed")
        why = F.when(F.col("n_r") == 0, self._why("l", "r", self._right.report)).when(
            F.col("n_l") == 0, self._why("r", "l", self._left.report)
        )
        copies = (F.col("n_l") > 1) | (F.col("n_r") > 1)
        return one.withColumn("class", F.coalesce(kind, F.when(copies, "duplicate"))).withColumn("why", why)

    def _why(self, own: str, other: str, log: LogReport) -> Column:
        """Why the log of ``other`` has not what that of ``own`` has. A comparison with an unknown is never true."""
        begins = None if log.first_at is None else round(log.first_at * 1e6)
        is_older = F.col(f"micros_{own}") + self._skew < F.lit(begins)
        # A younger log that begins with a resynchronisation has later times for old messages: numbers come first.
        is_higher = F.col("sequence") > F.col(f"highest_{other}")
        # What could not be read of the log may be this message.
        absent, lost = (F.lit(word if log.is_whole else "unknown") for word in ("topic-absent", "lost"))
        return (
            F.when(F.col(f"topic_{other}").isNull(), absent)
            .when(is_higher, "not-yet-replicated")
            .when(is_older, "aged-out")
            .when(F.col(f"highest_{other}").isNull(), "not-yet-replicated")
            .otherwise(lost)
        )

    def _topics(self, judged: DataFrame) -> tuple[LoggedTopic, ...]:
        both = (F.col("n_l") > 0) & (F.col("n_r") > 0)
        sums = judged.groupBy(*TOPIC).agg(
            *[F.sum(f"n_{side}").alias(f"n_{side}") for side in "lr"],
            *[F.sum(F.greatest(F.col(f"n_{side}") - 1, F.lit(0))).alias(f"copies_{side}") for side in "lr"],
            F.count(F.when(F.col("digest_l") != F.col("digest_r"), 1)).alias("changed"),
            F.count(F.when(both & (F.isnull("digest_l") | F.isnull("digest_r")), 1)).alias("unverified"),
        )
        whys: dict[tuple[str, str], dict[str, dict[str, int]]] = defaultdict(lambda: {"missing": {}, "extra": {}})
        for row in judged.where("why IS NOT NULL").groupBy(*TOPIC, "class", "why").count().collect():
            whys[row["topic"], row["message_type"]][row["class"]][row["why"]] = row["count"]
        own = [_steps(log.messages, "txid", "sequence") for log in (self._left, self._right)]
        across = _steps(judged.where(both), "txid_l", "txid_r")
        topics = []
        for row in sums.orderBy(*TOPIC).collect():
            key = (row["topic"], row["message_type"])
            topics.append(
                LoggedTopic(
                    topic=key[0],
                    message_type=key[1],
                    left=row["n_l"],
                    right=row["n_r"],
                    missing=whys[key]["missing"],
                    extra=whys[key]["extra"],
                    changed=row["changed"],
                    unverified=row["unverified"],
                    duplicates_left=row["copies_l"],
                    duplicates_right=row["copies_r"],
                    backwards_left=own[0].get(key, 0),
                    backwards_right=own[1].get(key, 0),
                    order_breaks=across.get(key, 0),
                )
            )
        return tuple(topics)

    def _remains(self, judged: DataFrame) -> tuple[Remains, ...]:
        spooled = F.coalesce("micros_l", "micros_r")
        found = (
            judged.where("why = 'lost'")
            .groupBy("class", "client")
            .agg(
                F.count("*").alias("messages"),
                *[F.min("sequence").alias("first"), F.max("sequence").alias("last")],
                *[F.min(spooled).alias("from"), F.max(spooled).alias("to")],
            )
            .orderBy(F.desc("messages"), "class", "client")
            .limit(_REMAINS_MAX)
        )
        return tuple(
            Remains(
                side="left" if row["class"] == "missing" else "right",
                client=row["client"],
                messages=row["messages"],
                first_sequence=row["first"],
                last_sequence=row["last"],
                first_at=None if row["from"] is None else row["from"] / 1e6,
                last_at=None if row["to"] is None else row["to"] / 1e6,
            )
            for row in found.collect()
        )


def _steps(rows: DataFrame, along: str, value: str) -> dict[tuple[str, str], int]:
    """For each topic: how often, within one publisher, ``value`` falls along ``along``."""
    by = [*TOPIC, "client"]
    values = (F.col(along).alias("along"), F.col(value).alias("value"), F.col(value).alias("to_value"))
    steps = steps_back(rows.select(*by, *values), by).groupBy(*TOPIC).agg(F.sum("steps").alias("steps"))
    return {(row["topic"], row["message_type"]): row["steps"] for row in steps.collect()}


def _findings(report: JournalsReport) -> list[Finding]:
    found = [finding for log in (report.left, report.right) for finding in findings_of_log(log)]
    sides = ((report.left.name, "missing", report.right.name), (report.right.name, "extra", report.left.name))
    for topic in report.topics:
        label = f"{topic.topic} ({topic.message_type})"
        for own, kind, other in sides:
            for why, count in sorted(getattr(topic, kind).items()):
                level = Level.UNKNOWN if why == "unknown" else Level.NOTE if why in HARMLESS else Level.ERROR
                level = Level.WARNING if why == "aged-out" else level
                which = f"{counted(count, 'message')} of {own} {'is' if count == 1 else 'are'}"
                text = f"{label}: {which} not in the log of {other}: {ABSENCES[why]}"
                found.append(Finding(level=level, code=f"journal-{why}", message=text))
        if topic.changed:
            which = counted(topic.changed, "message has", "messages have")
            text = f"{label}: {which} the same identity and other content"
            found.append(Finding(level=Level.ERROR, code="journal-changed", message=text))
        if topic.duplicates_left or topic.duplicates_right:
            text = f"{label}: {topic.duplicates_left:,} and {topic.duplicates_right:,} entries repeat an identity"
            found.append(Finding(level=Level.ERROR, code="journal-duplicates", message=text))
        if topic.order_breaks or topic.backwards_left or topic.backwards_right:
            text = (
                f"{label}: a publisher's order differs: right steps back {counted(topic.order_breaks, 'time')}"
                f" along left, numbers fall {counted(topic.backwards_left, 'time')} in left"
                f" and {counted(topic.backwards_right, 'time')} in right"
            )
            found.append(Finding(level=Level.ERROR, code="journal-order", message=text))
    return found


def findings_of_log(log: LogReport) -> list[Finding]:
    """What was not read of a log."""
    found = list(findings_of_unread(log.unread, log.unread_pieces))
    if log.other_types:
        counts = ", ".join(f"{count:,} {name}" for name, count in sorted(log.other_types.items()))
        text = f"{log.name}: entries that are no messages were left aside: {counts}"
        found.append(Finding(level=Level.NOTE, code="journal-other-types", message=text))
    return found


def findings_of_unread(unread: Sequence[Unread], pieces: int) -> Iterator[Finding]:
    """Each dump of which something could not be read; ``pieces``: how many there are of that, in all dumps."""
    for one in unread:
        text = f"{counted(one.pieces, 'piece')} could not be read, first: {one.reason}"
        yield Finding(level=Level.UNKNOWN, code="dump-unread", message=text, file=one.file)
    rest = pieces - sum(one.pieces for one in unread)
    if rest:
        text = f"{counted(rest, 'piece')} of further dumps could not be read; `--out` writes a table of each"
        yield Finding(level=Level.UNKNOWN, code="dump-unread", message=text)
