"""Two JVMs never have one checkpoint: the lock is held while it is followed, and is nobody's afterwards."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from orchestrator.errors import LeaseHeld, OutputLost
from pipeline.watch.alone import NAME, only_jvm

pytestmark = pytest.mark.realtime
# A process that tries to have the lock, tells whether it has, and has it until its input ends.
OTHER = """
import fcntl, sys
with open(sys.argv[1], "r+") as file:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        sys.exit("held")
    print("has it", flush=True)
    sys.stdin.read()
"""


def other(folder: Path) -> subprocess.Popen[str]:
    """Another process that would have the lock."""
    command = [sys.executable, "-c", OTHER, str(folder / NAME)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe, stderr=pipe)


def test_no_other_has_it_meanwhile(spark: SparkSession, tmp_path: Path) -> None:
    """Law: within the block another process is refused the lock, after it not; the file is for nobody else."""
    for _ in range(2):  # one JVM may have it again
        with only_jvm(spark, tmp_path, threading.Event(), print):
            assert other(tmp_path).communicate() == ("", "held\n")
        assert other(tmp_path).communicate("") == ("has it\n", "")
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600


def test_it_waits_for_who_has_it(spark: SparkSession, tmp_path: Path) -> None:
    """Law: it waits and says so once; with its patience at an end, or asked to stop, it is refused, and nothing begun;
    once the other has ended, it goes on."""
    (tmp_path / NAME).touch()
    holder = other(tmp_path)
    assert holder.stdout is not None and holder.stdout.readline() == "has it\n"
    stopped = threading.Event()
    stopped.set()
    for stop, patience_s in ((threading.Event(), 0.3), (stopped, 60.0)):
        said: list[str] = []
        with (
            pytest.raises(LeaseHeld, match="another process still has"),
            only_jvm(spark, tmp_path, stop, said.append, patience_s=patience_s),
        ):
            raise AssertionError("it was let in")
        assert said == ["waiting for the end of the JVM of a process that was killed"]

    def end(_: str) -> None:
        holder.communicate("")

    with only_jvm(spark, tmp_path, threading.Event(), end):
        assert other(tmp_path).communicate() == ("", "held\n")


def test_a_place_that_cannot_be_written(spark: SparkSession, tmp_path: Path) -> None:
    """Law: a link in the place of the lock is not followed, and said to be in the way."""
    (tmp_path / NAME).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputLost, match="cannot be used"), only_jvm(spark, tmp_path, threading.Event(), print):
        pass
    assert not (tmp_path / "elsewhere").exists()
