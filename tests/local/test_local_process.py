"""Programs that end, hang, flood and hide: each is run to its end, or ended."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from adapters.local import guardian
from adapters.local.process import Ended, Waiting, run
from orchestrator.clock import Clock, SystemClock, VirtualClock
from orchestrator.interpreter import isolated
from tests.process_state import ends

pytestmark = pytest.mark.realtime

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
GUARDIAN = Path(guardian.__file__)


def sh(script: str, *, timeout_s: float = 10.0, clock: Clock | None = None) -> Ended:
    return run(["/bin/sh", "-c", script], ENVIRONMENT, timeout_s=timeout_s, clock=clock or SystemClock())


@pytest.mark.parametrize(
    ("script", "code", "output"),
    [
        ("exit 0", 0, b""),
        ("echo out; echo err >&2; exit 3", 3, b"out\nerr\n"),
        ("kill -KILL $$", -signal.SIGKILL, b""),
        ("read line && echo got || echo nothing", 0, b"nothing\n"),
        ("pwd; echo $PATH $HOME", 0, b"/\n/usr/bin:/bin\n"),
    ],
)
def test_how_it_ends_is_told(script: str, code: int, output: bytes) -> None:
    """Law: exit code or signal, and both outputs in order; there is no input, and nothing of our environment."""
    ended = sh(script)
    assert (ended.code, ended.output) == (code, output)


def test_words_are_words() -> None:
    """Law: no shell sees them: each word arrives as it is."""
    words = ["$(id)", "a b", "*", "'", '"', ";", "\n"]
    ended = run(["/usr/bin/printf", "[%s]", *words], ENVIRONMENT, timeout_s=10, clock=SystemClock())
    assert ended.output.decode() == "".join(f"[{word}]" for word in words)


def test_it_has_a_group_of_its_own() -> None:
    """Law: Ctrl-C at our terminal is not its business."""
    group = int(sh("cut -d' ' -f5 /proc/$$/stat").output)
    assert group != os.getpgrp()


def test_a_flood_is_kept_in_part() -> None:
    """Law: what is kept is bounded: the beginning, the end, and how much is missing between."""
    ended = sh("echo begin; head -c 5000000 /dev/zero | tr '\\0' x; echo; echo end")
    assert ended.code == 0
    assert ended.output.startswith(b"begin\nxxx")
    assert ended.output.endswith(b"xxx\nend\n")
    assert b"bytes left out" in ended.output
    assert len(ended.output) < 70_000


@pytest.mark.parametrize(
    "script",
    [
        "echo $$; sleep 60",
        "echo $$; exec >/dev/null 2>&1; sleep 60",
        "trap '' TERM; echo $$; while :; do sleep 60; done",
    ],
)
def test_one_that_hangs_is_ended(script: str) -> None:
    """Law: at the end of its time a program is ended, also one that does not want to, and is gone then."""
    ended = sh(script, timeout_s=0.3)
    assert ended.code is None
    assert ends(int(ended.output.split()[0]))


def test_what_it_started_is_ended_with_it() -> None:
    """Law: nothing of its group is left when its time is up, though it has ended itself."""
    ended = sh("sleep 60 & echo $!; exit 0", timeout_s=0.3)
    assert ended.code is None
    assert ends(int(ended.output))


def test_one_that_ends_when_asked_to_says_its_last_words() -> None:
    """Law: it is asked to end first, and what it says then is kept."""
    ended = sh("trap 'echo bye; exit 0' TERM; echo hello; while :; do sleep 0.05; done", timeout_s=0.3)
    assert ended.code is None
    assert ended.output.startswith(b"hello\n")
    assert ended.output.endswith(b"bye\n")


def test_it_hangs_on_any_clock() -> None:
    """Law: time that does not pass by itself ends no wait for ever."""
    assert sh("sleep 60", timeout_s=0.3, clock=VirtualClock()).code is None


def test_what_cannot_begin_is_an_error_of_the_system() -> None:
    """Law: a program that is not there was not run, and that is told apart from one that failed."""
    with pytest.raises(FileNotFoundError):
        run(["/no/such/program"], ENVIRONMENT, timeout_s=1, clock=SystemClock())


def test_guardians_in_advance() -> None:
    """Law: commands of one session are run by guardians that were started in advance; one that died is not used, and none
    is left when the session ends."""
    before, waiting = children(), Waiting()
    said = []
    for word in ("one", "two", "three", "four"):
        ended = run(["/bin/echo", word], ENVIRONMENT, timeout_s=10, clock=SystemClock(), waiting=waiting)
        said.append((ended.code, ended.output))
        victim = min(children() - before, key=int)
        os.kill(int(victim), signal.SIGKILL)
        assert ends(int(victim))
    assert said == [(0, f"{word}\n".encode()) for word in ("one", "two", "three", "four")]
    assert len(children() - before) >= 2
    waiting.close()
    assert children() == before


def test_a_job_that_breaks_off_is_not_run(tmp_path: Path) -> None:
    """Law: a guardian that was told a part of a command runs nothing."""
    mark = tmp_path / "ran"
    job = b"30 2\n/usr/bin/touch\0" + os.fsencode(mark)[:5]
    done = subprocess.run(isolated(str(GUARDIAN)), input=job, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert not mark.exists()


def gone_within(pid: int, seconds: float) -> bool:
    """Has the process ended, or does it in time?"""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


_LEADER = """\
import sys
from adapters.local.process import run
from orchestrator.clock import SystemClock
run(["/bin/sh", "-c", sys.argv[1]], {"PATH": "/usr/bin:/bin"}, timeout_s=600, clock=SystemClock())
"""


@pytest.mark.parametrize(
    "script", ["echo $$ >&{0}; sleep 600", "trap '' TERM HUP; (sleep 600) & echo $! >&{0}; wait"]
)
def test_kill_9_of_ours_is_its_end(script: str, tmp_path: Path) -> None:
    """Law: a program does not outlive the process that runs it, nor does what it started, even after kill -9."""
    told = tmp_path / "pid"
    os.mkfifo(told)
    leader = subprocess.Popen([sys.executable, "-c", _LEADER, script.replace("&{0}", f" {told}")])
    try:
        pid = int(told.read_text(encoding="ascii"))
        assert not gone_within(pid, 0.05)
    finally:
        leader.kill()
        leader.wait()
    assert gone_within(pid, 30)


def test_words_and_variables_in_any_script_arrive() -> None:
    """Law: what is no ASCII, or no text at all, arrives byte by byte, and no variable is added."""
    words = ["Zürich", "\N{SNOWMAN}", "\udcff"]
    ended = run(["/usr/bin/printf", "%s|", *words], {}, timeout_s=10, clock=SystemClock())
    assert ended.output == b"|".join(os.fsencode(word) for word in words) + b"|"
    assert run(["/usr/bin/env"], {"A": "é"}, timeout_s=10, clock=SystemClock()).output == "A=é\n".encode()


def test_our_own_end_is_its_end() -> None:
    """Law: when this process is told to stop, the program does not stay behind."""

    class Interrupted(SystemClock):
        calls = 0

        def now(self) -> float:
            self.calls += 1
            if self.calls > 2:
                raise KeyboardInterrupt
            return super().now()

    before = children()
    with pytest.raises(KeyboardInterrupt):
        sh("echo here; sleep 60", clock=Interrupted())
    assert children() == before


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split())
