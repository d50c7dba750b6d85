"""The watch without Spark: what the plain fold makes, at whatever instant it is killed; nothing lost, nothing twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.main import main
from orchestrator.clock import VirtualClock
from orchestrator.errors import ComputationFailed, DefinitionError
from orchestrator.stopping import Stop
from pipeline.watch.checkpoint import Batch, checkpoint_at
from pipeline.watch.kept import NAME, Kept
from pipeline.watch.loop import follow_here
from tests.spark.looking import (
    NIGHT,
    NIGHT_OF_LINKS,
    RULES,
    WATCH_RULES,
    File,
    brief,
    by_id,
    fold_all,
    night,
    night_of_links,
)

ROOT = Path(__file__).parents[2]
SMALL = 16_000


def follow(folder: Path, *, stop: Stop | None = None, batch_bytes: int = SMALL) -> list[Batch]:
    """Read what is there, to the end."""
    readings = folder / "readings"
    with (
        checkpoint_at(folder / "followed", f"file:{readings}", RULES, None, "loop") as held,
        closing(Kept(held)) as kept,
    ):
        stop = stop or Stop()
        told = follow_here(
            readings, kept, RULES, every_s=None, clock=VirtualClock(), stop=stop, say=print, batch_bytes=batch_bytes
        )
        return list(told)


def bring(folder: Path, files: Sequence[File]) -> None:
    (folder / "readings").mkdir(exist_ok=True)
    for file in files:
        file.write(folder / "readings")


def written(folder: Path) -> list[Any]:
    files = sorted((folder / "followed" / "alerts").glob("alerts-*"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("files", "expected"), [(night(), NIGHT), (night_of_links(), NIGHT_OF_LINKS)])
@pytest.mark.parametrize("size", [1, SMALL, 1 << 30])
def test_as_the_plain_fold(
    tmp_path: Path, files: list[File], expected: list[tuple[float, str, str]], size: int
) -> None:
    """Law: however files come and are cut into batches, the alerts are those of a fold over all of them."""
    for number in range(0, len(files), 7):
        bring(tmp_path, files[number : number + 7])
        follow(tmp_path, batch_bytes=size)
    assert brief(written(tmp_path)) == expected
    assert by_id(written(tmp_path)) == by_id(fold_all(files).alerts)
    assert [batch.lines for batch in follow(tmp_path)] == [0]


# Follows what is there, again and again, each time killed right before its Nth call to the system that concerns files, or
# to the database, then once undisturbed; tells how many instants there were.
KILLED = """
import os, pathlib, shutil, signal, sys
from tests.spark.test_watch_loop import follow

def killed(place, calls):
    def count():
        nonlocal calls
        calls -= 1
        if calls < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    def call(event, arguments):
        if event in {"open", "os.rename", "os.remove", "os.scandir", "sqlite3.connect"}:
            count()
    def statement(frame, event, called):
        if event == "c_call" and called.__name__ in {"execute", "executemany"}:
            count()
    sys.addaudithook(call)
    sys.setprofile(statement)
    follow(place)
    os._exit(0)

source = pathlib.Path(sys.argv[1])
for instant in range(0, 800, 3):
    place = pathlib.Path(sys.argv[2], str(instant))
    shutil.copytree(source, place)
    for file in (source / "readings").iterdir():
        shutil.copystat(file, place / "readings" / file.name)
    child = os.fork()
    if child == 0:
        killed(place, instant)
    _, status = os.waitpid(child, 0)
    follow(place)
    print(instant, int(status == 0))
    if status == 0:
        break
"""


@pytest.mark.realtime
def test_killed_at_any_instant(tmp_path: Path) -> None:
    """Law: killed right before any of its calls to the system or to the database, the next process has in the end written
    the alerts of an undisturbed fold, each once."""
    files = night()[:36]  # four batches, with alerts in most of them
    (tmp_path / "source").mkdir()
    bring(tmp_path / "source", files)
    (tmp_path / "places").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "source"), str(tmp_path / "places")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    instants = done.stdout.splitlines()
    assert len(instants) > 20 and instants[-1].endswith(" 1")
    expected = by_id(fold_all(files).alerts)
    for place in (tmp_path / "places").iterdir():
        assert by_id(written(place)) == expected, place.name


def test_stopped_and_started_again(tmp_path: Path) -> None:
    """Law: asked to stop, it says that not everything was read; the next one resumes there."""
    bring(tmp_path, night())
    stop = Stop()
    stop.set()
    with pytest.raises(ComputationFailed, match="stopped before it had read everything"):
        follow(tmp_path, stop=stop)
    follow(tmp_path)
    assert brief(written(tmp_path)) == NIGHT


def test_what_it_remembers_is_named_when_it_is_damaged(tmp_path: Path) -> None:
    """Law: a state that cannot be read is refused with its name; so is a checkpoint of Spark's; nothing is changed."""
    bring(tmp_path, night()[:3])
    follow(tmp_path)
    place = f"file:{tmp_path / 'readings'}"
    with (
        pytest.raises(DefinitionError, match="started with no --engine"),
        checkpoint_at(tmp_path / "followed", place, RULES, None, "spark"),
    ):
        pass
    file = tmp_path / "followed" / NAME
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_bytes(b"x" * 5000)
    with pytest.raises(DefinitionError, match=r"watch\.sqlite: the state of a watch cannot be read"):
        follow(tmp_path)


def test_as_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: without a word about an engine no Spark is asked for; the result and the exit code are those of the alarms."""
    monkeypatch.setenv("FAILOVER_STATE", str(tmp_path / "state"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    bring(tmp_path, night())
    asked = ["pipeline", "watch", str(tmp_path / "readings"), "--checkpoint", str(tmp_path / "followed")]
    assert main([*asked, *WATCH_RULES, "--available-now", "--json"]) == 4
    result = json.loads(capsys.readouterr().out.splitlines()[-1])["result"]
    assert (result["lines"], result["alerts"], result["exit_code"]) == (len(night()) * 3, len(NIGHT), 4)
    assert main([*asked, *WATCH_RULES, "--available-now", "--engine", "duckdb"]) == 2
    assert "DuckDB cannot follow readings" in capsys.readouterr().err
