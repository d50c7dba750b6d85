"""A wait says what it counts: messages, clients, seconds, and whose."""

from __future__ import annotations

from dataclasses import replace

import pytest

from orchestrator import events as ev
from orchestrator.cli.live import LiveScreen
from orchestrator.cli.screen import PlainScreen, drain_text
from orchestrator.position import Positions
from orchestrator.reports.words import left, sentence
from orchestrator.runbook import Progress
from orchestrator.state import Run, fold
from tests.core.builders import a_plan, created

WAIT = {
    "id": "gone",
    "title": "Nobody is connected",
    "until": [{"on": "source", "reading": "clients", "where": {"gone": True}}],
    "progress": {"on": "source", "reading": "clients", "field": "count"},
}


def a_run(*gauge: tuple[float, float], step: int = 0) -> Run:
    """A run that waits for clients to go, or is past that."""
    run = fold([ev.Record(run="R", seq=1, at=0.0, lane=None, event=created(a_plan(WAIT)))])
    return replace(run, lanes={name: replace(lane, gauge=gauge, step=step) for name, lane in run.lanes.items()})


def observed(run: Run, gauge: float | None) -> ev.Record:
    [service] = run.lanes
    return ev.Record(run="R", seq=2, at=10.0, lane=service, event=ev.Observed(mark=1, seen=(), gauge=gauge))


@pytest.mark.parametrize(
    ("reading", "field", "words"),
    [
        ("replication_queue", "messages", "1,200 messages left"),
        ("clients", "count", "1,200 clients still connected"),
        ("links", "behind_s", "1,200s behind"),
        ("queues", "owned", "1,200 queue messages still owned"),
        ("of_third_parties", "items", "1,200 left"),
    ],
)
def test_what_is_counted(reading: str, field: str, words: str) -> None:
    """Law: seconds and clients are no messages."""
    assert left(Progress(on="source", reading=reading, field=field), 1200.0, "solace") == words


def test_what_another_family_counts() -> None:
    """Law: the number of a family that is not known may be of bytes or rows: it is no number of messages."""
    queued = Progress(on="source", reading="replication_queue", field="messages")
    assert left(queued, 108_360.0, "postgresql") == "108,360 left"
    gate = ev.GateOpened(gate="g", step="s", choices=("wait",), unattended="wait", why="why", at_risk=108_360)
    for family, words in (("postgresql", "(108,360 at risk)"), ("solace", "(108,360 messages at risk)")):
        plan = a_plan(WAIT)
        own = plan.model_copy(update={"runbook": plan.runbook.model_copy(update={"runbook": f"{family}/own"})})
        assert words in str(sentence(gate, own))


def test_a_wait_on_the_screen() -> None:
    """Law: number and pace while it lasts, nothing once it is over."""
    run = a_run((0.0, 8.0), (2.0, 4.0))
    [service] = run.lanes
    assert drain_text(run, service, 2.0) == "4 clients still connected, 2/s, about 2s to go"
    assert drain_text(a_run(), service, 2.0) == ""


def test_the_last_second_of_a_wait() -> None:
    """Law: what is about to end is not said to take no time."""
    run = a_run((0.0, 800.0), (2.0, 4.0))
    [service] = run.lanes
    assert drain_text(run, service, 2.0) == "4 clients still connected, 398/s, less than 1s to go"


def test_a_stalled_wait() -> None:
    """Law: the attention that it asks for names the same."""
    event = ev.Stalled(step="gone", gauge=4.0)
    assert sentence(event, a_plan(WAIT)) == (
        "ATTENTION stalled with 4 clients still connected; this is not just slow"
    )


@pytest.mark.parametrize("screen", [LiveScreen, PlainScreen])
def test_the_reading_that_ends_the_last_wait(screen: type, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: with it the run is past its last step already, and no screen stumbles over that."""
    run = a_run(step=1)
    positions = Positions(run.plan)
    shown = LiveScreen(positions, lambda: 10.0) if screen is LiveScreen else PlainScreen(positions)
    shown(observed(run, 0.0), run)
    shown.close()
    assert "left" not in capsys.readouterr().err
