"""The files of an embedded journal stay what they are while a process has it open."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.errors import JournalLost
from orchestrator.journal.database.embedded_files import NAMES, Files, Handle
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import create_run
from orchestrator.model import events as ev
from tests.cli.shell import Shell
from tests.core.builders import created

PROJECT = Path(__file__).parents[2]
PAUSED = [(None, ev.RunPaused(reason="SIGINT"))]


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, capsys)


def look_on(path: Path) -> None:
    """Another process opens the journal, reads, and is done, as ``failover runs list`` does."""
    code = f"from orchestrator.journal.journal import Journal; j = Journal('sqlite:///{path}'); j.runs(); j.close()"
    subprocess.run([sys.executable, "-c", code], cwd=PROJECT, check=True)


@pytest.mark.realtime
def test_a_second_journal_of_one_process_lets_go_of_nothing(shell: Shell, clock: VirtualClock) -> None:
    """Promise 4: a process that leads a run opens its journal again for its hooks. The system drops all locks that a
    process has on a file as soon as it closes any handle of it; then whoever looks on takes itself for the last one,
    and removes the log that this process goes on writing to: a record that nobody finds any more."""
    tools = shell.tools()
    with closing(tools.journal()) as journal, closing(tools.journal()) as of_hooks:
        _, writer = create_run(journal, clock, "run-1", created())
        assert [row.run for row in of_hooks.runs()] == ["run-1"]
        path = shell.state / "journal.sqlite"
        look_on(path)
        tools.journal().close()
        look_on(path)
        journal.append(writer, clock.now(), PAUSED)
        look_on(path)
        with closing(tools.journal()) as another:
            assert len(list(another.records("run-1"))) == 2
        assert path.with_name("journal.sqlite-wal").exists()


def test_a_log_that_has_grown_and_is_cut_a_little_is_noticed(tmp_path: Path, clock: VirtualClock) -> None:
    """Promise 4: each look remembers how long the log is by then, not only how long it was when the run began."""
    with closing(Journal.at(tmp_path / "journal.sqlite")) as journal:
        _, writer = create_run(journal, clock, "run-1", created())
        for _ in range(20):
            writer = journal.append(writer, clock.now(), PAUSED)
        log = tmp_path / "journal.sqlite-wal"
        journal.database.check_files()
        os.truncate(log, log.stat().st_size - 4096)
        with pytest.raises(JournalLost, match=r"log .* was cut off"):
            journal.append(writer, clock.now(), PAUSED)


@pytest.mark.parametrize("names", [NAMES, "/nowhere/{}"], ids=["told", "not told"])
def test_a_log_that_is_replaced_is_noticed_on_every_system(tmp_path: Path, clock: VirtualClock, names: str) -> None:
    """Promise 4: a system that does not tell by what name an open file is known is asked in another way."""
    path = tmp_path / "journal.sqlite"
    with closing(Journal.at(path)) as journal:
        create_run(journal, clock, "run-1", created())
        handle = Handle.hold(path)
        with closing(Files(path, handle, names)) as files:
            files.check()
            log = tmp_path / "journal.sqlite-wal"
            copy = tmp_path / "copy"
            copy.write_bytes(log.read_bytes())
            copy.replace(log)
            with pytest.raises(JournalLost, match="replaced by another file"):
                files.check()
        handle.let_go()
