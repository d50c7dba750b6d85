"""A wait says what it counts: messages, clients, seconds, and whose."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from adapters.amps.reading_models import Clients
from orchestrator.cli.live.screen import LiveScreen
from orchestrator.cli.render.screen import LANES_SHOWN, JsonScreen, PlainScreen, Screen, drain_text, wait_text
from orchestrator.core.lane import Stage
from orchestrator.core.position import Positions
from orchestrator.core.run import Run, fold
from orchestrator.model import events as ev
from orchestrator.model.runbook import Progress
from orchestrator.reports.waiting import waits_for
from orchestrator.reports.wording import left, sentence
from tests.core.builders import COMPLETE, DELETE_AT_TARGET, T0, a_lane, a_plan, a_transaction, created, listing, see

WAIT = {
    "id": "gone",
    "title": "Nobody is connected",
    "until": [{"on": "source", "reading": "clients", "where": {"gone": True}}],
    "progress": {"on": "source", "reading": "clients", "field": "count"},
}


CLOSED = {
    "id": "closed",
    "title": "Let no client in",
    "do": {"on": "source", "action": "set_client_transports", "state": "disabled"},
    "expect": [{"on": "source", "reading": "clients", "where": {"gone": True}}],
    "undo": {
        "do": {"on": "source", "action": "set_client_transports", "state": "enabled"},
        "expect": [{"on": "source", "reading": "clients", "where": {"gone": False}}],
    },
}


def a_run(*gauge: tuple[float, float], step: int = 0) -> Run:
    """A run that waits for clients to go, or is past that."""
    run = fold([ev.Record(run="R", seq=1, at=0.0, lane=None, event=created(a_plan(WAIT)))])
    return replace(run, lanes={name: replace(lane, gauge=gauge, step=step) for name, lane in run.lanes.items()})


def waiting(stage: Stage, *, services: int = 1) -> Run:
    """A run whose only step waits for something that is not so, in this stage of the step."""
    seen = (ev.Seen(on="source", reading="clients", value=Clients(count=1), asked_at=0.0),)
    step = CLOSED if stage is Stage.PROVE else WAIT
    plan = a_plan(step, services=[f"s{number}" for number in range(services)])
    run = fold([ev.Record(run="R", seq=1, at=0.0, lane=None, event=created(plan))])
    now = {"stage": stage, "mark": 1, "seen_mark": 1, "seen": seen, "status": "running"}
    return replace(run, lanes={name: replace(lane, **now) for name, lane in run.lanes.items()})  # type: ignore[arg-type]


def observed(run: Run, gauge: float | None) -> ev.Record:
    [service] = run.lanes
    return ev.Record(run="R", seq=2, at=10.0, lane=service, event=ev.Observed(mark=1, seen=(), gauge=gauge))


@pytest.mark.parametrize(
    ("family", "reading", "field", "words"),
    [
        ("solace", "replication_queue", "messages", "1,200 messages left"),
        ("amps", "clients", "count", "1,200 clients still connected"),
        ("amps", "links", "behind_s", "1,200 s behind"),
        ("amps", "queues", "owned", "1,200 queue messages still owned"),
        # Of a runbook of the operator's own, the name says whose reading it is.
        ("own", "queues", "owned", "1,200 queue messages still owned"),
        ("solace", "of_third_parties", "items", "1,200 left"),
        ("own", "of_third_parties", "items", "1,200 left"),
    ],
)
def test_what_is_counted(family: str, reading: str, field: str, words: str) -> None:
    """Law: seconds and clients are no messages."""
    assert left(Progress(on="source", reading=reading, field=field), 1200.0, family) == words


def test_what_another_family_counts() -> None:
    """Law: the number of a family that is not known may be of bytes or rows: it is no number of messages."""
    queued = Progress(on="source", reading="replication_queue", field="messages")
    assert left(queued, 108_360.0, "mariadb") == "108,360 left"
    gate = ev.GateOpened(gate="g", step="s", choices=("wait",), unattended="wait", why="why", at_risk=108_360)
    for family, words in (("mariadb", "(108,360 at risk)"), ("solace", "(108,360 messages at risk)")):
        plan = a_plan(WAIT)
        own = plan.model_copy(update={"runbook": plan.runbook.model_copy(update={"runbook": f"{family}/own"})})
        assert words in str(sentence(gate, own))


def test_a_question_in_words_says_what_to_do() -> None:
    """Law: the line of a question about a failed step has its remedy, as the choice that continues the run."""
    remedy = "close nj, then run `failover resume`"
    gate = ev.GateOpened(
        gate="undo-failed",
        step="s",
        choices=("retry", "stop"),
        unattended="stop",
        why="nj is not standby",
        remedy=remedy,
    )
    words = "decision needed: nj is not standby: retry / stop; what to do: close nj, then choose `retry`"
    assert sentence(gate, a_plan(WAIT)) == words
    assert sentence(gate.model_copy(update={"remedy": ""}), a_plan(WAIT)) == words.partition(";")[0]


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
    assert sentence(event, a_plan(WAIT)) == ("ATTENTION stalled with 4 clients still connected; there is no progress")


@pytest.mark.parametrize("screen", [LiveScreen, PlainScreen])
def test_the_reading_that_ends_the_last_wait(screen: type, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: with it the run is past its last step already, and no screen stumbles over that."""
    run = a_run(step=1)
    positions = Positions(run.plan)
    shown = LiveScreen(positions, lambda: 10.0) if screen is LiveScreen else PlainScreen(positions)
    shown(observed(run, 0.0), run)
    shown.close()
    assert "left" not in capsys.readouterr().err


