"""Records and places for them that cannot be used: one clear sentence, the documented exit code, nothing lost."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from orchestrator.core.lane import Lane
from orchestrator.core.run import Run
from orchestrator.errors import DefinitionError, JournalUnavailable
from orchestrator.model import events as ev
from orchestrator.operations.runs.answers import Decision
from orchestrator.operations.runs.intervene import _asked
from simulator.embedded import embedded_layout
from tests.cli.complaints import complained, untouched
from tests.cli.shell import VPN, Shell
from tests.core.builders import a_plan


def test_a_second_run_on_the_same_vpn(shell: Shell) -> None:
    """Law: a VPN of an unfinished run is locked, for a run and in the dry run alike; both name that run."""
    shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    run = shell.run_name()
    ended = shell.move()
    complained(ended, 8, VPN, run)
    assert f"failover resume {run}" in ended.hint
    dry = shell("controlled", "--vpn", VPN, "--dry-run")
    assert dry.code == 8
    assert f"{VPN} belongs to run {run}" in dry.out
    assert len(shell("runs", "list").out.splitlines()) == 1
    assert shell("controlled", "--vpn", "Risk_VPN", "--yes").code == 0


def test_a_read_only_journal(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: without a journal that can be written nothing begins."""
    shell("runs", "list")
    path = shell.state / "journal.sqlite"
    monkeypatch.setenv("FAILOVER_JOURNAL", f"sqlite:///file:{path}?mode=ro&uri=true")
    complained(shell.move(), 6, "the journal could not", "readonly")
    monkeypatch.delenv("FAILOVER_JOURNAL")
    untouched(shell)


