"""A person at a terminal: the plan and its one question, decisions, interruptions, and how it all looks."""

from __future__ import annotations

import re
import time
from collections.abc import Callable

import pytest

from simulator.solace.faults import parse_faults
from simulator.solace.layout import TransactionLayout, VpnLayout
from tests.cli.processes import Bench, Terminal
from tests.process_state import is_stopped

pytestmark = pytest.mark.realtime

MOVE = ("controlled", "--vpn", "V")
HASTY = ("--yes", "--runbook", "hasty.yaml")


MakeBench = Callable[..., Bench]


@pytest.fixture
def bench(make_bench: MakeBench) -> Bench:
    return make_bench(vpns=(VpnLayout("V", publish_rate=50, drain_rate=600, backlog=300),))


def confirm(terminal: Terminal, answer: str) -> str:
    """Answers the one question; returns what was shown before it."""
    shown = terminal.until("SIMULATED  Move V from ny to nj now? [y/N, d for details]: ")
    # Python loses a Ctrl-C between showing a prompt and reading the answer; people are slower than that.
    time.sleep(0.2)
    terminal.type(answer)
    return shown


def test_asked_once(bench: Bench) -> None:
    """Law: with a terminal and without --yes the plan is shown in at most twelve lines, in full with ``d``, asked once,
    and done."""
    terminal = bench.terminal(*MOVE)
    plan = confirm(terminal, "d\n")
    lines = plan.splitlines()
    assert lines[0] == "SIMULATED  connecting to NY_Appliance1, NJ_Appliance1"
    assert lines[1] == "SIMULATED  Planned move of 1 service: ny to nj"
    assert 8 <= len(lines) <= 13
    assert "  cannot be undone: from step 7 of 9 on: Activate the target" in lines
    assert lines[-1] == "  Every check that is possible now passes."
    assert "SEND      NJ_Appliance1> replication state active" in confirm(terminal, "y\n")
    assert terminal.end() == 0
    assert terminal.text.count("now? [y/N") == 2
    assert "ny to nj: DONE after" in terminal.words
    assert bench.roles() == ("standby", "active")


def test_a_forced_move_asks_for_the_site(bench: Bench) -> None:
    """Law: a fail-over of a lost site, and a start without the approval of others, take the name of the site; ``y`` is
    no answer to that."""
    glass = bench.terminal(*MOVE, "--approve-by", "1", "--break-glass", "no approver can be reached")
    asked = glass.until("SIMULATED  Move V from ny to nj now? [type ny to confirm, d for details]: ")
    assert "  approval: WITHOUT the approval of 1 other person, because you gave --break-glass" in asked
    time.sleep(0.2)
    glass.type("y\n")
    assert glass.end() == 3
    world = bench.world()
    world.inject(parse_faults(["at 0s: node ny/NY_Appliance1 down 10m"]))
    world.save()
    for typed, code in (("y\n", 3), ("ny\n", 0)):
        terminal = bench.terminal("uncontrolled", "V", "--site", "ny", "--attest", "cables pulled")
        shown = terminal.until("now? [type ny to confirm, d for details]: ")
        assert "FAIL OVER 1 service: ny is lost, nj takes over" in shown
        time.sleep(0.2)
        terminal.type(typed)
        assert terminal.end() == code


def test_what_is_asked_is_what_happens(bench: Bench) -> None:
    """Law: the question names what the command does; a restore moves nothing from the site that it brings back."""
    assert bench.here("controlled", "-i", str(bench.inventory), "--vpn", "V", "--yes").code == 0
    terminal = bench.terminal("restore", "--vpn", "V", "--site", "ny")
    terminal.until("SIMULATED  Bring ny back as the mate of nj for V now? [y/N, d for details]: ")
    terminal.type("n\n")
    assert terminal.end() == 3


