"""A reconciliation that somebody stops, as a real process with a JVM: nothing half-done stays, and no JVM."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from orchestrator.cli.main import main
from pipeline.generator import Shape, TwoSites, write_small
from pipeline.leavings import claim
from tests.spark.processes import BRIEF, PATIENCE_S, begun

pytestmark = pytest.mark.realtime

SHAPE = Shape(messages=400, endpoints=4, missing=12, extra=9, duplicate=7, changed=5, displaced=3)


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Two exports that differ."""
    left, right = write_small(TwoSites(SHAPE), tmp_path_factory.mktemp("exports"))
    return str(left), str(right)


@dataclass
class Under:
    """A process that compares, and the folder in which it leaves everything that it leaves."""

    process: subprocess.Popen[str]
    folder: Path

    def reach(self, words: str) -> None:
        """Read what it says up to these words."""
        assert self.process.stderr is not None
        said = []
        for line in self.process.stderr:
            said.append(line)
            if words in line:
                return
        raise AssertionError(f"it never said {words!r}, but {said}")

    def others(self) -> list[str]:
        """The processes that it started, and theirs: its JVM. Whoever became nobody's is among them, unless it ended."""
        listed = ["ps", "-ww", "-o", "pid=,stat=,args=", "-s", str(self.process.pid)]
        found = subprocess.run(listed, capture_output=True, text=True).stdout.splitlines()
        words = [(line, *line.split(maxsplit=2)[:2]) for line in found]
        return [line for line, number, state in words if int(number) != self.process.pid and state[0] != "Z"]

    def until(self, holds: Callable[[list[str]], bool]) -> None:
        """Wait until this holds of these processes."""
        for _ in range(int(PATIENCE_S / 0.05)):
            if holds(self.others()):
                return
            threading.Event().wait(0.05)
        raise AssertionError(f"still not: {self.others()}")

    def left(self) -> set[str]:
        """What there is. A command that reads files needs no state directory."""
        return {path.name for path in self.folder.rglob("*")}


@contextmanager
def comparing(exports: tuple[str, str], folder: Path) -> Iterator[Under]:
    """It and its JVM end with the block."""
    for name in ("tmp", "scratch space"):
        (folder / name).mkdir(exist_ok=True)
    command = [sys.executable, "-m", "orchestrator.cli", "pipeline", "reconcile", *exports, "--engine", "spark"]
    options = ["--master", "local[1]", "--memory", "600m", "--scratch", str(folder / "scratch space"), *BRIEF]
    environment = {
        "FAILOVER_STATE": str(folder / "state"),
        "TMPDIR": str(folder / "tmp"),
        "JAVA_TOOL_OPTIONS": f"-Djava.io.tmpdir={folder / 'tmp'}",
    }
    with begun([*command, *options, "--out", str(folder / "found")], environment) as process:
        yield Under(process, folder)


def has_spark(others: list[str]) -> bool:
    """Is a JVM of Spark among them?"""
    return any("org.apache.spark" in one for one in others)


def stop(under: Under, number: signal.Signals) -> None:
    """Stop it. Ctrl-C goes to all processes at the terminal, SIGTERM to one."""
    under.until(has_spark)
    if number is signal.SIGINT:
        os.killpg(under.process.pid, number)
    else:
        under.process.send_signal(number)
    out, err = under.process.communicate(timeout=PATIENCE_S)
    assert (under.process.returncode, out) == (128 + number, ""), err
    said = [line for line in err.splitlines() if not line.startswith("  ")]  # the others tell how far it was
    assert said[-1] == f"failover: stopped by {number.name}; do not use an unfinished result"
    assert "Traceback" not in err
    assert under.others() == []


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("starting Spark", signal.SIGINT),
        pytest.param("comparing", signal.SIGTERM, marks=pytest.mark.long),
        pytest.param("comparing", signal.SIGINT, marks=pytest.mark.long),
    ],
)
def test_stopped_by_a_signal(
    java: None, exports: tuple[str, str], tmp_path: Path, words: str, number: signal.Signals
) -> None:
    """While the JVM starts and while it works: one sentence, the exit code of the signal, no result, no temporary file
    and no JVM."""
    with comparing(exports, tmp_path) as under:
        under.reach(words)
        stop(under, number)
        assert under.left() == {"tmp", "scratch space"}


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.long)])
def test_killed(
    java: None, exports: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str], number: signal.Signals
) -> None:
    """With the process killed while it writes its JVM ends by itself, and nobody finds a result. What is left names its
    dead owners, and the next start removes it, and nothing that is another's or may be alive. Stopped by a signal while
    it writes, that one says so, and leaves no result, no temporary file and no JVM. The one after it, here without a
    JVM, has its result."""
    with comparing(exports, tmp_path) as under:
        under.until(lambda _: any(tmp_path.glob(".found.*.unfinished/found/*")))
        under.process.kill()
        under.process.communicate(timeout=PATIENCE_S)
        under.until(lambda others: not others)
        assert not (tmp_path / "found").exists()
    left = {*tmp_path.glob(".found.*"), *(tmp_path / "scratch space").glob("failover-spark-*")}
    assert len(left) == 2
    alive = [tmp_path / ".other.1.unfinished", tmp_path / "scratch space" / "failover-spark-x"]
    for folder in alive:
        folder.mkdir()
        claim(folder)
    before = {*(tmp_path / "tmp").iterdir()}
    with comparing(exports, tmp_path) as under:
        under.reach("writing")
        own = tmp_path / f".found.{under.process.pid}.unfinished"
        under.until(lambda _: own.exists())  # made after what is left was removed
        stop(under, number)
    assert [path for path in left if path.exists()] == []
    assert {*tmp_path.glob(".*"), *(tmp_path / "scratch space").glob("*")} == {*alive}
    assert {*tmp_path.iterdir()} == {alive[0], *(tmp_path / name for name in ("tmp", "scratch space"))}
    assert {*(tmp_path / "tmp").iterdir()} <= before
    asked = ["pipeline", "reconcile", *exports, "--engine", "duckdb", "--out", str(tmp_path / "found")]
    assert main(asked) == 4, capsys.readouterr().err
    assert (tmp_path / "found" / "report.json").exists()
