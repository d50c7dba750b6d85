"""Shows Spark's progress while the caller waits for an answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

_EVERY_S = 2.0


@contextmanager
def watched(spark: SparkSession, say: Callable[[str], None], *, every_s: float = _EVERY_S) -> Iterator[None]:
    """Within this block, call ``say`` with the progress of the running tasks whenever it changes."""
    ended = threading.Event()
    watcher = threading.Thread(target=_watch, args=(spark, say, ended, every_s), name="spark-progress", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        ended.set()
        watcher.join(every_s)


def _watch(spark: SparkSession, say: Callable[[str], None], ended: threading.Event, every_s: float) -> None:
    last = ""
    while not ended.wait(every_s):
        try:
            text = _under_way(spark)
        except (Py4JError, OSError):
            return  # the session is ending, and the caller gets the reason
        if text and text != last:
            say(text)
            last = text


def _under_way(spark: SparkSession) -> str:
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
    known = [stage for stage in stages if stage is not None]
    total = sum(stage.numTasks for stage in known)
    done = sum(stage.numCompletedTasks for stage in known)
    return f"  {done:,} of {total:,} tasks" if total else ""
