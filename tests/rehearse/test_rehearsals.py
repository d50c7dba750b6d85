"""`failover rehearse`: the real command on a simulated copy, out of reach of everything real."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.main import main
from orchestrator.clock import ScaledClock, VirtualClock
from orchestrator.model import events as ev
from orchestrator.operations.rehearsal.rehearse import Unhurried
from simulator.solace.layout import VpnLayout
from tests.cli.processes import Bench
from tests.cli.shell import VPN, Ended, Shell

KINDS: dict[str, tuple[str, ...]] = {
    "controlled": (),
    "uncontrolled": ("--attest", "cables pulled"),
    "restore": (),
    "failback": (),
}


def rehearse(shell: Shell, kind: str, *more: str) -> Ended:
    """At once, with nobody there."""
    return shell("rehearse", kind, "--all", "--fast", "--seed", "11", *more)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(shell: Shell, kind: str) -> None:
    """Law: each procedure can be rehearsed from the start that it needs, undisturbed to its good end."""
    ended = rehearse(shell, kind, *KINDS[kind])
    assert ended.code == 0, ended.err[-2_000:]
    assert f"SIMULATED  solace/{kind}" in ended.out
    assert ": DONE after" in ended.out
    assert "never two active sites" in ended.out


@pytest.mark.parametrize("to", ["ny", "nj"])
@pytest.mark.parametrize("is_active", [False, True], ids=["both standby", "both active"])
def test_a_repair(shell: Shell, to: str, is_active: bool) -> None:
    """Law: a repair is rehearsed from two standby sites, or from two active ones; either site is left active alone, and
    the line that plays the same again has how it started."""
    more = ("--both-active", "--accept-loss", "a test") if is_active else ()
    ended = rehearse(shell, "repair", "--site", to, *more)
    assert ended.code == 0, ended.err[-2_000:]
    runbook = "solace/repair-active" if is_active else "solace/repair-standby"
    assert f"SIMULATED  {runbook}: " in ended.out
    assert ("BOTH SITES WERE ACTIVE" in ended.out) is is_active
    assert ("--both-active" in ended.out.splitlines()[-1]) is is_active


def test_a_repair_alone_starts_with_two_active_sites(shell: Shell) -> None:
    """Law: an option of one procedure is refused with another one."""
    ended = rehearse(shell, "controlled", "--both-active")
    assert (ended.code, "--both-active" in ended.err) == (2, True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", ["1", "2", "3"])
def test_whatever_is_drawn(shell: Shell, kind: str, seed: str) -> None:
    """Law: it is the fault that makes a rehearsal fail, never the seed; a planned move loses nothing."""
    ended = shell("rehearse", kind, "--all", "--fast", "--seed", seed, "--json", *KINDS[kind])
    assert ended.code == 0
    account = ended.values[-1]["simulated_account"]
    if kind != "uncontrolled":
        assert {one["lost"] for one in account.values()} == {0}
    assert {one["both_active_intervals"] for one in account.values()} == {0}


def test_everything_says_simulated(shell: Shell) -> None:
    """Law (promise 13): every line of progress and every JSON value says it."""
    ended = rehearse(shell, "controlled")
    assert all("SIMULATED" in line for line in ended.err.splitlines())
    assert "SIMULATED  the rehearsal" in ended.out
    values = rehearse(shell, "controlled", "--json").values
    assert all(value.get("result", value)["simulated"] is True for value in values)


def test_for_machines(shell: Shell) -> None:
    """Law: --json begins with what is rehearsed, goes on with the run's events, and ends in its result."""
    ended = rehearse(shell, "controlled", "--json", "--fault", "drain: bridge down 5s")
    first, *events, last = ended.values
    assert first["rehearsal"]["command"] == "controlled"
    assert first["rehearsal"]["seed"] == 11
    assert first["rehearsal"]["faults"] == ["drain: bridge down 5s"]
    assert set(first["rehearsal"]["publish_rates"]) == {VPN, "Risk_VPN", "Settlement_VPN"}
    assert events[0]["event"]["kind"] == "run.created"
    assert set(last) == {"result", "simulated_account"}
    assert ended.err == ""


