"""`failover pipeline watch` as a process: killed at bad moments, stopped by Ctrl-C, refused with a sentence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.main import main
from tests.spark import processes
from tests.spark.looking import NIGHT, WATCH_RULES, File, brief, by_id, fold_all, night
from tests.spark.processes import BRIEF, PATIENCE_S, open_to_others
from tests.ssh.sshd import until

pytestmark = pytest.mark.realtime


def arguments(folder: Path, *more: str) -> list[str]:
    """The command with the rules of the known night."""
    places = (str(folder / "readings"), "--checkpoint", str(folder / "followed"))
    return ["pipeline", "watch", *places, *WATCH_RULES, "--memory", "600m", "--master", "local[1]", *BRIEF, *more]


def begun(folder: Path, *more: str) -> AbstractContextManager[subprocess.Popen[str]]:
    """A process that watches."""
    command = [sys.executable, "-m", "orchestrator.cli", *arguments(folder, *more)]
    return processes.begun(command, {"FAILOVER_STATE": str(folder / "state")})


def batches(folder: Path, what: str) -> set[int]:
    """The numbers of the batches that Spark began (`offsets`) or knows as done (`commits`)."""
    return {int(path.name) for path in (folder / "followed" / "spark" / what).glob("[0-9]*")}


def is_in_a_batch(folder: Path) -> bool:
    return bool(batches(folder, "offsets") - batches(folder, "commits"))


def has_a_state(folder: Path) -> bool:
    return any((folder / "followed" / "state").glob("[0-9]*.json"))


def alerts(folder: Path) -> list[Any]:
    files = sorted((folder / "followed" / "alerts").glob("[!.]*"))
    return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]


def wait_for(moment: Callable[[Path], bool], folder: Path, process: subprocess.Popen[str]) -> None:
    """Return when it is time; the process must not end before."""
    until(lambda: moment(folder) or process.poll() is not None, PATIENCE_S)
    assert process.poll() is None, process.communicate()[1]


def jvm_of(process: subprocess.Popen[str]) -> int:
    """The number of the JVM that a process started."""
    listed = ["ps", "-ww", "-o", "pid=,args=", "-s", str(process.pid)]
    found = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.splitlines()
    [number] = [int(line.split()[0]) for line in found if "org.apache.spark.deploy.SparkSubmit" in line]
    return number


def heir_of(frozen: subprocess.Popen[str], folder: Path, rest: Sequence[File]) -> str:
    """Kill a process whose JVM is frozen, bring the rest of the readings, and start the next process. It has Spark begin
    no batch before that JVM has ended. What it says in the end."""
    jvm = jvm_of(frozen)
    os.kill(jvm, signal.SIGSTOP)
    frozen.kill()
    frozen.wait()
    known = batches(folder, "offsets")
    for file in rest:
        file.write(folder / "readings")
    with begun(folder, "--available-now") as heir:
        assert heir.stderr is not None
        said = next((line for line in heir.stderr if "continues after" in line or "waiting" in line), None)
        assert said == "waiting until the JVM of a killed process ends\n"
        assert batches(folder, "offsets") == known
        os.kill(jvm, signal.SIGCONT)
        out, err = heir.communicate(timeout=PATIENCE_S)
    assert heir.returncode == 4, err[-2000:]  # Risk_VPN is above its mark at the end
    assert "continues after " in err
    return str(out)


def check_night(folder: Path, files: Sequence[File], out: str) -> None:
    """The alerts are those of an undisturbed fold, each once, and the last words say how many they are."""
    assert brief(alerts(folder)) == NIGHT
    assert by_id(alerts(folder)) == by_id(fold_all(files).alerts)
    counts = out.splitlines()[-1].split(", ")
    assert counts[0] == f"{len(files) * 3} readings"
    assert counts[-1] == f"{len(NIGHT)} alerts"
    assert "too late" not in out


@pytest.mark.usefixtures("java")
def test_ended_killed_and_started_again(tmp_path: Path) -> None:
    """Law: Ctrl-C ends it with a whole result and its exit code, in one go, and without a trace of Spark's. With --json
    stderr has nothing. The checkpoint, of which Spark writes a part, is private. Resumed, and killed in the middle of a
    batch, with readings coming all the while, it has in the end written the alerts of an undisturbed fold, each once. As
    long as the JVM of a killed process has not ended, nobody else has Spark begin a batch, however long that takes."""
    files = night()
    for file in files[:20]:
        file.write(tmp_path / "readings")
    with begun(tmp_path, "--interval", "1s", "--json") as process:
        wait_for(has_a_state, tmp_path, process)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the JVM hears it too
        out, err = process.communicate(timeout=PATIENCE_S)
    values = [json.loads(line) for line in out.splitlines()]
    result = values[-1]["result"]
    assert (process.returncode, result["lines"]) == (4, 60), err[-2000:]  # Risk_VPN has stalled
    assert [value["batch"] for value in values if "batch" in value] == [0]
    assert err == ""
    assert not list((tmp_path / "followed").rglob("*.unfinished"))
    assert open_to_others(tmp_path / "followed") == []

    for file in files[20:60]:
        file.write(tmp_path / "readings")
    with begun(tmp_path, "--interval", "1s") as process:
        wait_for(lambda folder: 1 in batches(folder, "offsets") - batches(folder, "commits"), tmp_path, process)
        out = heir_of(process, tmp_path, files[60:])
    check_night(tmp_path, files, out)


@pytest.mark.long
@pytest.mark.usefixtures("java")
def test_killed_twice(tmp_path: Path) -> None:
    """Law: the same, killed in the middle of a batch whose JVM ends by itself, and then between two."""
    files = night()
    for file in files[:30]:
        file.write(tmp_path / "readings")
    with begun(tmp_path, "--interval", "1s") as process:
        wait_for(is_in_a_batch, tmp_path, process)
        process.kill()
        process.wait()
    for file in files[30:60]:
        file.write(tmp_path / "readings")
    with begun(tmp_path, "--interval", "1s") as process:
        wait_for(has_a_state, tmp_path, process)
        out = heir_of(process, tmp_path, files[60:])
    check_night(tmp_path, files, out)


def test_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: what cannot be is said in a sentence with exit code 2, before Spark starts and with nothing left behind."""
    monkeypatch.setenv("FAILOVER_STATE", str(tmp_path / "state"))
    for more, words in (
        (("--stall", "soon"), "--stall soon: "),
        (("--window", "0s"), "the time must be longer than 0 seconds"),
        (("--conf", "x"), "--conf: 'x' does not have the form spark.NAME=VALUE"),
        ((), f"the directory {tmp_path / 'readings'} does not exist"),
    ):
        assert main(arguments(tmp_path, *more)) == 2
        assert words in capsys.readouterr().err
    (tmp_path / "a[b]").mkdir()
    odd = ["pipeline", "watch", str(tmp_path / "a[b]"), "--checkpoint", str(tmp_path / "followed")]
    assert main([*odd, "--engine", "spark"]) == 2
    assert "reads as a pattern" in capsys.readouterr().err
    assert not (tmp_path / "followed").exists()