@pytest.mark.parametrize("answer", ["n\n", "\n", "\x03", "\x04"])
def test_not_started(bench: Bench, answer: str) -> None:
    """Law: no, Enter, Ctrl-C and Ctrl-D all mean no: exit code 3, nothing changed, nothing recorded."""
    terminal = bench.terminal(*MOVE, "--fault", "demote: refuse")
    confirm(terminal, answer)
    assert terminal.end() == 3
    assert terminal.text.rstrip().endswith("not started; nothing was changed")
    assert bench.roles() == ("active", "standby")
    assert bench.here("runs", "list").out == ""
    assert bench.here("controlled", "-i", str(bench.inventory), "--vpn", "V", "--yes").code == 0  # no fault was given


def test_what_is_left_out_is_named(bench: Bench) -> None:
    """Law: a step that is left out shows with number and title, as one that is done does."""
    assert bench.here("controlled", "-i", str(bench.inventory), "--vpn", "V", "--yes").code == 0
    terminal = bench.terminal("restore", "--vpn", "V", "--site", "ny", "--yes")
    assert terminal.end() == 0
    title = "[6/10] Let clients and the replication bridge reach the restored site"
    assert f"{title}: left out: ny: open" in terminal.words


def test_what_cannot_begin_is_not_asked(bench: Bench) -> None:
    """Law: a service that belongs to an unfinished run, or stands as it must not, is said to do so, with what to do;
    nobody is asked whether to move it. Nothing is recorded of it."""
    assert bench.here("controlled", "-i", str(bench.inventory), "--vpn", "V", "--yes").code == 0
    [moved] = bench.here("runs", "list").out.splitlines()
    terminal = bench.terminal(*MOVE, "--from", "ny")
    assert terminal.end() == 3
    assert "A new run would refuse: V V: WOULD REFUSE: ny: the source is not active" in terminal.words
    assert "what to do: Nothing was changed. nj is active already. To make ny active, run:" in terminal.words
    assert terminal.text.rstrip().endswith("not started; nothing was changed")
    assert "[y/N" not in terminal.text
    assert bench.here("runs", "list").out.splitlines() == [moved]


def test_what_is_locked_out_is_not_asked(bench: Bench) -> None:
    """Law: the same beside an unfinished run: exit code 8, and its name with the ways on."""
    paused = bench.terminal(*MOVE, *HASTY, "--fault", "drain: bridge down")
    paused.until("DECISION NEEDED")
    [run] = [word for word in bench.here("runs", "list").out.split() if word.startswith("20")][:1]
    terminal = bench.terminal(*MOVE, "--from", "ny")
    assert terminal.end() == 8
    assert f"V belongs to run {run}, which has not finished" in terminal.words
    assert f"failover abort {run}" in terminal.words
    assert "[y/N" not in terminal.text
    paused.type("\x03")
    paused.type("\x03")


@pytest.mark.parametrize("term", ["xterm", "dumb"])
def test_transactions_are_asked_about(make_bench: MakeBench, term: str) -> None:
    """Law: on a terminal each prepared transaction is asked about, also on one that cannot redraw; what is no answer is
    asked again."""
    transactions = tuple(TransactionLayout(xid=f"1-0{number}-01") for number in (1, 2))
    bench = make_bench(vpns=(VpnLayout("V", backlog=10, transactions=transactions),), environment={"TERM": term})
    terminal = bench.terminal(*MOVE, *HASTY)
    terminal.until("DECISION NEEDED  V: 1-01-01 at ny: type xa, state prepared")
    terminal.until("decision> ")
    terminal.type("perhaps\n")
    terminal.until("please answer with one of: commit, rollback, stop")
    terminal.type("com\n")
    terminal.until("reason> ")
    terminal.type("\n")
    terminal.until("commit needs a reason, because the reason is recorded")
    terminal.type("the log says so\n")
    terminal.until("DECISION NEEDED  V: 1-02-01 at ny")
    terminal.until("decision> ")
    terminal.type("rollback\n")
    terminal.until("reason> ")
    terminal.type("order cancelled\n")
    assert terminal.end() == 0
    assert re.search(r"decided on xa 1-02-01: rollback, by \w+( after \d+s)? \(order cancelled\)", terminal.words)


