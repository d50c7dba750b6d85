"""The desk: questions to a person, one at a time, and only those that are still asked."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal, TextIO

import pytest

from orchestrator.cli.live.asking import LineAsking
from orchestrator.cli.live.pane import Pane
from orchestrator.cli.live.prompt import TerminalPrompter
from orchestrator.core.run import Lane, Run
from orchestrator.model import events as ev
from orchestrator.model.runbook import Answer
from tests.core.builders import T0, a_plan

pytestmark = pytest.mark.realtime

RUN = Run(a_plan())
APPROVAL = ev.GateOpened(
    gate="approval",
    step="",
    choices=("approve", "deny"),
    unattended="deny",
    why="the plan needs approval by another person",
    approval=ev.ApprovalSought(needed=1, plan="x", expires_at=T0 + 40),
)


def now() -> float:
    return T0


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
    asking = LineAsking(lambda yes: None, person.stdin)
    return TerminalPrompter(ev.Who("ann"), asking, Run(a_plan(), lanes={"Trading": lane}), now)


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
        ev.GateWithdrawn(gate="bridge-lost", why="the condition holds again"),
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
    told(desk, ev.GateWithdrawn(gate="bridge-lost", why="the condition holds again"))
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


SAME = ("Trading", "Orders", "Billing")


def a_desk_of_many(person: Person, gate: ev.GateOpened) -> TerminalPrompter:
    """The desk of a run in which three services ask this."""
    run = Run(a_plan(services=SAME), lanes={name: replace(Lane(name), gates=(gate,)) for name in SAME})
    return TerminalPrompter(ev.Who("ann"), LineAsking(lambda yes: None, person.stdin), run, now)


def test_the_same_question_of_many_is_put_once(person: Person, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: what three services ask in the same words is put once, with how many they are; one answer is for all."""
    gate = question("the bridge is down")
    desk = a_desk_of_many(person, gate)
    person.type("rev\n")
    person.type("it takes too long\n")
    person.type("\n")
    rulings = [desk.ask(name, gate) for name in SAME]
    assert rulings == [ev.Ruling(choice="revert", reason="it takes too long", by="ann")] * 3
    shown = capsys.readouterr().err
    assert shown.count("DECISION NEEDED  3 services (Trading, Orders, Billing): the bridge is down") == 1
    assert shown.count("DECISION NEEDED") == 1
    assert "no time limit; if this terminal closes, the run rolls back at once" in shown


@pytest.mark.parametrize(
    ("unattended", "words"),
    [("revert", "the run rolls back at once"), ("stop", "the run stops here, and `failover resume` continues it")],
)
def test_what_follows_is_no_word_of_another_question(
    person: Person, capsys: pytest.CaptureFixture[str], unattended: Answer, words: str
) -> None:
    """Law: what happens when the terminal closes is a sentence, also where it is none of the question's own answers."""
    gate = ev.GateOpened(
        gate="xa", step="xa", choices=("commit", "rollback", "stop"), unattended=unattended, why="1", item="1"
    )
    desk = a_desk(person, gate)
    person.type("stop\n")
    person.type("\n")
    assert desk.ask("Trading", gate) is not None
    assert f"no time limit; if this terminal closes, {words}" in capsys.readouterr().err


