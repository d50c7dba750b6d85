"""The live view: rows for one service or a thousand in any terminal, the keys, and the pane for a question."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from orchestrator.cli.live.frame import Signs
from orchestrator.cli.live.keyboard import keys_in
from orchestrator.cli.live.pane import Pane
from orchestrator.cli.live.screen import LiveScreen
from orchestrator.cli.live.view import View
from orchestrator.core.position import Positions
from orchestrator.core.run import Run
from orchestrator.model import events as ev
from orchestrator.model.readings import Role
from tests.core.builders import T0, a_lane, a_plan, role

GATE = ev.GateOpened(gate="bridge-lost", step="drain", choices=("wait",), unattended="wait", why="the bridge is down")


def draining(services: int) -> Run:
    names = tuple(f"V{number:03}" for number in range(services))
    plan = a_plan(services=names)
    step = plan.runbook.index_of("drain")
    lane = a_lane(step=step, gauge=((T0 - 1, 400.0), (T0, 300.0)))
    return Run(plan, lanes={name: replace(lane, service=name) for name in names})


def a_view(run: Run) -> View:
    full = dict.fromkeys(run.lanes, 400.0)
    return View(Positions(run.plan), 30.0, Signs(), Pane(), title="run R: ny to nj", full=full)


def text(view: View, run: Run, width: int = 80, height: int = 24) -> list[str]:
    frame = view.picture(run, T0, width, height)
    return ["".join(part for part, _ in line)[:width] for line in frame.lines]


@pytest.mark.parametrize("services", [1, 24, 1_000])
@pytest.mark.parametrize(("width", "height"), [(80, 24), (200, 50), (40, 10)])
def test_it_fits(services: int, width: int, height: int) -> None:
    """Law: the picture has at most as many lines as the terminal, its totals among them, however many services."""
    run = draining(services)
    lines = text(a_view(run), run, width, height)
    assert len(lines) <= height
    assert max(len(line) for line in lines) <= width
    if services > 1:
        assert any(line.startswith(f"0 of {services:,} done") for line in lines)


def test_the_first_picture_says_which_rows_it_has() -> None:
    """Law: the line of keys is about the rows above it, from the first picture on."""
    run = draining(24)
    view = a_view(run)
    view.has_keys = True
    first = text(view, run)
    shown = [line.split()[0] for line in first if line.startswith("V0")]
    assert first[-1].startswith(f"1-{len(shown)} of 24  / filter") and len(first) == 24
    assert text(view, run) == first


def test_a_row() -> None:
    """Law: a row has step, queue, rate, time left and state."""
    run = draining(1)
    [row] = [line for line in text(a_view(run), run) if line.startswith("V000")]
    assert [word for word in ("3/", "300", "100/s", "3s", "draining") if word not in row] == []


def test_what_needs_an_operator_is_first() -> None:
    """Law: a service that asks is above all others, wherever it is in the plan; ``s`` sorts otherwise."""
    run = draining(50)
    run.lanes["V049"] = replace(run.lanes["V049"], gates=(GATE,))
    view = a_view(run)
    assert text(view, run)[2].startswith("V049")
    assert "ASKS bridge-lost" in text(view, run)[2]
    for _ in range(4):
        view.press("s")
    assert text(view, run)[2].startswith("V000")


def test_keys_filter_scroll_and_open() -> None:
    """Law: / keeps the rows with a text, arrows select and scroll, Enter opens the selected one, Esc goes back."""
    run = draining(100)
    view = a_view(run)
    text(view, run)
    for key in "/v09":
        view.press(key)
    view.press("enter")
    assert [line.split()[0] for line in text(view, run) if line.startswith("V")] == [f"V09{n}" for n in range(10)]
    view.press("escape")
    text(view, run)
    view.press("end")
    assert any(line.startswith("V099") for line in text(view, run))
    view.press("enter")
    opened = text(view, run)
    assert opened[1].startswith("V099: running")
    assert "300 left, 100/s" in " ".join(" ".join(opened).split())
    view.press("escape")
    assert text(view, run)[1].startswith("service")


def test_keys_as_a_terminal_sends_them() -> None:
    """Law: arrows are keys of their own, Esc alone too, and an unknown sequence is nothing."""
    assert keys_in("a\x1b[A\x1b[6~\x1b\r\x7f") == ["a", "up", "page-down", "escape", "enter", "erase"]
    assert keys_in("\x1b[1;5Cx\x1b[Zy") == ["x", "y"]


def test_a_question_in_the_pane() -> None:
    """Law: it is below the rows, which stay; what is typed is shown, and Enter hands it over."""
    run = draining(24)
    view = a_view(run)
    view.pane.say("  DECISION NEEDED  V003: the bridge is down")
    view.pane.ask("  decision> ")
    for key in ("w", "a", "x", "x", "erase", "erase"):
        view.pane.press(key)
    lines = text(view, run)
    assert "  decision> wa" in lines
    assert lines.index("  DECISION NEEDED  V003: the bridge is down") > 3
    view.pane.press("enter")
    assert view.pane.typed(0.0) == (True, "wa")
    view.pane.close()
    view.pane.press("lost")
    assert view.pane.typed(0.0) == (True, None)


def test_names_that_start_alike_stay_different() -> None:
    """Law: a name that is too wide is cut where it stays another one than its neighbours'; state and outage are there
    however narrow the terminal is."""
    names = [f"Settlement_EMEA_{number:02}_Production" for number in range(5)]
    lanes = {name: a_lane(service=name, gates=(GATE,)) for name in names}
    run = Run(a_plan(services=tuple(names)), lanes=lanes)
    for width in (40, 80, 120):
        rows = [line for line in text(a_view(run), run, width) if "ASKS" in line]
        assert len({line.split()[0] for line in rows}) == len(names), (width, rows)
    assert [line.split()[0] for line in rows] == names


def test_wide_characters_take_two_cells() -> None:
    """Law: columns stay in line and no line is wider than the terminal, also with names in another script."""
    names = ("決済サービス東京", "Orders")
    run = Run(a_plan(services=names), lanes={name: a_lane(service=name, gates=(GATE,)) for name in names})
    view = a_view(run)
    view.pane.say("  DECISION NEEDED  " + "決済サービス東京 " * 20)
    view.pane.ask("  decision> ")
    lines = text(view, run, 60)
    assert max(cell_len(line) for line in lines) <= 60
    states = [cell_len(line.partition("ASKS")[0]) for line in lines if "ASKS" in line]
    assert len(states) == 2 and len(set(states)) == 1


@pytest.mark.parametrize(("width", "height"), [(40, 10), (40, 7), (80, 24)])
def test_what_is_typed_is_seen_on_any_terminal(width: int, height: int) -> None:
    """Law: with a question open, its first line, the end of what is typed, the keys and a row fit, however long the
    question and the answer are."""
    run = draining(24)
    view = a_view(run)
    view.has_keys = True
    view.pane.say("  DECISION NEEDED  V003: the bridge is down " + "for a reason of many words " * 9)
    for number in range(5):
        view.pane.say(f"    answer{number}  what it does, in some words")
    view.pane.terms("  no time limit; if this terminal closes, the run rolls back at once; 2 other questions waiting")
    view.pane.ask("  reason> ")
    for key in "x" * 400 + "the end":
        view.pane.press(key)
    lines = text(view, run, width, height)
    assert len(lines) == height
    assert lines[-1].startswith("type the answer") and lines[-2].endswith("the end")
    assert any("DECISION NEEDED" in line for line in lines)
    assert any(line.startswith("V0") for line in lines)
    if height == 24:
        assert [line.split()[0] for line in lines if "what it does" in line] == [f"answer{n}" for n in range(5)]


def a_question(view: View) -> None:
    view.pane.say("  DECISION NEEDED  V003: the bridge is down " + "for a reason of many words " * 3)
    answers = {name: f"    {name}  what it does, in so many words that they take two lines" for name in ANSWERS}
    view.pane.choices(list(answers.values()), f"  answers: {', '.join(ANSWERS)}")
    view.pane.terms("  no time limit; if this terminal closes, the run rolls back at once")
    view.pane.ask("  decision> ")


ANSWERS = ("wait", "revert", "escalate")


@pytest.mark.parametrize(("width", "height"), [(60, 15), (60, 12), (80, 24), (200, 50)])
def test_every_answer_is_seen_on_any_terminal(width: int, height: int) -> None:
    """Law: no answer is shown without the others, however low the terminal is: an operator would take the one that is
    left for the only one."""
    run = draining(24)
    view = a_view(run)
    view.has_keys = True
    a_question(view)
    shown = "\n".join(text(view, run, width, height))
    assert [name for name in ANSWERS if name not in shown] == []


def test_what_comes_next_is_seen_on_a_narrow_terminal() -> None:
    """Law: until when a service recovers by itself before an operator is asked stands first in its state, so that 80
    columns have it."""
    run = draining(2)
    run.lanes["V000"] = replace(run.lanes["V000"], guard_broke_at=T0 - 3)
    row = text(a_view(run), run)[2]
    assert row.startswith("V000") and "asks in 57s, INTERRUPTED" in row


def test_a_drain_that_does_not_move_is_not_called_draining() -> None:
    """Law: a number that has not fallen for long is said so, with when an operator is asked, and is first."""
    run = draining(3)
    run.lanes["V002"] = replace(run.lanes["V002"], gauge=((T0 - 30, 300.0), (T0, 300.0)), moved_at=T0 - 30)
    for name in ("V000", "V001"):
        run.lanes[name] = replace(run.lanes[name], moved_at=T0)
    lines = text(a_view(run), run, 200)
    assert lines[2].startswith("V002") and "asks in 90s, no progress for 30s" in lines[2]
    assert any(line.startswith("▸ V002") and "no progress for 30s" in line for line in lines)
    assert "1 in trouble, 2 running" in "\n".join(lines)


def test_what_was_rolled_back_is_not_in_trouble() -> None:
    """Law: a service that ended otherwise than done needs nothing, and is counted as that. Numbers have their commas."""
    run = draining(1_002)
    for name in list(run.lanes)[:2]:
        run.lanes[name] = replace(run.lanes[name], outcome=ev.Outcome.REVERTED)
    assert "0 of 1,002 done, 2 ended otherwise, 1,000 running" in "\n".join(text(a_view(run), run, 200))


def test_the_clocks_of_a_picture_agree() -> None:
    """Law: a row and the line of the outage below the rows say the same seconds."""
    run = draining(2)
    view = a_view(run)
    standby = (role("source", Role.STANDBY, T0 - 112.7), role("target", Role.STANDBY, T0 - 112.7))
    event = ev.Observed(mark=1, seen=standby)
    view.positions.take(ev.Record(run="R", seq=1, at=T0 - 112.6, lane="V000", event=event))
    lines = text(view, run)
    [row] = [line for line in lines if line.startswith("V000")]
    assert "1m52s" in row and "NO SITE ACTIVE for 1m52s (1 of 2 services)" in lines


def test_what_many_report_in_the_same_words_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Law: of many services, the same words are one line; the table has each of them. Later they are news again."""
    run = draining(24)
    screen = LiveScreen(Positions(run.plan), lambda: T0)
    broke = ev.GuardBroke(step="drain", why="nj: the bridge is down")
    for number, (at, name) in enumerate([*((T0, name) for name in run.lanes), (T0 + 60, "V007")]):
        screen(ev.Record(run="R", seq=number, at=at, lane=name, event=broke), run)
    screen.close()
    told = [line for line in capsys.readouterr().err.splitlines() if "the bridge is down" in line]
    assert [line.split()[1] for line in told] == ["V000", "V007"]