def test_the_same_seed_is_the_same_rehearsal(shell: Shell) -> None:
    """Law: a seed gives the same pair, the same course and the same account again."""

    def course(ended: Ended) -> list[Any]:
        return [value["event"]["kind"] for value in ended.values if "event" in value]

    one, other = (rehearse(shell, "uncontrolled", "--json", "--attest", "x") for _ in range(2))
    assert course(one) == course(other)
    assert one.values[-1]["simulated_account"] == other.values[-1]["simulated_account"]
    assert one.values[0] == other.values[0]


@pytest.mark.parametrize("named", [("--all",), (VPN,), ("--service", VPN)])
def test_the_line_to_type_again(shell: Shell, named: tuple[str, ...]) -> None:
    """Law: what it prints for a repetition is understood, names each service once, and ends the same."""
    how = ("--fast", "--seed", "11", "--attest", "cables pulled, twice", "--site", "nj")
    first = shell("rehearse", "uncontrolled", *named, *how)
    line = re.search(r"to repeat this rehearsal: failover (.*)$", first.out, re.M)
    assert line is not None
    assert ("--site nj" in line[1], line[1].count(VPN)) == (True, VPN in named)
    again = shell(*shlex.split(line[1]))
    assert again.code == first.code
    counted, line_again = again.out.splitlines()[-2:]
    assert counted == first.out.splitlines()[-2]
    assert sorted(shlex.split(line_again)) == sorted(shlex.split(line[0]))


def test_decisions_and_how_long_they_took(shell: Shell) -> None:
    """Law: in the end it says what was decided and how long that took; unattended that is no time."""
    ended = rehearse(shell, "controlled", "--fault", f"drain {VPN}: bridge down")
    assert ended.code == 5
    assert f"  {VPN}: bridge-lost: revert, by policy, at once" in ended.out.splitlines()
    healed = rehearse(shell, "controlled", "--on-bridge-loss", "wait", "--fault", f"drain {VPN}: bridge down 90s")
    assert healed.code == 0
    assert f"  {VPN}: bridge-lost: wait, by policy, at once" in healed.out.splitlines()


def test_messages_by_the_worlds_own_account(shell: Shell) -> None:
    """Law: what is lost is told by the world, and what a dark site still holds is told apart."""
    ended = rehearse(shell, "uncontrolled", "--attest", "x")
    found = re.search(r"([\d,]+) messages lost \(([\d,]+) of them are still held by a site", ended.out)
    assert found is not None
    assert found[1] == found[2] != "0"