def test_a_question_takes_nothing_off_the_screen(make_bench: MakeBench) -> None:
    """Law: what another service did while somebody was asked is shown afterwards, every line of it, and stays."""
    bench = make_bench(vpns=(VpnLayout("V", transactions=(TransactionLayout(xid="1-01-01"),)), VpnLayout("W")))
    terminal = bench.terminal("controlled", "--all", "--yes")
    terminal.until("decision> ")
    while '"service":"W","status":"done"' not in bench.here("runs", "show", "--json").out:
        time.sleep(0.1)
    terminal.type("commit\n")
    terminal.until("reason> ")
    terminal.type("the log says so\n")
    assert terminal.end() == 0
    assert "· W  ended: done" in terminal.lines
    assert [line for line in terminal.text.splitlines() if line.startswith("✓")] == [
        line for line in terminal.lines if line.startswith("✓")
    ]


def test_the_clock_of_an_outage(bench: Bench) -> None:
    """Law: while a queue drains the screen says for how long no site has been active, and the clock runs."""
    terminal = bench.terminal(*MOVE, "--yes", "--fault", "drain: slow 100x")
    terminal.until("NO SITE ACTIVE for 1s")
    terminal.until("NO SITE ACTIVE for 2s")
    terminal.type("\x03")
    assert terminal.end() == 6
    assert "NO SITE IS ACTIVE since" in terminal.text


def test_ctrl_z_does_not_suspend_a_run(bench: Bench) -> None:
    """Law: Ctrl-Z leaves no service where it is: the run continues, and the screen says what to press."""
    terminal = bench.terminal(*MOVE, "--yes", "--fault", "drain: slow 100x")
    terminal.until("NO SITE ACTIVE for ")
    terminal.type("\x1a")
    terminal.until("Ctrl-Z does not suspend a run")
    terminal.until("NO SITE ACTIVE for ")
    assert not is_stopped(terminal.process.pid)
    terminal.type("\x03")
    assert terminal.end() == 6


def test_a_question_answered_from_elsewhere(bench: Bench) -> None:
    """Law: `decide` from another process answers the question that waits at the terminal, which is withdrawn. What
    `runs show` says meanwhile is for a run that is led: its answer is for the one service that it stands under, and
    nobody is sent to `resume`, which would be locked out."""
    terminal = bench.terminal(*MOVE, *HASTY, "--fault", "drain: bridge down")
    terminal.until("DECISION NEEDED")
    terminal.until("NO SITE ACTIVE for ")
    terminal.until("at risk: ")
    terminal.until("decision> ")
    shown = bench.here("runs", "show").out
    assert "OPEN QUESTION for V: nj: the replication bridge was lost" in shown
    [answer] = [line.strip() for line in shown.splitlines() if line.startswith("    failover decide ")]
    assert answer.startswith("failover decide wait|revert|escalate V --gate bridge-lost --run 2")
    assert (
        "what to do: The run is in progress: wait, and answer its questions. Or ask the run to make ny active again"
        in shown
    )
    assert "failover resume" not in shown
    no_answer = bench.here("decide", "panic", "--gate", "bridge-lost", "--reason", "r")
    assert (no_answer.code, no_answer.hint) == (2, "one of: wait, revert, escalate")
    told = bench.here("decide", "revert", "--gate", "bridge-lost", "--reason", "the link is gone")
    assert (told.code, "sent to the process that leads the run: revert for V" in told.out) == (0, True)
    assert terminal.end() == 5
    assert "ann has answered: revert (the link is gone)" in terminal.words
    assert re.search(r"decided on bridge-lost: revert, by ann( after \d+s)? \(the link is gone\); ", terminal.words)
    assert bench.roles() == ("active", "standby")


def test_what_was_typed_before_the_question(make_bench: MakeBench) -> None:
    """Law: keys that were hit before a question was put do not answer it."""
    transaction = TransactionLayout(xid="1-01-01")
    bench = make_bench(vpns=(VpnLayout("V", drain_rate=400, backlog=600, transactions=(transaction,)),))
    terminal = bench.terminal(*MOVE, *HASTY)
    terminal.until("messages left")
    terminal.type("rollback\nno reason\n")
    terminal.until("decision> ")
    terminal.type("commit\n")
    terminal.until("reason> ")
    terminal.type("the log says so\n")
    assert terminal.end() == 0
    assert re.search(r"decided on xa 1-01-01: commit, by \w+( after \d+s)? \(the log says so\)", terminal.words)


