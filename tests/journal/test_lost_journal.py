"""A journal that is taken away, replaced, cut or overwritten: nothing is sent any more, and afterwards it is told."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.errors import Forbidden, JournalCorrupt, JournalLost, JournalUnavailable, LeaseLost
from orchestrator.journal.heads import Heads
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import create_run, take
from orchestrator.model import events as ev
from tests.cli.shell import VPN, Shell
from tests.core.builders import created
from tests.core.leading import RUN, Lead
from tests.core.scripted import ScriptedPair

PROJECT = Path(__file__).parents[2]
STARTED = [(None, ev.RunStarted(by="ann", epoch=1, attended=False))]
PAUSED = [(None, ev.RunPaused(reason="SIGINT"))]
Damage = Callable[[Path], None]


def _delete(path: Path) -> None:
    path.unlink()


def _replace(path: Path) -> None:
    shutil.copy(path, path.with_name("copy"))
    path.with_name("copy").replace(path)


def _halve(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _empty(path: Path) -> None:
    os.truncate(path, 0)


def _garble(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(bytes(range(256)) * 32)


def _fill(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"\xa5" * path.stat().st_size)


DAMAGES: dict[str, Damage] = {
    "deleted": _delete,
    "replaced": _replace,
    "halved": _halve,
    "emptied": _empty,
    "garbled": _garble,
    "filled": _fill,
}
# SQLite makes its index anew from the log when that is not one, so there is nothing to notice.
HARMLESS = {("-shm", "garbled"), ("-shm", "filled")}
ALL = [(end, name) for end in ("", "-wal", "-shm") for name in DAMAGES if (end, name) not in HARMLESS]
EACH = pytest.mark.parametrize(("end", "damage"), ALL, ids=[f"journal{end} {name}" for end, name in ALL])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "journal.sqlite"


@pytest.fixture
def embedded(path: Path) -> Iterator[Journal]:
    journal = Journal.at(path)
    yield journal
    journal.close()


# --- under a run ------------------------------------------------------------------------------------------------------


@EACH
def test_it_is_noticed_at_the_next_append(
    path: Path, embedded: Journal, clock: VirtualClock, end: str, damage: str
) -> None:
    """Promises 4 and 11: what a run is recorded in is not what it was, so nothing is recorded there any more; the error
    names the file, and what to do."""
    _, writer = create_run(embedded, clock, RUN, created())
    writer = embedded.append(writer, clock.now(), STARTED)
    DAMAGES[damage](path.with_name(path.name + end))
    with pytest.raises(JournalLost, match=f"{path.name}{end} was ") as lost:
        embedded.append(writer, clock.now(), PAUSED)
    assert (lost.value.exit_code, "failover status" in lost.value.hint) == (6, True)


@EACH
def test_it_is_noticed_before_a_command_leaves(
    path: Path, embedded: Journal, clock: VirtualClock, end: str, damage: str
) -> None:
    """Promise 5: a command whose intent may not be on record any more does not leave; neither is the lease renewed."""
    lease, writer = create_run(embedded, clock, RUN, created())
    embedded.append(writer, clock.now(), STARTED)
    lease.check()
    DAMAGES[damage](path.with_name(path.name + end))
    with pytest.raises(Forbidden, match=f"{path.name}{end} was .*, so the command was not sent$"):
        lease.check()
    with pytest.raises(JournalLost):
        lease.renew()


@pytest.mark.parametrize("damage", ["garbled", "filled"])
def test_an_index_that_is_overwritten_is_made_anew(
    path: Path, embedded: Journal, clock: VirtualClock, damage: str
) -> None:
    """The index beside the log holds nothing of its own: without a good one the record is read from the log."""
    lease, writer = create_run(embedded, clock, RUN, created())
    writer = embedded.append(writer, clock.now(), STARTED)
    DAMAGES[damage](path.with_name(f"{path.name}-shm"))
    lease.check()
    embedded.append(writer, clock.now(), PAUSED)
    assert [record.seq for record in embedded.records(RUN)] == [1, 2, 3]


def test_what_was_recorded_last_is_read_back(path: Path, embedded: Journal, clock: VirtualClock) -> None:
    """A file that is whole and the same one, and does not have what this process wrote to it, is no permit."""
    lease, writer = create_run(embedded, clock, RUN, created())
    embedded.append(writer, clock.now(), STARTED)
    with embedded.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM events WHERE seq = 2")
        connection.exec_driver_sql("UPDATE runs SET seq = 1")
    with pytest.raises(Forbidden, match="the records of run run-1 are no longer in the journal"):
        lease.check()
    with pytest.raises(JournalLost):
        embedded.append(writer.__class__(RUN, 1, 2, "x" * 64), clock.now(), PAUSED)
    with embedded.engine.begin() as connection:
        connection.exec_driver_sql("DELETE FROM runs")
    for ask in (lease.check, lease.renew):
        with pytest.raises((Forbidden, JournalLost), match="no longer in the journal"):
            ask()


@pytest.mark.parametrize("damage", DAMAGES)
def test_nothing_is_sent_after_it(path: Path, damage: str) -> None:
    """Promise 4: whenever the journal is lost under a run, no changing command reaches a site after that; the run ends
    with the sentence, and not with a bug."""
    for nth in range(1, 30):
        clock = VirtualClock()
        pair = ScriptedPair(clock, depth=10, rate=100)
        journal = Journal.at(path)
        heard: list[int] = []

        def lose(*_: object, pair: ScriptedPair = pair, heard: list[int] = heard) -> None:
            DAMAGES[damage](path)
            heard.append(sum(one.verb == "set_role" for one in pair.heard))

        try:
            with pytest.raises((JournalLost, JournalCorrupt)):
                Lead(pair, journal).start(observers=[_Nth(nth, lose)])
        except BaseException:
            if not heard:
                break  # there is no such record any more
            raise
        finally:
            journal.close()
            shutil.rmtree(path.with_suffix(".heads"))
            for end in ("", "-wal", "-shm"):
                path.with_name(path.name + end).unlink(missing_ok=True)
        assert sum(one.verb == "set_role" for one in pair.heard) == heard[0]
    assert nth > 20


class _Nth:
    """Does something when the run's so many-th record is told."""

    def __init__(self, nth: int, do: Callable[[], None]) -> None:
        self._left, self._do = nth, do

    def __call__(self, *_: object) -> None:
        self._left -= 1
        if self._left == 0:
            self._do()


