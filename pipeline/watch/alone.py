"""One JVM at a time writes Spark's part of a checkpoint, also when the process that it belongs to is killed.

The lock of a checkpoint ends with the process that watches. Its JVM lives on until it notices, and while it is busy,
swapped out or stopped that may take any time; until then it could list files for one more batch. So the JVM holds a
lock of its own, by fcntl(2): that is no other process's, and the system takes it away at the very end of the JVM.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from orchestrator.errors import LeaseHeld, OutputLost

NAME = "lock-of-spark"
_LOOK_S = 0.2
_PATIENCE_S = 60.0


@contextmanager
def only_jvm(
    spark: SparkSession,
    folder: Path,
    stop: threading.Event,
    say: Callable[[str], None],
    *,
    patience_s: float = _PATIENCE_S,
) -> Iterator[None]:
    """Within this block the JVM of ``spark`` has the checkpoint in ``folder``, and no other one does.

    Waits up to ``patience_s`` for one that still has it. Raises ``LeaseHeld`` then, and when ``stop`` is asked for
    meanwhile; ``OutputLost``.
    """
    file = folder / NAME
    try:
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
    except OSError as error:
        raise OutputLost(f"the checkpoint {folder} cannot be used: {error.strerror}") from error
    jvm: Any = spark.sparkContext._jvm
    channel = jvm.java.io.RandomAccessFile(str(file), "rw").getChannel()
    try:
        _wait(channel, folder, stop, say, patience_s)
        yield
    finally:
        with suppress(Py4JError, OSError):  # a JVM that does not answer any more ends, and its lock with it
            channel.close()


def _wait(channel: Any, folder: Path, stop: threading.Event, say: Callable[[str], None], patience_s: float) -> None:
    looks = 0
    while channel.tryLock() is None:
        if looks == 0:
            say("waiting for the end of the JVM of a process that was killed")
        if stop.is_set() or looks * _LOOK_S >= patience_s:
            raise LeaseHeld(
                f"the JVM of another process still has the checkpoint {folder}",
                hint="its process was killed, and it has not ended: end it, or wait",
            )
        looks += 1
        stop.wait(_LOOK_S)
