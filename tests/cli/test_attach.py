"""`failover attach`: the view of a run that another process leads, made of its record."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

import pytest

from orchestrator.cli.render.records import question_lines
from orchestrator.core.lane import Lane
from orchestrator.core.run import Run
from orchestrator.model import events as ev
from orchestrator.operations.runs.run_document import open_questions
from simulator.solace.layout import TransactionLayout, VpnLayout
from tests.cli.processes import Bench
from tests.cli.shell import VPN, Shell
from tests.core.builders import a_plan
from tests.process_state import comes, stops

MakeBench = Callable[..., Bench]


def test_a_run_that_has_ended(shell: Shell) -> None:
    """Law: of a finished run it shows the report, and ends with the exit code of the run; with --json every event."""
    assert shell("controlled", "Risk_VPN", "--yes").code == 0
    ended = shell("attach", "last")
    assert (ended.code, "solace/controlled: ny to nj: DONE" in ended.out) == (0, True)
    events = shell("attach", "last", "--json").values
    assert events[-1]["result"]["outcome"] == "done"
    assert events[0]["event"]["kind"] == "run.created"
    assert shell("controlled", "Risk_VPN", "--yes").code == 3
    assert shell("attach", "last").code == 3


def test_no_run(shell: Shell) -> None:
    """Law: without a run there is nothing to follow."""
    assert shell("attach", VPN).code != 0


@pytest.mark.parametrize(("names", "answered"), [(("V", "W"), "wait --gate"), (("V",), "wait V --gate")])
def test_one_answer_for_all_who_ask_the_same(names: tuple[str, ...], answered: str) -> None:
    """Law: the command below a question that several services ask answers it for all of them."""
    gate = ev.GateOpened(gate="bridge-lost", step="drain", choices=("wait",), unattended="wait", why="it is down")
    run = Run(a_plan(services=names), lanes={name: Lane(name, gates=(gate,)) for name in names})
    [question, answer] = question_lines("R", list(open_questions("R", run)))
    assert answer.strip().startswith(f"failover decide {answered} bridge-lost")
    assert question == f"  OPEN QUESTION for {', '.join(names)}: it is down"


def test_an_open_question_says_what_to_do() -> None:
    """Law: a question about a failed step shows the remedy of the step, above the command that answers it."""
    gate = ev.GateOpened(
        gate="undo-failed",
        step="demote",
        choices=("retry", "stop"),
        unattended="stop",
        why="nj is not standby",
        remedy="close nj, then run `failover resume`",
    )
    run = Run(a_plan(services=("V",)), lanes={"V": Lane("V", gates=(gate,))})
    [_, remedy, answer] = question_lines("R", list(open_questions("R", run)))
    assert remedy == "    what to do: close nj, then choose `retry`"
    assert answer.strip().startswith("failover decide")


@pytest.mark.realtime
def test_a_run_under_way(make_bench: MakeBench) -> None:
    """Law: another terminal shows the rows and the open question with the command that answers it; Ctrl-Z suspends it
    and its table is drawn again afterwards; Ctrl-C detaches and the run continues; answered, both end."""
    transaction = TransactionLayout(xid="1-01-01")
    bench = make_bench(vpns=(VpnLayout("V", backlog=10, transactions=(transaction,)), VpnLayout("W", backlog=10)))
    leader = bench.terminal("controlled", "--all", "--yes")
    leader.until("DECISION NEEDED")
    follower = bench.terminal("attach", columns=160)
    follower.until("ASKS xa")
    follower.until("failover decide commit|rollback|stop V --gate xa --item 1-01-01")
    follower.type("\x1a")
    assert stops(follower.process.pid)
    assert comes(follower.echoes)  # the shell has its terminal back
    os.kill(follower.process.pid, signal.SIGCONT)
    follower.until("ASKS xa")
    assert comes(lambda: not follower.echoes())
    follower.type("\x03")
    assert follower.end() == 0
    assert "detached; the run continues; to follow it again: failover attach 2" in follower.words
    again = bench.terminal("attach", columns=160)
    again.until("OPEN QUESTION for V")
    answer = ("--gate", "xa", "--item", "1-01-01", "--reason", "the log says so")
    for names in (("W",), ("V", "W")):  # W asks nothing: the answer is not taken for V alone
        assert bench.here("decide", "commit", *names, *answer).code == 2
    assert bench.here("decide", "commit", "V", *answer).code == 0
    assert (leader.end(), again.end()) == (0, 0)
    assert "DONE after" in again.text
