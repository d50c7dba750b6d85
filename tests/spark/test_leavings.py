"""What killed processes left behind goes; what may be alive, or is not ours, stays. None of this needs Spark."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from orchestrator.journal.process_identity import holder_name
from pipeline.leavings import LOG, OWNER, claim, hold, sweep

pytestmark = pytest.mark.realtime
ROOT = Path(__file__).parents[2]
CLAIM = "import sys, pathlib; from pipeline.leavings import claim; claim(pathlib.Path(sys.argv[1]))"


def left(folder: Path) -> Path:
    """A directory of a process that is dead, with files in it."""
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "file").write_text("x")
    (folder / "link").symlink_to(folder.parent / "elsewhere")
    subprocess.run([sys.executable, "-c", CLAIM, str(folder)], check=True, cwd=ROOT)
    return folder


def test_what_is_left_goes(tmp_path: Path) -> None:
    """Law: the directory of a dead process goes with all in it; what its links lead to, and its neighbours, stay."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "file").write_text("mine")
    left(tmp_path / "x-1")
    other = left(tmp_path / "y-1")
    sweep(tmp_path, "x-*")
    assert {path.name for path in tmp_path.iterdir()} == {"elsewhere", other.name}
    assert (tmp_path / "elsewhere" / "file").read_text() == "mine"


# Makes a directory and removes it, again and again, killed right before its Nth call to the system that concerns files;
# then tells whether it came to its end, what was left, and what of it the next process leaves.
KILLED = """
import os, pathlib, signal, sys
from pipeline.leavings import make, remove, sweep
CALLS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir"}

def killed(place, calls):
    def count(event, arguments):
        nonlocal calls
        if event in CALLS:
            calls -= 1
            if calls < 0:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(count)
    folder = make(place / "x-1")
    (folder / "deep").mkdir()
    (folder / "deep" / "file").write_text("x")
    remove(folder)
    os._exit(0)

for instant in range(100):
    place = pathlib.Path(sys.argv[1], str(instant))
    place.mkdir()
    child = os.fork()
    if child == 0:
        killed(place, instant)
    _, status = os.waitpid(child, 0)
    left = len(list(place.iterdir()))
    sweep(place, "x-*")
    print(int(status == 0), left, len(list(place.iterdir())))
    if status == 0:
        break
"""


def test_it_says_whose_it_is_at_every_instant(tmp_path: Path) -> None:
    """Law: whenever a process is killed while it makes a directory, or removes one, the next one removes what is left."""
    told = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path)], check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    ends, left, remaining = zip(*(map(int, line.split()) for line in told.stdout.splitlines()), strict=True)
    assert ends == (0,) * (len(ends) - 1) + (1,)
    assert sum(left) >= 10
    assert not any(remaining)


def test_what_is_being_made_by_somebody_stays(tmp_path: Path) -> None:
    """Law: what bears the name of a living process, or of one of another machine, is not touched."""
    elsewhere = "elsewhere:1 00000000-0000-0000-0000-000000000000/pid:[1]/1"
    for holder in (holder_name(), elsewhere, ""):
        (tmp_path / f".failover-01234567-{quote(holder, safe='')}.passing").mkdir()
    sweep(tmp_path, "x-*")
    assert len(list(tmp_path.iterdir())) == 3


def lives(folder: Path) -> None:
    claim(folder)


def has_a_jvm_that_lives(folder: Path) -> None:
    dead = (folder / OWNER).read_text()
    (folder / OWNER).write_text(f"{dead}{holder_name()}\n")


def names_nobody(folder: Path) -> None:
    (folder / OWNER).unlink()


def is_being_made(folder: Path) -> None:
    (folder / OWNER).write_text("")


def is_of_another_machine(folder: Path) -> None:
    (folder / OWNER).write_text("elsewhere:1 00000000-0000-0000-0000-000000000000/pid:[1]/1\n")


def has_a_link_for_an_owner(folder: Path) -> None:
    (folder / OWNER).rename(folder / "named")
    (folder / OWNER).symlink_to("named")


def is_a_link(folder: Path) -> None:
    folder.rename(folder.with_name("real"))
    folder.symlink_to("real")


@pytest.mark.parametrize(
    "change",
    [
        lives,
        has_a_jvm_that_lives,
        names_nobody,
        is_being_made,
        is_of_another_machine,
        has_a_link_for_an_owner,
        is_a_link,
    ],
)
def test_what_may_be_alive_stays(tmp_path: Path, change: Callable[[Path], None]) -> None:
    """Law: without proof that every owner is dead, nothing is removed."""
    folder = left(tmp_path / "x-1")
    change(folder)
    sweep(tmp_path, "x-*")
    assert (folder / "deep" / "file").exists()


def test_a_jvm_that_is_being_started_holds_its_log(tmp_path: Path) -> None:
    """Law: a process that nobody has named yet, and whose parent was killed, is alive as long as it has the log."""
    folder = left(tmp_path / "x-1")
    with (folder / LOG).open("w+b") as log:
        hold(log)
        heir = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stdout=log)
    sweep(tmp_path, "x-*")
    assert folder.exists()
    heir.communicate(b"\n")
    sweep(tmp_path, "x-*")
    assert not folder.exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_what_is_another_account_s_stays(tmp_path: Path) -> None:
    """Law: whoever may write where we do cannot have us remove what is not ours."""
    folder = left(tmp_path / "x-1")
    os.chown(folder, 65534, 65534)
    sweep(tmp_path, "x-*")
    assert (folder / "deep" / "file").exists()


def test_nothing_there(tmp_path: Path) -> None:
    """Law: where there is nothing, nothing fails."""
    sweep(tmp_path / "away", "x-*")
