"""The live view: rows for one service or a thousand in any terminal, the keys, and the pane for a question."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from orchestrator.cli.live.frame import Signs
from orchestrator.cli.live.keyboard import keys_in
from orchestrator.cli.live.pane import Pane
from orchestrator.cli.live.view import View
from orchestrator.core.position import Positions
from orchestrator.core.run import Run
from orchestrator.model import events as ev
from tests.core.builders import T0, a_lane, a_plan

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
        assert any(line.startswith(f"0 of {services} done") for line in lines)


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
    view.pane.terms("  no time limit; if this terminal closes, it is rolled back, at once; 2 other questions waiting")
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
