"""The desk: questions to a person, one at a time, and only those that are still asked."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TextIO

import pytest

from orchestrator.cli.render.prompt import TerminalPrompter
from orchestrator.core.run import Lane, Run
from orchestrator.model import events as ev
from tests.core.builders import T0, a_plan

pytestmark = pytest.mark.realtime

RUN = Run(a_plan())


def question(why: str, gate: str = "bridge-lost") -> ev.GateOpened:
    return ev.GateOpened(gate=gate, step="drain", choices=("wait", "revert"), unattended="revert", why=why)


def told(desk: TerminalPrompter, event: ev.Event, lane: str = "Trading") -> None:
    desk(ev.Record(run="run-1", seq=2, at=T0, lane=lane, event=event), RUN)


@dataclass
class Person:
    """Types at a desk."""

    stdin: TextIO
    typed: int

    def type(self, text: str) -> None:
        os.write(self.typed, text.encode())

    def type_in(self, seconds: float, text: str) -> None:
        threading.Timer(seconds, self.type, (text,)).start()


@pytest.fixture
def person() -> Iterator[Person]:
    reader, writer = os.pipe()
    with os.fdopen(reader) as stdin:
        yield Person(stdin, writer)
    os.close(writer)


def a_desk(person: Person, *gates: ev.GateOpened) -> TerminalPrompter:
    """The desk of a process that goes on with a run in which these questions are open."""
    lane = replace(Lane("Trading"), gates=gates)
    return TerminalPrompter(
        ev.Who("ann"), lambda yes: None, Run(a_plan(), lanes={"Trading": lane}), stdin=person.stdin
    )


def test_a_question_is_answered(person: Person, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: the choice and its reason are the person's, by name."""
    desk, gate = a_desk(person), question("the bridge is down")
    told(desk, gate)
    person.type("rev\n")
    person.type_in(0.3, "it takes too long\n")
    assert desk.ask("Trading", gate) == ev.Ruling(choice="revert", reason="it takes too long", by="ann")
    assert "DECISION NEEDED  Trading: the bridge is down" in capsys.readouterr().err


@pytest.mark.parametrize(
    "meanwhile",
    [
        ev.GateWithdrawn(gate="bridge-lost", why="it holds again"),
        ev.GateDecided(gate="bridge-lost", step="drain", ruling=ev.Ruling(choice="wait", reason="r", by="bob")),
        ev.LaneEnded(outcome=ev.Outcome.REVERTED),
    ],
    ids=lambda event: event.kind,
)
def test_a_question_that_had_to_wait_may_be_moot(
    person: Person, capsys: pytest.CaptureFixture[str], meanwhile: ev.Event
) -> None:
    """Law: what answered itself while another question was put is not asked any more, and holds up no other."""
    desk, gate = a_desk(person), question("the bridge is down")
    told(desk, gate)
    told(desk, meanwhile)
    person.type("revert\n")
    assert desk.ask("Trading", gate) is None
    assert capsys.readouterr().err == ""


def test_a_question_that_became_another_one_is_not_asked(person: Person, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: the same gate, opened anew for another reason, is another question: an answer is to what was read."""
    desk, first, second = a_desk(person), question("the bridge is down"), question("the bridge is down again")
    told(desk, first)
    told(desk, ev.GateWithdrawn(gate="bridge-lost", why="it holds again"))
    told(desk, second)
    person.type("revert\n")
    assert desk.ask("Trading", first) is None
    assert capsys.readouterr().err == ""


def test_a_question_of_an_earlier_process_is_asked(person: Person) -> None:
    """Law: one that was open when a run was gone on with is put though nobody saw it opened here."""
    person.type("wait\n")
    person.type_in(0.3, "\n")
    gate = question("the bridge is down")
    ruling = a_desk(person, gate).ask("Trading", gate)
    assert ruling is not None
    assert ruling.choice == "wait"


def test_a_question_answers_itself_while_somebody_thinks(person: Person, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: it is taken back at once, with a word."""
    desk, gate = a_desk(person), question("the bridge is down")
    told(desk, gate)
    withdrawn = ev.GateWithdrawn(gate="bridge-lost", why="it holds again")
    threading.Timer(0.3, told, (desk, withdrawn)).start()
    assert desk.ask("Trading", gate) is None
    assert "this question has answered itself" in capsys.readouterr().err


def test_the_end_of_a_run_takes_its_question_off_the_screen(
    person: Person, capsys: pytest.CaptureFixture[str]
) -> None:
    """Law: a run that ends at once after an answer from elsewhere has shown whose answer it was before its report."""
    desk, gate = a_desk(person), question("the bridge is down")
    told(desk, gate)
    asking = threading.Thread(target=desk.ask, args=("Trading", gate))
    asking.start()
    shown = ""
    while "decision> " not in shown:
        shown += capsys.readouterr().err
    ruling = ev.Ruling(choice="revert", reason="the link is gone", by="bob")
    told(desk, ev.GateDecided(gate="bridge-lost", step="drain", ruling=ruling))
    desk.close()
    assert "bob has answered: revert (the link is gone)" in capsys.readouterr().err
    asking.join()


def test_a_pause_leaves_the_question_open(person: Person, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: a question without an answer says at the end that it stays open; the next one is not asked here."""
    desk, gate, other = a_desk(person), question("the bridge is down"), question("it is in doubt", "doubt")
    told(desk, gate)
    told(desk, other)
    asking = threading.Thread(target=desk.ask, args=("Trading", gate))
    asking.start()
    shown = ""
    while "decision> " not in shown:
        shown += capsys.readouterr().err
    desk.close()
    assert "this question stays open; `failover resume` asks it again" in capsys.readouterr().err
    asking.join()
    assert desk.ask("Trading", other) is None
    assert capsys.readouterr().err == ""