def test_the_real_record_is_not_touched(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: a rehearsal writes neither to the state directory nor to the shared journal, whatever happens in it."""
    monkeypatch.setenv("FAILOVER_JOURNAL", f"sqlite:///{shell.folder}/shared.sqlite")
    assert rehearse(shell, "controlled").code == 0
    assert not (shell.folder / "shared.sqlite").exists()
    assert not (shell.state / "journal.sqlite").exists()
    monkeypatch.delenv("FAILOVER_JOURNAL")
    assert shell("runs", "list").out == ""
    assert dict(shell.tally().commands) == {}


def test_hooks_are_not_told(shell: Shell) -> None:
    """Law: nobody's pager goes off: the copy has no hooks."""
    trace = shell.folder / "told"
    hook = {"name": "page", "on": ["*"], "command": ["/usr/bin/touch", str(trace)]}
    path = shell.inventory(services=[VPN])
    plain = json.loads(path.read_text())
    path.write_text(json.dumps({**plain, "hooks": [hook]}))
    assert rehearse(shell, "controlled", "-i", str(path)).code == 0
    assert not trace.exists()


def test_devices_are_not_spoken_to(shell: Shell) -> None:
    """Law: an inventory of real appliances can be rehearsed from anywhere: no secret is asked for, nobody connects."""
    path = shell.write(
        "real.yaml",
        """
sites:
  zurich:
    adapter: solace-cli
    devices: [{name: ZH1, address: 192.0.2.1}, {name: ZH2, address: 192.0.2.2}]
    login: {username: failover, password: {env: NOT_THERE}}
  geneva:
    adapter: solace-semp
    devices: [{name: GE1, address: 192.0.2.3, port: 1943}]
    login: {username: failover, password: {env: NOT_THERE}}
pairs:
  - {name: swiss, sites: [zurich, geneva], services: [Orders]}
""",
    )
    for kind, more in KINDS.items():
        assert rehearse(shell, kind, "-i", str(path), *more).code == 0


def test_nothing_is_left_behind(shell: Shell) -> None:
    """Law: its private directory is gone afterwards, also when the command was refused."""
    rehearse(shell, "controlled")
    rehearse(shell, "uncontrolled")
    assert list((shell.state / "rehearsals").iterdir()) == []


def test_what_a_killed_one_left_goes(shell: Shell) -> None:
    """Law: the directory of a rehearsal that was killed is removed by the next one; that of one that is kept stays."""
    kept = shell.state / "rehearsals" / "tmpkept"
    left = shell.state / "rehearsals" / "passing-0123"
    claims = (
        "import os, pathlib, sys; from pipeline.leavings import make; make(pathlib.Path(sys.argv[1])); os._exit(9)"
    )
    assert rehearse(shell, "controlled").code == 0
    for folder in (kept, left):
        subprocess.run([sys.executable, "-c", claims, str(folder)], cwd=Path(__file__).parents[2])
    assert sorted(kept.parent.iterdir()) == [left, kept]
    assert rehearse(shell, "controlled").code == 0
    assert list(kept.parent.iterdir()) == [kept]


def test_kept(shell: Shell) -> None:
    """Law: with --keep the record and the pair stay, and everything that reads a record can read them."""
    ended = rehearse(shell, "controlled", "--keep")
    kept = re.search(r"FAILOVER_STATE=(\S+) failover runs show", ended.out)
    assert kept is not None
    directory = Path(kept[1])
    assert directory.parent == shell.state / "rehearsals"
    tools = replace(shell.tools(), state=directory)
    assert main(["runs", "verify"], tools) == 0
    assert main(["status", "-i", str(directory / "inventory.yaml")], tools) in (0, 4)


def test_kept_beside_a_shared_journal(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law: where a journal is shared, what leads to the kept record leaves that aside, or it would show a real run."""
    monkeypatch.setenv("FAILOVER_JOURNAL", f"sqlite:///{shell.folder / 'shared.sqlite'}")
    ended = rehearse(shell, "controlled", "--keep")
    kept = re.search(r"the record is kept: (\S*) ?FAILOVER_STATE=(\S+) failover runs show", ended.out)
    assert kept is not None
    for word in kept[1].split():
        monkeypatch.setenv(*word.split("="))
    tools = replace(shell.tools(), state=Path(kept[2]))
    assert main(["runs", "show"], tools) == 0


def test_it_cannot_be_gone_on_with_otherwise(shell: Shell) -> None:
    """Law: where the record is gone that is said, and nobody is told to resume what cannot be."""
    ended = rehearse(shell, "controlled", "--xa", "stop", "--fault", "transactions: tm prepares 0021B028-0A-01")
    assert ended.code == 6
    assert (
        "  the record was deleted, so the run cannot be resumed; add --keep to rehearse a resume too"
        in ended.out.splitlines()
    )
    assert "failover resume" not in ended.out + ended.err
    assert "failover abort" not in ended.out + ended.err
    assert "record was deleted" not in rehearse(shell, "controlled").out


def test_it_can_be_gone_on_with_when_kept(shell: Shell) -> None:
    """Law: a kept rehearsal that stopped can be resumed like any other run."""
    late = "transactions: tm prepares 0021B028-0A-01"
    ended = rehearse(shell, "controlled", "--keep", "--xa", "stop", "--fault", late)
    assert ended.code == 6
    kept = re.search(r"FAILOVER_STATE=(\S+) failover", ended.out)
    assert kept is not None
    decisions = shell.write("d.yaml", "decisions:\n  - {xid: 0021B028-0A-01, choice: commit, reason: told so}\n")
    tools = replace(shell.tools(), state=Path(kept[1]))
    assert main(["resume", "--xa", str(decisions)], tools) == 0


def test_options_of_the_rehearsed_command(shell: Shell) -> None:
    """Law: every other option is the rehearsed command's own, with its own checks and its own words."""
    for words, code in (
        (("--nonsense",), 2),
        (("--on-bridge-loss", "perhaps"), 2),
        (("--dry-run",), 0),
        (("--wave", "1", "--canary", "Risk_VPN"), 0),
    ):
        assert rehearse(shell, "controlled", *words).code == code, words
    assert rehearse(shell, "uncontrolled").complaint.startswith("an operator must attest that clients are kept away")


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("controlled", "--vpn", "Nope"), "the inventory does not list 'Nope'"),
        (("controlled",), "no service is named"),
        (("controlled", "--all", "--from", "chicago"), "'chicago' is not a site of the pair trading"),
        (("controlled", "--all", "--drill", "none"), "there is no drill 'none'"),
        (("controlled", "--all", "--fault", "no: no"), "not a fault: 'no: no'"),
    ],
)
def test_mistakes(shell: Shell, words: tuple[str, ...], complaint: str) -> None:
    """Law: what cannot be used is exit code 2, and one sentence that names it."""
    ended = shell("rehearse", *words, "--fast")
    assert (ended.code, ended.complaint) == (2, complaint)


