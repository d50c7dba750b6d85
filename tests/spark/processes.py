"""Commands as processes of their own, each with the JVM that it starts."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

PATIENCE_S = 240.0
ROOT = Path(__file__).parents[2]
# The second compiler of a JVM would take the cores for longer than these small jobs last.
BRIEF_JVM = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
BRIEF = (
    *("--conf", f"spark.driver.extraJavaOptions={BRIEF_JVM}"),
    *("--conf", "spark.sql.codegen.wholeStage=false", "--partitions", "1"),
)


def open_to_others(folder: Path) -> list[str]:
    """What is in ``folder``, and itself, that others may read, write or search, by name and mode."""
    found = [(path, path.lstat().st_mode) for path in (folder, *sorted(folder.rglob("*")))]
    return [f"{path.name} {stat.S_IMODE(mode):o}" for path, mode in found if mode & 0o077]


@contextmanager
def begun(
    command: Sequence[str], environment: Mapping[str, str], log: IO[str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A process in a session of its own, with this besides the environment of the tests. It and all that it started
    end with the block. What it says is read from it, or goes to ``log``."""
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=log or subprocess.PIPE,
        stderr=log or subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