def test_a_question_about_a_failed_step_says_what_to_do(person: Person, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: the remedy of the failed step is in the question, as the choice that continues the run. A question without a
    remedy has no such line."""
    gate = ev.GateOpened(
        gate="undo-failed",
        step="demote",
        choices=("retry", "stop"),
        unattended="stop",
        why="nj is not standby",
        remedy="close nj, then run `failover resume`",
    )
    for one, lines in ((gate, ["  what to do: close nj, then choose `retry`"]), (LINK, [])):
        desk = a_desk(person, one)
        person.type(f"{one.choices[-1]}\nI looked\n")
        assert desk.ask("Trading", one) is not None
        shown = capsys.readouterr().err.splitlines()
        assert [line for line in shown if "what to do" in line] == lines


LINK = question("the bridge is down")


def limited(status: Literal["running", "committed"]) -> Run:
    """A run with 90 s, 20 s after its start, whose service asks."""
    plan = a_plan(policy=ev.Policy.model_validate({"timeout": "90s"}))
    lane = replace(Lane("Trading"), gates=(LINK,), status=status)
    return Run(plan, lanes={"Trading": lane}, began_at=T0 - 20)


@pytest.mark.parametrize(
    ("run", "gate", "terms", "later"),
    [
        (limited("running"), LINK, "answer within 70s, or the run rolls back (--timeout); if", "answer within 40s"),
        (limited("committed"), LINK, "no time limit; if this terminal closes, the run rolls back", "no time limit"),
        (
            RUN,
            APPROVAL,
            "answer within 40s, or the run is denied; if this terminal closes, the run is denied",
            "within 10s",
        ),
    ],
    ids=["a limit", "past the point of no return", "an approval"],
)
def test_a_limit_is_counted_down(run: Run, gate: ev.GateOpened, terms: str, later: str) -> None:
    """Law: where a question has a limit, it says for how long it can be answered and what follows; as time passes, the
    pane says how much is left."""
    at, pane = [T0], Pane()
    desk = TerminalPrompter(ev.Who("ann"), InPane(pane), run, lambda: at[0])
    told_to = next(iter(run.lanes), "")
    desk(ev.Record(run="run-1", seq=2, at=T0, lane=told_to, event=gate), run)
    asking = threading.Thread(target=desk.ask, args=(told_to, gate), daemon=True)  # a failed test ends too
    asking.start()
    seen(pane, terms)
    at[0] += 30
    seen(pane, later)
    desk.close()
    asking.join()


def seen(pane: Pane, text: str) -> None:
    """Returns once the pane shows it."""
    end = time.monotonic() + 60
    while not any(text in line for line in pane.shown(20)):
        assert time.monotonic() < end, pane.shown(20)


@dataclass
class InPane:
    """A pane without the table above it."""

    pane: Pane

    @contextmanager
    def shown(self) -> Iterator[None]:
        yield

    def forget_typed(self) -> None:
        """Nothing was typed."""

    def say(self, text: str) -> None:
        self.pane.say(text)

    def choices(self, meanings: Mapping[Answer, str]) -> None:
        self.pane.choices([f"{choice} {meaning}" for choice, meaning in meanings.items()], ", ".join(meanings))

    def clock(self, text: str) -> None:
        """The table would have it."""

    def terms(self, text: str) -> None:
        self.pane.terms(text)

    def prompt(self, text: str) -> None:
        self.pane.ask(text)

    def typed(self, within: float) -> tuple[bool, str | None]:
        return self.pane.typed(within)

    def leave(self, text: str) -> None:
        self.pane.close()


def test_an_answer_for_one_of_many(person: Person, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: with ``o`` the answer is for the one service; the others are asked."""
    gate = question("the bridge is down")
    desk = a_desk_of_many(person, gate)
    person.type("rev\n")
    person.type("it takes too long\n")
    person.type("o\n")
    assert desk.ask("Trading", gate) is not None
    told(desk, ev.LaneEnded(outcome=ev.Outcome.REVERTED))
    person.type("wait\n")
    person.type("\n")
    person.type("o\n")
    ruling = desk.ask("Orders", gate)
    assert ruling is not None
    assert ruling.choice == "wait"
    assert "DECISION NEEDED  2 services (Orders, Billing)" in capsys.readouterr().err


def test_a_question_about_the_site_is_put_once(person: Person, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: what the runbook asks of every service in the same words is about the site: it is put once, no matter for how
    many, and also for a service that comes to it later."""
    ask = {"gate": "fence", "text": "ny is not fenced", "choices": ["attest", "stop"], "unattended": "stop"}
    plan = a_plan({"id": "fenced", "title": "Confirm the fence", "ask": ask}, services=SAME)
    gate = ev.GateOpened(
        gate="fence", step="fenced", choices=("attest", "stop"), unattended="stop", why="ny is not fenced"
    )
    lanes = {name: replace(Lane(name), gates=(gate,) if name == "Trading" else ()) for name in SAME}
    desk = TerminalPrompter(ev.Who("ann"), LineAsking(lambda yes: None, person.stdin), Run(plan, lanes=lanes), now)
    person.type("att\n")
    person.type("cables pulled\n")
    first = desk.ask("Trading", gate)
    told(desk, gate, "Billing")
    assert desk.ask("Billing", gate) == first == ev.Ruling(choice="attest", reason="cables pulled", by="ann")
    assert capsys.readouterr().err.count("DECISION NEEDED") == 1


def test_a_question_answers_itself_while_somebody_thinks(person: Person, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: it is taken back at once, with a word."""
    desk, gate = a_desk(person), question("the bridge is down")
    told(desk, gate)
    withdrawn = ev.GateWithdrawn(gate="bridge-lost", why="the condition holds again")
    threading.Timer(0.3, told, (desk, withdrawn)).start()
    assert desk.ask("Trading", gate) is None
    assert "this question is no longer needed" in capsys.readouterr().err


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