# --- afterwards -------------------------------------------------------------------------------------------------------


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, capsys)


def interrupted(shell: Shell) -> str:
    """A run that waits for an operator: its source is standby, nobody is active. Its name."""
    assert shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop").code == 6
    return shell.run_name()


def test_a_run_that_vanished_is_told(shell: Shell) -> None:
    """Promise 11: with the journal gone, a run that was recorded in it is not forgotten: resume does not say that there
    is nothing to resume, verify finds it, and both say what to do. The way out is in the hint, and is one."""
    run = interrupted(shell)
    for path in shell.state.glob("journal.sqlite*"):
        path.unlink()
    for typed in (["resume"], ["resume", run], ["abort"], ["runs", "show", run], ["runs", "show"]):
        ended = shell(*typed)
        assert (ended.code, f"run {run}: this machine wrote records up to" in ended.complaint) == (6, True), typed
    for typed in (["runs", "verify"], ["runs", "list"]):
        found = shell(*typed)
        assert (found.code, found.out.count("but the journal no longer has the run")) == (4, 1), typed
    assert shell("runs", "verify", run).code == 4
    note = ended.hint.rpartition("rm ")[2]
    Path(note).unlink()
    assert shell("resume").complaint == "no run is unfinished, so there is nothing to resume"


def test_a_run_that_had_ended_keeps_nobody_from_anything(shell: Shell) -> None:
    """A journal that was removed with only finished runs in it is a finding of verify, and of nothing else."""
    assert shell.move().code == 0
    for path in shell.state.glob("journal.sqlite*"):
        path.unlink()
    assert shell("resume").complaint == "no run is unfinished, so there is nothing to resume"
    assert shell("runs", "verify").code == 4
    assert shell("controlled", "--vpn", VPN, "--from", "nj", "--yes", "--xa", "stop").code == 0


@pytest.mark.parametrize("damage", ["halved", "emptied", "filled"])
def test_a_damaged_journal_is_a_finding(shell: Shell, damage: str) -> None:
    """Promise 11: a file that lost a half, or all of it, or is none any more, verifies as nothing; resume refuses it."""
    interrupted(shell)
    DAMAGES[damage](shell.state / "journal.sqlite")
    assert shell("runs", "verify").code == 4
    assert shell("resume").code == 6


def test_an_empty_journal_is_a_finding(shell: Shell) -> None:
    """Promise 11: where there is no run, nothing is verified, and that is said."""
    found = shell("runs", "verify")
    assert (found.code, found.out) == (4, f"the journal {shell.state / 'journal.sqlite'}: the journal has no runs\n")


_WRITER = """
import os, signal, sys
from pathlib import Path
from orchestrator.model import events as ev
from orchestrator.clock import VirtualClock
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import create_run
from tests.core.builders import created
journal = Journal.at(Path(sys.argv[1]))
lease, writer = create_run(journal, VirtualClock(), "run-1", created())
lane = [("Trading", ev.LaneStarted())]
writer = journal.append(writer, 1.0, [(None, ev.RunStarted(by="ann", epoch=1, attended=False)), *lane])
for number in range(87):
    writer = journal.append(writer, 1.0, [("Trading", ev.StepStarted(step="demote"))])
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a journal whose process was killed after its 90th record: nearly all of it is in the log."""
    folder = tmp_path_factory.mktemp("killed")
    ended = subprocess.run([sys.executable, "-c", _WRITER, folder / "journal.sqlite"], cwd=PROJECT, check=False)
    assert ended.returncode == -signal.SIGKILL
    return folder