def polled(shown: Screen, run: Run, *, every: float, until: float) -> None:
    """Each poll of every lane shows the same."""
    at = 0.0
    while at <= until:
        for service in run.lanes:
            event = ev.Observed(mark=1, seen=run.lanes[service].seen)
            shown(ev.Record(run="R", seq=2, at=at, lane=service, event=event), run)
        at += every


@pytest.mark.parametrize("stage", [Stage.MAIN, Stage.PROVE])
@pytest.mark.parametrize(("services", "every"), [(1, 5.0), (1, 0.5), (LANES_SHOWN + 1, 5.0)])
def test_no_wait_is_silent(stage: Stage, services: int, every: float, capsys: pytest.CaptureFixture[str]) -> None:
    """Law: a wait without a number to follow says at least every 10 s what it waits for, also of many services, and also
    while an action's effect does not show; and no more often than every 5 s."""
    run = waiting(stage, services=services)
    polled(PlainScreen(Positions(run.plan)), run, every=every, until=60.0)
    lines = [line for line in capsys.readouterr().err.splitlines() if "waiting: " in line]
    assert 6 <= len(lines) <= 12
    assert all("not gone" in line for line in lines)


def test_a_wait_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Law: each reading of a wait says in ``waits_for`` what is missing yet; other lines do not."""
    run = waiting(Stage.MAIN)
    shown = JsonScreen(Positions(run.plan))
    polled(shown, run, every=5.0, until=5.0)
    shown(ev.Record(run="R", seq=3, at=6.0, lane="s0", event=ev.StepStarted(step="gone")), run)
    told = [json.loads(line).get("waits_for") for line in capsys.readouterr().out.splitlines()]
    assert [one is not None and one.endswith("not gone") for one in told] == [True, True, False]


def test_a_wait_on_a_terminal() -> None:
    """Law: the line that is redrawn says it too, behind a number of which nothing is left, and not while some is."""
    run = waiting(Stage.MAIN)
    [(name, lane)] = run.lanes.items()
    missing = waits_for(run, name, 5.0)
    assert wait_text(run, name, 5.0) == f"waiting: {missing}"
    level = replace(run, lanes={name: replace(lane, gauge=((0.0, 3.0), (5.0, 0.0)))})
    assert wait_text(level, name, 5.0) == f"0 clients still connected; waiting: {missing}"
    behind = replace(run, lanes={name: replace(lane, gauge=((0.0, 8.0), (5.0, 3.0)))})
    assert wait_text(behind, name, 5.0).startswith("3 clients still connected, 1/s")
    assert "waiting" not in wait_text(behind, name, 5.0)


def test_what_a_lane_waits_for() -> None:
    """Law: nothing once its round is old, it has ended or it asks a person; while a goal has to hold, for how long."""
    run = waiting(Stage.MAIN)
    [(name, lane)] = run.lanes.items()
    assert waits_for(run, name, 5.0).endswith("not gone")
    for change in ({"mark": 2}, {"status": "done"}, {"step": 1}):
        assert waits_for(replace(run, lanes={name: replace(lane, **change)}), name, 5.0) == ""
    held = a_plan({**WAIT, "hold": "30s"})
    holding = replace(run, plan=held, lanes={name: replace(lane, goal_since=1.0)})
    assert waits_for(holding, name, 5.0) == "the goal must hold for 30s, and has held for 4s"


@pytest.mark.parametrize(("count", "words"), [(None, "gone unknown"), (1, ""), (0, "")])
def test_a_step_that_may_not_apply(count: int | None, words: str) -> None:
    """Law: while it is unknown whether a step applies at all, that is what the lane waits for; once known it waits no
    more."""
    run = waiting(Stage.REQUIRE)
    [(name, lane)] = run.lanes.items()
    only = {**WAIT, "only_if": [{"on": "source", "reading": "clients", "where": {"gone": True}}]}
    seen = (ev.Seen(on="source", reading="clients", value=Clients(count=count), asked_at=0.0),)
    asked = replace(run, plan=a_plan(only, services=["s0"]), lanes={name: replace(lane, seen=seen)})
    awaited = waits_for(asked, name, 5.0)
    assert awaited.endswith(words) if words else awaited == ""


def test_items_that_have_their_time_are_counted() -> None:
    """Law: a step that leaves items to the transaction manager first says how many, and for how long."""
    plan = a_plan(COMPLETE, DELETE_AT_TARGET)
    ruling = ev.Ruling(choice="commit", reason="r", by="ann")
    waits = a_lane(
        step=1, stage=Stage.MAIN, status="committed", left_at=T0, rulings={("transactions", "1-a-b"): ruling}
    )
    run = fold([ev.Record(run="R", seq=1, at=0.0, lane=None, event=created(plan))])
    [service] = run.lanes
    seen = see(waits, listing(a_transaction("1-a-b", "complete"), on="target", at=T0 + 2), at=T0 + 2)
    run = replace(run, lanes={service: seen})
    assert waits_for(run, service, T0 + 2) == "1 transaction left to the transaction manager for 3s more"
    assert waits_for(run, service, T0 + 6) == ""
