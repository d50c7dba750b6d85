"""Two JVMs never have one checkpoint: it names the process of its JVM, and the next one waits for the end of that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.errors import LeaseHeld, OutputLost
from orchestrator.stopping import Stop
from pipeline.watch.alone import NAME, await_last_jvm, name_jvm

pytestmark = pytest.mark.realtime


def other() -> subprocess.Popen[str]:
    """A process that lives until its input ends."""
    return subprocess.Popen([sys.executable, "-c", "input()"], text=True, stdin=subprocess.PIPE)


def test_it_waits_for_who_has_it(tmp_path: Path) -> None:
    """Law: it waits and says so once; with its patience at an end, or asked to stop, it is refused, and nothing started;
    once the other has ended, it resumes. The file is for no other account."""
    await_last_jvm(tmp_path, Stop(), print)
    jvm = other()
    name_jvm(tmp_path, jvm.pid)
    assert (tmp_path / NAME).stat().st_mode & 0o777 == 0o600
    stopped = Stop()
    stopped.set()
    for stop, patience_s in ((Stop(), 0.3), (stopped, 60.0)):
        said: list[str] = []
        with pytest.raises(LeaseHeld, match="another process still uses"):
            await_last_jvm(tmp_path, stop, said.append, patience_s=patience_s)
        assert said == ["waiting until the JVM of a killed process ends"]

    await_last_jvm(tmp_path, Stop(), lambda _: jvm.communicate("\n") and None)
    name_jvm(tmp_path, None)
    await_last_jvm(tmp_path, Stop(), print)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    """Law: a link in the place of the name is not followed, and said to be in the way."""
    (tmp_path / NAME).symlink_to(tmp_path / "elsewhere")
    (tmp_path / "elsewhere").write_text("x")
    with pytest.raises(OutputLost, match="cannot be used"):
        await_last_jvm(tmp_path, Stop(), print)
    assert (tmp_path / "elsewhere").read_text() == "x"
