"""Structured Streaming over a directory of kept looks: finds new files and groups their lines, batch after batch.

Spark records the files, so each file is in exactly one batch, also across kills. Spark's workers fold the lines
(``pipeline.watch.fold``), and this process writes the outcome of a batch (``pipeline.watch.checkpoint``). No operator of
the query keeps state, and no operator may drop a row.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from queue import Empty, SimpleQueue

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from orchestrator.clock import Clock
from orchestrator.errors import ComputationFailed, DefinitionError, FailoverError
from orchestrator.stopping import Stop
from pipeline.faults import fault_of
from pipeline.places import Place
from pipeline.watch.arrivals import Rules
from pipeline.watch.checkpoint import AGAIN, BATCH_BYTES, REMEMBERED_S, SILENT_S, Batch, Checkpoint, State, in_order
from pipeline.watch.fold import Folded, fold

_LOOK_S = 0.2
_GONE = "put the file back, or start with another checkpoint, which starts with the files that exist"


def follow(
    spark: SparkSession,
    readings: Place,
    checkpoint: Checkpoint,
    rules: Rules,
    *,
    every_s: float | None,
    clock: Clock,
    stop: Stop,
    say: Callable[[str], None],
    batch_bytes: int = BATCH_BYTES,
) -> Iterator[Batch]:
    """Yield each batch after it is written. The first batch is the state before, without readings.

    ``every_s``: the interval of searches for new files; None: read the existing files, then end. Ends when ``stop`` is
    set. A batch in progress is then dropped, and is made first at the next start. Raises ``DefinitionError``,
    ``OutputLost``, ``ComputationFailed``; batches written before stay.
    """
    before = checkpoint.state()
    yield Batch(before.batch, 0, [], [], before)
    batches = _Batches(spark, checkpoint, rules, before)
    query = _start(lines_of(_looks(spark, readings, batch_bytes)), checkpoint, batches, every_s)
    heard_at = clock.now()
    is_silent = is_over = False
    try:
        while not is_over and not stop.is_set():
            is_over = not query.isActive  # checked first, so batches written before the end are still read
            for batch in batches.written():
                heard_at, is_silent = clock.now(), False
                yield batch
            if batches.busy.locked():
                heard_at = clock.now()
            if every_s is not None and not is_silent and clock.now() - heard_at > SILENT_S:
                is_silent = True
                say(f"no new readings in {readings.name} for {SILENT_S:.0f}s; check that `failover watch` still runs")
            if not is_over:
                stop.wait(_LOOK_S)
    finally:
        _end(query, batches)
    yield from batches.written()
    if is_over:
        batches.complain(query)
    elif every_s is None:
        raise ComputationFailed(
            "the watch stopped before it had read everything", hint="start it again; it continues where it stopped"
        )


class _Batches:
    """The function that Spark calls with each batch, in a separate thread."""

    def __init__(self, spark: SparkSession, checkpoint: Checkpoint, rules: Rules, state: State) -> None:
        self._spark, self._checkpoint, self._rules, self._state = spark, checkpoint, rules, state
        self._done: SimpleQueue[Batch] = SimpleQueue()
        self._failed: BaseException | None = None
        self.busy = threading.Lock()

    def __call__(self, rows: DataFrame, number: int) -> None:
        with self.busy:
            try:
                self._make(rows, number)
            except BaseException as error:
                # Spark reports this error only inside a text, so keep it.
                self._failed = error
                raise

    def written(self) -> Iterator[Batch]:
        """The batches that were written since the last call."""
        with suppress(Empty):
            while True:
                yield self._done.get_nowait()

    def complain(self, query: StreamingQuery) -> None:
        """Raise the error that ended the query, if there is one."""
        found = query.exception()
        if found is None:
            return
        if self._failed is None:
            raise _of_spark_alone(found, self._checkpoint)
        raise fault_of(self._failed) if isinstance(self._failed, Py4JError) else self._failed

    def _make(self, rows: DataFrame, number: int) -> None:
        before = self._state
        if number == before.batch:
            return  # the batch was written, but the process was killed before Spark recorded it
        if number != before.batch + 1:
            raise DefinitionError(
                f"the checkpoint {self._checkpoint.path} is not complete: batch {number} follows batch {before.batch}",
                hint=AGAIN,
            )
        # When a batch is made again, Spark silently ignores a missing file.
        for file in self._checkpoint.files_of(number):
            if not file.exists():
                raise DefinitionError("this file can no longer be read", file=file, hint=_GONE)
        folded = self._folded(rows)
        alerts = sorted(chain.from_iterable(one.alerts for one in folded), key=in_order)
        state = before.after(number, folded, len(alerts))
        self._checkpoint.commit(state, alerts)
        self._state = state
        touched = sorted(chain.from_iterable(one.courses for one in folded))
        self._done.put(Batch(number, sum(one.lines for one in folded), alerts, touched, state))

    def _folded(self, rows: DataFrame) -> list[Folded]:
        """The workers' results of the batch, one for each service."""
        known, rules = self._spark.sparkContext.broadcast(self._state.courses), self._rules
        try:
            ordered = rows.repartition("site", "service").sortWithinPartitions(*_ORDER)
            found: list[Folded] = ordered.rdd.mapPartitions(lambda part: fold(part, known.value, rules)).collect()
        finally:
            known.destroy()
        return found


