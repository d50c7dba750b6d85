"""Whatever cannot work: one clear sentence, the documented exit code, nothing changed or lost."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.mock.embedded import embedded_layout
from tests.cli.shell import VPN, Ended, Shell

ACTIVE_AT_HOME = ("active", "standby")


def untouched(shell: Shell, roles: tuple[str, str] = ACTIVE_AT_HOME) -> None:
    """No device obeyed anything, nothing was lost, and nobody serves who did not before."""
    tally = shell.tally()
    assert (shell.roles(), dict(tally.commands), tally.lost) == (roles, {}, 0)


def refused(shell: Shell, ended: Ended, *words: str, code: int = 3) -> None:
    """A run that a check refused: one sentence in the result, no error beside it."""
    assert ended.code == code
    [line] = [line for line in ended.out.splitlines() if line.startswith(f"  {VPN}: refused: ")]
    assert all(word in line for word in words), line
    assert "failover: " not in ended.err
    assert "Nothing was changed." in ended.out


def complained(ended: Ended, code: int, *words: str) -> None:
    """A command that failed: one sentence on one line, nothing on stdout."""
    assert (ended.code, ended.out) == (code, "")
    assert all(word in ended.complaint for word in words), ended.complaint


# --- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "Nowhere",
        "",
        " Trading_VPN",
        "trading_vpn",
        "Trading_VPN;reload",
        "Trading_VPN\nreload",
        "Trading_VPN\rreload",
        'Trading_VPN" reload',
        "Trading_VPN'",
        "`reload`",
        "*",
        "\x1b[2J",
        "--all",
    ],
)
def test_a_name_that_is_not_listed(shell: Shell, name: str) -> None:
    """Law: a VPN that the inventory does not list is refused before any device is asked, on one line, escaped."""
    ended = shell("controlled", f"--vpn={name}", "--yes")
    complained(ended, 2, "the inventory does not list", repr(name).strip("'\"")[:5])
    assert ended.hint == "it lists: Trading_VPN, Risk_VPN, Settlement_VPN"
    assert not any(character in ended.err.replace("\n", "") for character in "\r\x1b")
    untouched(shell)
    assert shell("runs", "list").out == ""


@pytest.mark.parametrize(
    "name",
    ["A;reload", "A\nreload", 'A"', "A'", "A`id`", "A?", "A*", "A\\n", "A|B", "A<B", "A>B", "A&B", "A\x7f", " A"],
)
def test_a_listed_name_that_would_be_a_second_command(shell: Shell, name: str) -> None:
    """Law: quotes, newlines and `;` never get into an inventory, hence never into a command."""
    inventory = shell.inventory(services=[name])
    complained(shell("controlled", "-i", str(inventory), "--all", "--yes"), 2, f"{inventory}:1: ")
    assert shell("inventory", "lint", str(inventory)).code == 2


def test_a_name_with_a_blank_stays_one_argument(shell: Shell) -> None:
    """Law: a blank is allowed in a name, and every command that names it puts it in quotes."""
    layout = embedded_layout()
    vpn = replace(layout.vpns[1], name="My VPN")
    inventory = shell.inventory(replace(layout, vpns=(vpn,)), services=["My VPN"])
    [lane] = shell("controlled", "-i", str(inventory), "--all", "--dry-run", "--json").result["lanes"]
    lines = [command["line"] for step in lane["steps"] for command in step["commands"]]
    assert [line for line in lines if "My VPN" in line.replace('"My VPN"', "")] == []
    assert shell("controlled", "-i", str(inventory), "--all", "--yes").code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "say which services"),
        (("--all", "--vpn", VPN), "say which services"),
        (("--vpn", VPN, "--from", "la"), "'la' is not a site of the pair trading"),
        (("--vpn", VPN, "--from", "n\ny"), "'n\\ny' is not a site"),
        (("--vpn", VPN, "--pair", "orders"), "no pair is called 'orders'"),
        (("--vpn", VPN, "--runbook", "solace/nothing"), "no shipped runbook is called solace/nothing"),
        (("--vpn", VPN, "--runbook", "nothing.yaml"), "nothing.yaml: there is no such file"),
        (("--vpn", VPN, "--xa", "nothing.yaml"), "nothing.yaml: there is no such file"),
        (("--vpn", VPN, "--xa", "ask"), "--xa ask, and nobody is there to be asked"),
        (("--vpn", VPN, "--on-bridge-loss", "panic"), "'panic' is no answer to bridge-lost"),
        (("--vpn", VPN, "--on-stall", "stop"), "'stop' is no answer to drain-stalled"),
        (("--vpn", VPN, "--fault", "later: bridge down"), "not a fault: 'later: bridge down'"),
        (("--vpn", VPN, "--fault", "drain: unreachable la"), "has no site la"),
        (("--vpn", VPN, "--fault", "drain Else_VPN: stall"), "no message VPN Else_VPN"),
        (("--vpn", VPN, "--dry-run", "--fault", "drain: stall"), "--dry-run changes nothing"),
        (("--vpn", VPN, "-i", "nothing.yaml"), "nothing.yaml: there is no such file"),
    ],
)
def test_what_does_not_fit_together(shell: Shell, arguments: tuple[str, ...], sentence: str) -> None:
    """Law: whatever is wrong with what was typed is said before anything begins, with exit code 2."""
    more = () if "--dry-run" in arguments else ("--yes",)
    complained(shell("controlled", *arguments, *more), 2, sentence)
    untouched(shell)
    assert shell("runs", "list").out == ""


@pytest.mark.parametrize("words", [("uncontrolled", "--failed", "ny"), ("restore", "--site", "ny"), ("failback",)])
def test_no_command_disturbs_the_pair_in_a_dry_run(shell: Shell, words: tuple[str, ...]) -> None:
    """Law: a fault is not passed over in silence either, whatever the command."""
    complained(shell(*words, "--vpn", VPN, "--dry-run", "--fault", "drain: stall"), 2, "--dry-run changes nothing")


def test_text_that_is_none(shell: Shell) -> None:
    """Law: bytes that are no text are refused, and never reach the record."""
    shell("controlled", "--vpn", VPN, "--yes")
    complained(shell("abort", "--reason", "caf\udce9"), 2, "--reason is not valid UTF-8 text")
    assert shell("abort").code == 5


# --- definitions ----------------------------------------------------------------------------------------------------


def test_an_unknown_key(shell: Shell) -> None:
    """Law: YAML with an unknown key is refused with its file and line."""
    inventory = shell.inventory(comment="spare the time")
    complained(shell("controlled", "-i", str(inventory), "--all", "--yes"), 2, "inventory.yaml:1:", "comment")
    runbook = shell.write("own.yaml", "runbook: own/move\nsummary: s\nspeed: high\nsteps: []\n")
    complained(shell("controlled", "--all", "--yes", "--runbook", str(runbook)), 2, "own.yaml:3:", "speed")
    decisions = shell.write("xa.yaml", "decisions: []\ndefault: commit\n")
    complained(shell("controlled", "--all", "--yes", "--xa", str(decisions)), 2, "xa.yaml:2:", "default")
    untouched(shell)


def test_the_same_site_twice(shell: Shell) -> None:
    """Law: a pair of a site with itself is no pair."""
    inventory = shell.inventory(sites=["ny", "ny"])
    complained(shell("controlled", "-i", str(inventory), "--all", "--yes"), 2, "the same site twice")


def test_a_runbook_that_lint_refuses_moves_nothing(shell: Shell) -> None:
    """Law: what `runbook lint` calls an error is refused by every command that would run it."""
    text = "runbook: own/move\nsummary: s\nsteps:\n  - {id: a, title: t, do: {on: source, action: explode}}\n"
    runbook = shell.write("own.yaml", text)
    ended = shell("controlled", "--vpn", VPN, "--yes", "--runbook", str(runbook))
    complained(ended, 2, "own.yaml:4:", "explode")
    assert ended.err.count("known: complete_transaction") == 1, "what to do is said once"
    assert shell("runbook", "lint", str(runbook)).code == 4


# --- states ---------------------------------------------------------------------------------------------------------


def test_already_moved(shell: Shell) -> None:
    """Law: run again it refuses, because nj is active now, and says what to run instead; that works."""
    assert shell.move().code == 0
    ended = shell.move()
    refused(shell, ended, "ny: the source does not have activity")
    assert "nj is active already." in ended.out
    assert "`failover controlled --vpn Trading_VPN --from nj`" in ended.out
    assert shell.roles() == ("standby", "active")
    assert shell.move("--from", "nj").code == 0
    assert shell.roles() == ACTIVE_AT_HOME


@pytest.mark.parametrize(
    ("fault", "words"), [("nj active", "BOTH SITES ARE ACTIVE"), ("ny standby", "NO SITE IS ACTIVE")]
)
def test_both_sites_in_one_role(shell: Shell, fault: str, words: str) -> None:
    """Law: neither two active nor two standby sites are moved; the advice says which of the two it is."""
    shell.disturb(f"at 0s: role {fault}")
    shell.clock.advance(1)
    before = shell.roles()
    assert before[0] == before[1]
    ended = shell.move()
    refused(shell, ended)
    assert words in ended.out
    assert shell.roles() == before


def test_not_replicated(shell: Shell) -> None:
    """Law: a VPN that is not replicated is refused by name of that reason."""
    layout = embedded_layout()
    plain = replace(layout.vpns[0], replicated=False, backlog=0, transactions=())
    inventory = shell.inventory(replace(layout, vpns=(plain,)), services=[VPN])
    refused(shell, shell("controlled", "-i", str(inventory), "--all", "--yes"), "not replicated at the source")


def test_listed_but_not_on_the_device(shell: Shell) -> None:
    """Law: a VPN that the devices do not have is refused at once, without waiting for it to appear."""
    layout = embedded_layout()
    inventory = shell.inventory(replace(layout, vpns=layout.vpns[1:]))
    begun = shell.clock.now()
    refused(shell, shell("controlled", "-i", str(inventory), "--vpn", VPN, "--yes"), f"{VPN} does not exist")
    assert shell.clock.now() - begun < 5


# --- devices --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("at 0s: unreachable ny", "no node of ny answers"),
        ("at 0s: unreachable nj", "no node of nj answers"),
        ("login: wrong password", "does not accept the account"),
    ],
)
@pytest.mark.parametrize("how", ["--yes", "--dry-run"])
def test_no_session_to_be_had(shell: Shell, fault: str, sentence: str, how: str) -> None:
    """Law: a device that is away, or refuses the account, refuses the run: nothing begins, nothing is recorded."""
    shell.disturb(fault)
    shell.clock.advance(1)
    complained(shell("controlled", "--vpn", VPN, how), 3, sentence, "nothing was changed")
    assert shell("runs", "list").out == ""
    shell.disturb()
    assert (dict(shell.tally().commands), shell.tally().lost) == ({}, 0)


@pytest.mark.parametrize("fault", ["garbage reply", "truncate reply", "lose reply", "lose request"])
def test_answers_that_cannot_be_read(shell: Shell, fault: str) -> None:
    """Law: an answer nobody can read is unknown; it is asked again for a while, and then the run refuses."""
    shell.disturb(f"reads: {fault} 1h")
    refused(shell, shell.move(), "is unknown")
    untouched(shell)


@pytest.mark.parametrize("fault", ["garbage reply", "truncate reply", "lose reply"])
def test_one_bad_answer_is_asked_again(shell: Shell, fault: str) -> None:
    """Law: a single unreadable answer costs a second look, not the run."""
    shell.disturb(f"reads: {fault}")
    assert shell.move().code == 0


def test_a_command_that_is_refused_by_the_device(shell: Shell) -> None:
    """Law: a demotion that the device refuses ends the run as refused, since nothing was changed."""
    ended = shell.move("--fault", "demote: refuse 10h")
    refused(shell, ended, "ny refused", "the command is refused by the simulated node")
    assert (shell.roles(), shell.tally().lost) == (ACTIVE_AT_HOME, 0)


# --- the record -----------------------------------------------------------------------------------------------------


def test_a_second_run_on_the_same_vpn(shell: Shell) -> None:
    """Law: a VPN of an unfinished run is locked, for a run and in the dry run alike; both name that run."""
    shell("controlled", "--vpn", VPN, "--yes")
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
    lost = ("--failed", "ny", "--attest", "x", "--fault", "at 0s: node ny/NY_Appliance1 down")
    moved = shell("uncontrolled", "--vpn", VPN, *lost, "--yes")
    assert moved.code == 0, moved.err
    note = f"last known of {VPN} at ny: unknown; run {edited}: record 1 is not what was written"
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
    problem = f"run {edited}: record 1 is not what was written"
    [note] = shell("runs", "list", "--json").values[0]["notes"]
    assert problem in note
    back = ("failback", "--vpn", "Settlement_VPN", "--to", "ny", "--yes")
    refused_to = shell(*back)
    complained(refused_to, 3, problem, "does not show that it is safe")
    assert "failover runs verify" in refused_to.err
    assert "--accept-risk" in refused_to.err
    assert shell(*back, "--accept-risk", "the desk agrees").code == 0


def test_a_record_that_was_edited(shell: Shell) -> None:
    """Law: a run whose record does not prove itself is not gone on with; the others stay usable, and are listed."""
    shell("controlled", "--vpn", VPN, "--yes")
    edited = shell.run_name()
    shell("controlled", "--vpn", "Risk_VPN", "--yes")
    with sqlite3.connect(shell.state / "journal.sqlite") as journal:
        journal.execute("UPDATE events SET event = replace(event, '{', '{ ') WHERE run = ? AND seq = 3", (edited,))
    journal.close()
    resumed = shell("resume", edited)
    complained(resumed, 6, f"run {edited}: record 3 is not what was written")
    assert "failover runs verify" in resumed.err
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
    shell("controlled", "--vpn", VPN, "--yes")
    shell.inventory(embedded_layout())
    shell("controlled", "-i", "inventory.yaml", "--vpn", VPN, "--yes")
    names = [line.split()[0] for line in shell("runs", "list").out.splitlines()]
    ended = shell("resume")
    complained(ended, 2, "several runs are unfinished")
    assert all(name in ended.hint for name in names)
    complained(shell("resume", "2027"), 2, "'2027' fits several runs")
    assert shell("abort", names[0]).code == shell("abort", names[1][:-1]).code == 5


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (("revert", "--gate", "bridge-lost"), "no such question is open"),
        (("revert", "--gate", "bridge-lost", "--vpn", "Else_VPN"), "no such question is open"),
    ],
)
def test_an_answer_to_no_question(shell: Shell, answer: tuple[str, ...], sentence: str) -> None:
    """Law: an answer to a question that nobody asks is refused, and left nowhere."""
    shell("controlled", "--vpn", VPN, "--yes")
    complained(shell("decide", *answer, "--reason", "r"), 2, sentence)


# --- errors for machines, and bugs ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("controlled", "--vpn", "Nowhere", "--yes", "--json"), 2),
        (("controlled", "--vpn", VPN, "--json"), 2),
        (("controlled", "--json", "--no-such-option"), 2),
        (("resume", "--json"), 2),
        (("runs", "show", "nosuch", "--json"), 2),
    ],
)
def test_errors_for_machines(shell: Shell, arguments: tuple[str, ...], code: int) -> None:
    """Law: with --json an error too ends in a result object, with the exit code and the sentence of stderr."""
    ended = shell(*arguments)
    assert ended.code == code
    assert ended.result["exit_code"] == code
    assert (
        json.dumps(ended.result["error"])[1:-1] in ended.err.replace("\n", " ") or ended.result["error"] in ended.err
    )


def test_without_a_terminal_and_without_yes(shell: Shell) -> None:
    """Law: nobody is asked who is not there; it refuses, and says what to add."""
    ended = shell("controlled", "--vpn", VPN)
    complained(ended, 2, "nobody is there to be asked")
    assert "--yes" in ended.hint
    untouched(shell)


def test_a_state_directory_others_can_write(shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Law: a record that others can write proves nothing, so it is not begun there."""
    from orchestrator.cli.wiring import make_tools
    from orchestrator.errors import DefinitionError, JournalUnavailable

    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    monkeypatch.setenv("FAILOVER_STATE", str(shared))
    with pytest.raises(DefinitionError, match="can be written by others"):
        make_tools()
    monkeypatch.setenv("FAILOVER_STATE", str(shell.write("file", "")))
    with pytest.raises(JournalUnavailable, match="cannot be used"):
        make_tools()


def test_a_folder_of_the_state_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Law: what is in its place, and what to do about that, is told of each cause in its own words. The control is
    a folder that is there already."""
    from orchestrator.cli.wiring import make_tools
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
        "link": ("is a link, which is not followed", "remove the link"),
        "file": ("is no directory", "move it away"),
        "gone/logs": (
            "cannot be made: No such file or directory",
            "mend that, or set FAILOVER_STATE to another state directory",
        ),
    }