@pytest.mark.parametrize("percent", [100, 98, 80, 30, 0])
def test_a_log_that_lost_its_end(killed: Path, shell: Shell, percent: int) -> None:
    """Promise 11: after a kill the end of the log is gone. SQLite takes what is left for all there was; what was noted
    after each commit tells otherwise, so verify finds it, and nothing is resumed from less than was decided."""
    shell.tools()
    for path in sorted(killed.glob("journal*")):
        copy = shutil.copytree if path.is_dir() else shutil.copy
        copy(path, shell.state / path.name)
    log = shell.state / "journal.sqlite-wal"
    os.truncate(log, log.stat().st_size * percent // 100)
    found = shell("runs", "verify")
    if percent == 100:
        assert (found.code, "the record has no end, and no process leads the run" in found.out) == (0, True)
        with_all = Journal.at(shell.state / "journal.sqlite")
        assert len(list(with_all.records("run-1"))) == 90
        with_all.close()
        return
    assert (found.code, "unbroken" in found.out) == (4, False)
    lost = (
        "to 90 were written, but missing now"
        if percent
        else "records up to 90, but the journal no longer has the run"
    )
    assert lost in found.out
    assert (shell("resume").code, lost in shell("resume").complaint) == (6, True)


def test_a_journal_put_back_from_a_copy(shell: Shell) -> None:
    """An older copy of the journal is whole in itself; its runs are known to have gone further."""
    shutil.copytree(shell.tools().state, shell.folder / "copy", dirs_exist_ok=True)
    interrupted(shell)
    for path in shell.state.glob("journal.sqlite*"):
        shutil.copy(path, shell.folder)
    assert shell("resume", "--xa", shell.decisions).code == 0
    for path in shell.state.glob("journal.sqlite*"):
        path.unlink()
    shutil.copy(shell.folder / "journal.sqlite", shell.state)
    assert (shell("runs", "verify").code, shell("resume").code) == (4, 6)
    assert shell.roles() == ("standby", "active")


# --- the notes --------------------------------------------------------------------------------------------------------


def noted(path: Path) -> Path:
    return path.with_suffix(".heads") / RUN


def test_a_note_is_never_ahead_of_the_record(path: Path, embedded: Journal, clock: VirtualClock) -> None:
    """A process that dies between its commit and the note leaves one that is behind; that is no finding. Whoever takes
    the run over notes where it stands."""
    lease, writer = create_run(embedded, clock, RUN, created())
    before = noted(path).read_bytes()
    embedded.append(writer, clock.now(), STARTED)
    noted(path).write_bytes(before)
    assert len(list(embedded.records(RUN))) == 2
    lease.release()
    take(embedded, clock, RUN, {})
    assert noted(path).read_bytes().startswith(b"0000000002 ")


@pytest.mark.parametrize(("text", "is_found"), [(b"", False), (b"\0" * 81, False), (b"0000000002 nonsense\n", True)])
def test_a_note_after_a_loss_of_power(
    path: Path, embedded: Journal, clock: VirtualClock, text: bytes, is_found: bool
) -> None:
    """A note is not waited for: one that never reached the disk says nothing. One that nobody wrote is a finding."""
    create_run(embedded, clock, RUN, created())
    noted(path).write_bytes(text)
    if is_found:
        with pytest.raises(JournalCorrupt, match="the note of the last record cannot be read"):
            list(embedded.records(RUN))
    else:
        assert len(list(embedded.records(RUN))) == 1


def test_what_cannot_be_noted_is_not_begun(path: Path, embedded: Journal, clock: VirtualClock) -> None:
    """With something else in place of the notes a run is not led: what is not noted could be lost without a word."""
    path.with_suffix(".heads").write_text("in the way")
    with pytest.raises(JournalUnavailable, match="could not be noted"):
        create_run(embedded, clock, RUN, created())
    assert embedded.runs() == []


@pytest.mark.parametrize(("mode", "of_folder"), [(0o600, 0o700), (0o660, 0o770), (0o640, 0o750)])
def test_notes_are_as_private_as_the_journal(path: Path, clock: VirtualClock, mode: int, of_folder: int) -> None:
    """Whoever may write to the journal may note what was written, and nobody else."""
    path.touch()
    path.chmod(mode)
    journal = Journal.at(path)
    create_run(journal, clock, RUN, created())
    journal.close()
    assert noted(path).stat().st_mode & 0o777 == mode
    assert noted(path).parent.stat().st_mode & 0o777 == of_folder


def test_a_name_does_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    """The name of a run comes from the database, which somebody may have forged."""
    (tmp_path / "secret").write_text("0000000001 " + "0" * 64 + " open\n")
    assert Heads(tmp_path / "heads").noted("../secret") is None


def test_who_lost_the_run_to_another_process_is_told_so(path: Path, embedded: Journal, clock: VirtualClock) -> None:
    """A run that was taken over is no lost one."""
    lease, writer = create_run(embedded, clock, RUN, created())
    lease.release()
    take(Journal.at(path), clock, RUN, {})
    with pytest.raises(LeaseLost):
        embedded.append(writer, clock.now(), STARTED)