_ORDER = ("site", "service", "written_at", "name", "number")


def _start(lines: DataFrame, checkpoint: Checkpoint, batches: _Batches, every_s: float | None) -> StreamingQuery:
    written = lines.writeStream.foreachBatch(batches).option("checkpointLocation", checkpoint.for_spark)
    timed = (
        written.trigger(availableNow=True)
        if every_s is None
        else written.trigger(processingTime=f"{every_s} seconds")
    )
    try:
        return timed.start()
    except (PySparkException, Py4JError) as error:
        raise _of_spark_alone(error, checkpoint) from error


def _of_spark_alone(error: Exception, checkpoint: Checkpoint) -> FailoverError:
    """The error to raise for an error outside of our batches. A power cut may have damaged Spark's files, and Spark's
    message then only names the failed expectation."""
    fault = fault_of(error)
    if fault.hint:
        return fault
    hint = f"start the watch again; if it fails again, {checkpoint.path / 'spark'} is damaged: {AGAIN}"
    return ComputationFailed(str(fault), hint=hint)


def _looks(spark: SparkSession, readings: Place, batch_bytes: int) -> DataFrame:
    """Each new file, as one row."""
    # One process searches for files: a Spark job with one task for each file would take seconds.
    spark.conf.set("spark.sql.sources.parallelPartitionDiscovery.threshold", "1000000")
    spark.conf.set("spark.sql.files.openCostInBytes", "65536")
    return (
        spark.readStream.format("text")
        .option("wholetext", "true")
        .option("pathGlobFilter", "*.jsonl")
        .option("maxBytesPerTrigger", str(batch_bytes))
        .option("maxFileAge", f"{REMEMBERED_S:.0f}s")
        .load(readings.for_spark)
    )


def lines_of(looks: DataFrame) -> DataFrame:
    """One row for each line of the files, with the columns of ``pipeline.watch.fold.Row``."""
    written_at = F.col("_metadata.file_modification_time").cast("double").alias("written_at")
    files = looks.select(F.col("_metadata.file_name").alias("name"), written_at, "value")
    lines = files.select("name", "written_at", F.posexplode(F.split("value", "\n")).alias("number", "text"))
    whose = F.from_json("text", "site string, service string")
    return lines.where("text <> ''").select("*", whose["site"].alias("site"), whose["service"].alias("service"))


def _end(query: StreamingQuery, batches: _Batches) -> None:
    """End the query, and wait until no batch is being written."""
    with suppress(Py4JError, OSError):
        query.stop()
    with batches.busy:
        return