def test_interrupted_while_asking(make_bench: MakeBench) -> None:
    """Law: Ctrl-C at a question pauses the run; resume asks the question again, and goes on."""
    bench = make_bench(vpns=(VpnLayout("V", transactions=(TransactionLayout(xid="1-01-01"),)),))
    terminal = bench.terminal(*MOVE, *HASTY)
    terminal.until("decision> ")
    terminal.type("\x03")
    assert terminal.end() == 6
    # It stays: what is drawn afterwards does not erase it.
    assert any(line.startswith("SIGINT: stopping at the next safe point") for line in terminal.lines)
    assert "PAUSED after" in terminal.text
    again = bench.terminal("resume")
    again.until("decision> ")
    again.type("commit\n")
    again.until("reason> ")
    again.type("it is logged\n")
    assert again.end() == 0


def test_the_line_breaks(make_bench: MakeBench) -> None:
    """Law: when the terminal goes away the run continues, unattended: what it asks then is decided as where no operator
    is, here by rolling back."""
    transaction = TransactionLayout(xid="1-01-01")
    plain = VpnLayout("Plain", backlog=600, drain_rate=600)
    bench = make_bench(vpns=(VpnLayout("V", transactions=(transaction,)), plain))
    terminal = bench.terminal("controlled", "--all", "--yes")
    terminal.until("decision> ")
    assert terminal.hang_up() == 5
    kinds = [event["kind"] for event in bench.exported()]
    assert (kinds[-1], kinds.count("observer.failed") <= 1, "gate.decided" in kinds) == ("run.finished", True, True)
    assert bench.roles("V") == ("active", "standby")
    assert bench.roles("Plain") == ("standby", "active")


@pytest.mark.parametrize("command", ["status", "check"])
def test_names_are_whole_on_a_narrow_screen(make_bench: MakeBench, command: str) -> None:
    """Law: two services are told apart at any width: a name that does not fit goes on in the next line."""
    names = ("Settlement_London_1", "Settlement_London_2")
    bench = make_bench(vpns=tuple(VpnLayout(name) for name in names))
    terminal = bench.terminal(command, columns=44)
    terminal.end()
    table = [line.split("  ")[0].split(" ")[0] for line in terminal.text.splitlines()]
    assert [name for name in names if name not in "".join(table)] == []


@pytest.mark.parametrize("columns", [80, 160])
def test_nothing_is_cut_in_the_middle_of_a_word(bench: Bench, columns: int) -> None:
    """Law: at any width lines are broken at blanks, and what is redrawn stays on one line."""
    terminal = bench.terminal(*MOVE, *HASTY, columns=columns)
    assert terminal.end() == 0
    lines = terminal.text.splitlines()
    assert max(len(line) for line in lines) <= columns
    for title in (
        "Drain the replication queue of the source",
        "Delete leftover completed transactions at the target",
    ):
        assert title in terminal.words
    # Bars are redrawn in place; the account of the run stays.
    assert "messages left" in terminal.text


def test_colours_are_asked_not_to_be(bench: Bench) -> None:
    """Law: with NO_COLOR nothing is coloured; bold and dim are no colours."""
    bench.environment = {"NO_COLOR": "1"}
    terminal = bench.terminal(*MOVE, *HASTY)
    assert terminal.end() == 0
    styles = {part for codes in re.findall(r"\x1b\[([0-9;]*)m", terminal.raw) for part in codes.split(";")}
    assert styles <= {"", "0", "1", "2", "22"}


@pytest.mark.parametrize(
    "variables", [{"LC_ALL": "C"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"}]
)
def test_a_terminal_without_utf8(bench: Bench, variables: dict[str, str]) -> None:
    """Law: where an encoding lacks our signs the run goes on with others, to the same end."""
    bench.environment = variables
    terminal = bench.terminal(*MOVE, *HASTY)
    assert terminal.end() == 0
    assert "DONE after" in terminal.text
    assert "Traceback" not in terminal.text
    if "PYTHONIOENCODING" in variables:
        assert terminal.raw.isascii()
