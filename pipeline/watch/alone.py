"""Ensures that one JVM at a time writes Spark's part of a checkpoint, also when the process of a JVM is killed.

The lock of a checkpoint ends with the process that watches. Its JVM still runs until it notices this. A busy, swapped
out or stopped JVM may notice late, and could list files for another batch until then. So the checkpoint names the JVM
by process id and start time on this machine, and the next process waits until this JVM is proven dead.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from orchestrator.errors import LeaseHeld, OutputLost
from orchestrator.files import write_private
from orchestrator.journal.process_identity import holder_is_dead, holder_name
from orchestrator.stopping import Stop

NAME = "lock-of-spark"
_LOOK_S = 0.2
_PATIENCE_S = 60.0


def await_last_jvm(folder: Path, stop: Stop, say: Callable[[str], None], *, patience_s: float = _PATIENCE_S) -> None:
    """Wait until the JVM that the checkpoint in ``folder`` names has ended, up to ``patience_s``.

    Raises ``LeaseHeld`` after ``patience_s``, and when ``stop`` is set during the wait; ``OutputLost`` when the
    checkpoint cannot be read.
    """
    looks = 0
    while (last := _named(folder)) and not holder_is_dead(last):
        if looks == 0:
            say("waiting until the JVM of a killed process ends")
        if stop.is_set() or looks * _LOOK_S >= patience_s:
            raise LeaseHeld(
                f"the JVM of another process still uses the checkpoint {folder}",
                hint="the process was killed, but its JVM has not ended; end the JVM, or wait",
            )
        looks += 1
        stop.wait(_LOOK_S)


def name_jvm(folder: Path, process: int | None) -> None:
    """Write the process id of the JVM to ``folder``; None: the system does not report it. Raises ``OutputLost``."""
    try:
        write_private(folder, NAME, ("" if process is None else f"{holder_name(process)}\n").encode())
    except OSError as error:
        raise OutputLost(f"the checkpoint {folder} cannot be used: {error.strerror}") from error


def _named(folder: Path) -> str:
    try:
        with os.fdopen(os.open(folder / NAME, os.O_RDONLY | os.O_NOFOLLOW)) as file:
            return file.read().strip()
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise OutputLost(f"the checkpoint {folder} cannot be used: {error.strerror}") from error