def test_an_unknown_kind(shell: Shell) -> None:
    """Law: what is no procedure is a usage error."""
    assert shell("rehearse", "sideways", "--all").code == 2


def test_the_plan_of_a_rehearsal_asks_for_no_check(shell: Shell) -> None:
    """Law: a simulated copy was never checked, and that is no news."""
    assert "never checked" not in rehearse(shell, "controlled", "--dry-run").out


def test_a_thinking_person_is_not_hurried() -> None:
    """Law: while a question is open time runs as it does outside, and is accelerated again afterwards."""
    base = VirtualClock(0.0)
    clock = ScaledClock(base, 10.0)

    class Person:
        """Thinks for half a minute."""

        def ask(self, service: str, gate: ev.GateOpened) -> ev.Ruling | None:
            base.advance(30.0)
            return None

    question = ev.GateOpened(gate="xa", step="s", choices=("stop",), unattended="stop", why="?")
    Unhurried(Person(), clock).ask("V", question)
    assert clock.now() == 30.0
    base.advance(1.0)
    assert clock.now() == 40.0


@pytest.mark.realtime
def test_at_a_terminal(make_bench: Callable[..., Bench]) -> None:
    """Law: the real screens and questions; the debriefing says what was decided by whom, and after how long."""
    bench = make_bench(vpns=(VpnLayout("V"),))
    terminal = bench.terminal(
        *("rehearse", "controlled", "--vpn", "V", "--drill", "bridge-lost", "--fast", "--seed", "3", "--yes")
    )
    terminal.until("DECISION NEEDED  V")
    terminal.until("decision> ")
    time.sleep(0.3)
    terminal.type("revert\n")
    terminal.until("reason> ")
    terminal.type("it is a rehearsal\n")
    assert terminal.end() == 5
    assert re.search(r"V: bridge-lost: revert, by ann, after \d+\.\ds", terminal.words)
    assert "0 messages lost" in terminal.words
    assert bench.here("runs", "list").out == ""


@pytest.mark.realtime
def test_in_real_time(make_bench: Callable[..., Bench]) -> None:
    """Law: without --fast it takes as long as the real thing, also with nobody there."""
    bench = make_bench(vpns=(VpnLayout("V"),))
    ended = bench.run("rehearse", "controlled", "--vpn", "V", "--seed", "3", "--json")
    assert ended.code == 0
    result = ended.result
    assert result["seconds"] > 1