def test_a_journal_that_is_somewhere_else(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: a link in place of the journal is not followed, and a URL that is none is said to be none."""
    shell.state.mkdir()
    (shell.state / "journal.sqlite").symlink_to(shell.folder / "elsewhere")
    complained(shell("runs", "list"), 6, "the journal", "cannot be opened")
    monkeypatch.setenv("FAILOVER_JOURNAL", "elsewhere")
    complained(shell.move(), 6, "the journal could not be opened")
    monkeypatch.setenv("FAILOVER_JOURNAL", "postgresql+psycopg2://db/failover")
    complained(shell.move(), 2, "a database whose driver is not installed: psycopg2")
    for url in ("ops:hunt@er2@db/failover", "ops:hu@nt:er2@db/failover", "ops@db:er2/failover", "[ops@db/failover"):
        monkeypatch.setenv("FAILOVER_JOURNAL", f"postgresql+psycopg://{url}")
        complained(ended := shell.move(), 2, "FAILOVER_JOURNAL is not the URL of a database")
        assert "er2" not in ended.err


def test_an_emergency_beside_a_record_that_was_edited(shell: Shell) -> None:
    """Law: a site that is lost is not waited for because the record of some other run does not prove itself: what was
    last known of the site is a note, and then says so."""
    shell("controlled", "--vpn", "Risk_VPN", "--yes")
    edited = shell.run_name()
    with sqlite3.connect(shell.state / "journal.sqlite") as journal:
        journal.execute("UPDATE events SET event = replace(event, '{', '{ ') WHERE run = ? AND seq = 1", (edited,))
    journal.close()
    lost = ("--site", "ny", "--attest", "x", "--fault", "at 0s: node ny/NY_Appliance1 down")
    moved = shell("uncontrolled", "--vpn", VPN, *lost, "--yes")
    assert moved.code == 0, moved.err
    note = f"last known of {VPN} at ny: unknown; run {edited}: record 1 was changed after it was written"
    assert shell("runs", "list", "--json").values[0]["notes"] == [note]


def test_the_way_back_beside_a_record_that_was_edited(shell: Shell) -> None:
    """Law: a record that does not prove itself keeps no lost site from being made standby, which is noted; and it makes
    no fail-back look safe: that is refused with both ways on, and goes on once somebody accepts the risk by name."""
    shell("controlled", "--vpn", "Risk_VPN", "--yes")
    edited = shell.run_name()
    assert shell("controlled", "--vpn", "Settlement_VPN", "--yes").code == 0
    with sqlite3.connect(shell.state / "journal.sqlite") as journal:
        journal.execute("UPDATE events SET event = replace(event, '{', '{ ') WHERE run = ? AND seq = 1", (edited,))
    journal.close()
    restored = shell("restore", "--vpn", "Settlement_VPN", "--site", "ny", "--yes")
    assert restored.code == 0, restored.err
    problem = f"run {edited}: record 1 was changed after it was written"
    [note] = shell("runs", "list", "--json").values[0]["notes"]
    assert problem in note
    back = ("failback", "--vpn", "Settlement_VPN", "--site", "ny", "--yes")
    refused_to = shell(*back)
    complained(refused_to, 3, problem, "does not show that it is safe")
    assert "failover runs verify" in refused_to.err
    assert "--accept-risk" in refused_to.err
    assert shell(*back, "--accept-risk", "the desk agrees").code == 0


def test_a_repair_beside_a_record_that_was_edited(shell: Shell) -> None:
    """Law: a record that does not prove itself does not stop a repair. A note says that nothing was read from it."""
    shell("controlled", "--vpn", "Risk_VPN", "--yes")
    edited = shell.run_name()
    with sqlite3.connect(shell.state / "journal.sqlite") as journal:
        journal.execute("UPDATE events SET event = replace(event, '{', '{ ') WHERE run = ? AND seq = 1", (edited,))
    journal.close()
    shell.disturb("at 0s: role ny standby")
    shell.clock.advance(5)
    repaired = shell("repair", "--vpn", VPN, "--site", "ny", "--accept-loss", "the desk agrees", "--yes")
    assert repaired.code == 0, repaired.err
    problem = f"run {edited}: record 1 was changed after it was written"
    notes = shell("runs", "list", "--json").values[0]["notes"]
    assert sum(problem in note for note in notes) == 1, notes


def test_a_record_that_was_edited(shell: Shell) -> None:
    """Law: a run whose record does not prove itself is not gone on with; the others stay usable, and are listed."""
    shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    edited = shell.run_name()
    shell("controlled", "--vpn", "Risk_VPN", "--yes")
    with sqlite3.connect(shell.state / "journal.sqlite") as journal:
        journal.execute("UPDATE events SET event = replace(event, '{', '{ ') WHERE run = ? AND seq = 3", (edited,))
    journal.close()
    resumed = shell("resume", edited)
    complained(resumed, 6, f"run {edited}: record 3 was changed after it was written")
    assert "failover runs verify" in resumed.hint
    listed = shell("runs", "list")
    assert listed.code == 4
    assert [line.split()[1] for line in listed.out.splitlines()] == ["done", "CORRUPT"]
    verified = shell("runs", "verify", "--json")
    assert (verified.code, [value["ok"] for value in verified.values]) == (4, [True, False])
    assert shell("runs", "show", "last").code == 0


def test_an_export_that_was_cut_off(shell: Shell) -> None:
    """Law: an exported run proves itself whole, and no longer after a line of it is gone; garbage is not a run."""
    shell.move()
    path = shell.folder / "run.jsonl"
    assert shell("runs", "export", "-o", str(path)).code == 0
    assert shell("runs", "verify", str(path)).code == 0
    whole = path.read_text(encoding="utf-8")
    lines = whole.splitlines(keepends=True)
    for damaged in (lines[:-1], lines[1:], [*lines[:3], *lines[4:]], [lines[1], lines[0], *lines[2:]]):
        path.write_text("".join(damaged), encoding="utf-8")
        assert shell("runs", "verify", str(path)).code == 4
    path.write_text("no run", encoding="utf-8")
    complained(shell("runs", "verify", str(path)), 2, "is not an exported run")
    complained(shell("runs", "export", "-o", str(shell.folder / "none" / "run.jsonl")), 2, "cannot be written")


@pytest.mark.parametrize("command", ["resume", "abort"])
def test_a_run_that_is_over_or_never_was(shell: Shell, command: str) -> None:
    """Law: there is nothing to go on with, or to call off, after the end; the sentence says which end it was."""
    complained(shell(command), 2, "no run is unfinished")
    shell.move()
    complained(shell(command), 2, "no run is unfinished")
    complained(shell(command, "last"), 2, "has ended (done)")
    complained(shell(command, "nosuch"), 2, "there is no run 'nosuch'")


def test_several_runs_that_fit(shell: Shell) -> None:
    """Law: no run is ever chosen by chance."""
    shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    shell.inventory(embedded_layout())
    shell("controlled", "-i", "inventory.yaml", "--vpn", VPN, "--yes", "--xa", "stop")
    names = [line.split()[0] for line in shell("runs", "list").out.splitlines()]
    ended = shell("resume")
    complained(ended, 2, "several runs are unfinished")
    assert all(name in ended.hint for name in names)
    complained(shell("resume", "2027"), 2, "'2027' fits several runs")
    assert shell("abort", names[0]).code == shell("abort", names[1][:-1]).code == 5


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (("revert", "--gate", "bridge-lost"), "this question is not open"),
        (("revert", "--gate", "bridge-lost", "--vpn", "Else_VPN"), "this question is not open"),
    ],
)
def test_an_answer_to_no_question(shell: Shell, answer: tuple[str, ...], sentence: str) -> None:
    """Law: an answer to a question that nobody asks is refused, and left nowhere."""
    shell("controlled", "--vpn", VPN, "--yes", "--xa", "stop")
    complained(shell("decide", *answer, "--reason", "r"), 2, sentence)


def test_an_answer_to_which_of_the_questions() -> None:
    """Law: where a question is about single transactions, an answer without one is refused with what to add."""
    gate = ev.GateOpened(gate="xa", step="xa", choices=("commit",), unattended="stop", why="w", item="1-02-03")
    run = Run(a_plan(), lanes={"Trading": Lane("Trading", gates=(gate,))})
    with pytest.raises(DefinitionError, match="name the transaction with --item") as refused:
        _asked("R", run, Decision(gate="xa", choice="commit", services=(), item=None, reason="r"))
    assert refused.value.hint.startswith("--item 1-02-03;")


def test_a_state_directory_others_can_write(shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Law: a record that others can write proves nothing, so it is not begun there."""
    from orchestrator.cli.tools import make_tools

    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("FAILOVER_STATE", str(shared))
    with pytest.raises(DefinitionError, match="other accounts can write"):
        make_tools()
    monkeypatch.setenv("FAILOVER_STATE", str(shell.write("file", "")))
    with pytest.raises(JournalUnavailable, match="cannot be used"):
        make_tools()


def test_a_folder_of_the_state_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Law: what is in its place, and what to do about that, is told of each cause in its own words. The control is
    a folder that is there already."""
    from orchestrator.cli.tools import make_tools
    from orchestrator.errors import JournalUnavailable

    monkeypatch.setenv("FAILOVER_STATE", str(tmp_path / "state"))
    tools = make_tools()
    assert tools.folder("logs") == tools.folder("logs")
    (tools.state / "link").symlink_to(tmp_path)
    (tools.state / "file").touch()
    found = {}
    for name in ("link", "file", "gone/logs"):
        with pytest.raises(JournalUnavailable) as caught:
            tools.folder(name)
        found[name] = (str(caught.value).removeprefix(f"{tools.state}/{name} "), caught.value.hint)
    assert found == {
        "link": ("is a link, but links are not followed", "remove the link"),
        "file": ("is not a directory", "move it away"),
        "gone/logs": (
            "cannot be created: No such file or directory",
            "fix the cause, or set FAILOVER_STATE to another state directory",
        ),
    }
