"""What runs of the past owe: found, delivered where it can be, and never tried longer than it makes sense."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clock import SystemClock, VirtualClock
from orchestrator.errors import Unreachable
from orchestrator.journal.journal import Journal
from orchestrator.journal.outbox import Outbox
from orchestrator.model import events as ev
from orchestrator.notifications.backlog import Flushed, Owed, drop, flush, owed
from orchestrator.notifications.webhook import Poster
from tests.hooks.hooking import Scripted, a_hook, a_webhook, always, an_office, plan_with, record

HOOK = a_webhook("web", on=["step.done"])


@pytest.fixture
def runs(journal: Journal, clock: VirtualClock) -> None:
    """Three runs that each owe two events to the same hook; nobody leads them."""
    for name in ("one", "two", "three"):
        plan = plan_with(HOOK, a_webhook("never", on=["lane.escalated"])).model_copy(update={"services": (name,)})
        recorded = record(journal, clock, plan, name)
        recorded.add(ev.StepDone(step="a"), ev.StepDone(step="b"), lane=name)
        recorded.lease.release()
        clock.advance(1)


def nobody(run: str) -> bool:
    return False


def flushed(path: Path, clock: VirtualClock, outbox: Outbox, poster: Poster, **more: Any) -> list[Flushed]:
    office = an_office(path, clock, poster=poster)
    return list(flush(office, outbox, **{"skip": nobody, "may_go_on": always, **more}))


def told(poster: Scripted) -> list[tuple[str, str]]:
    events = [json.loads(body)["data"] for _, body, _ in poster.posts]
    return [(event["run"], event["event"]["step"]) for event in events]


def test_what_is_owed(runs: None, outbox: Outbox) -> None:
    """Law: only events that a hook wants are owed to it, the oldest run first."""
    assert list(owed(outbox)) == [Owed(name, "web", 2, "") for name in ("one", "two", "three")]
    assert list(owed(outbox, "two")) == [Owed("two", "web", 2, "")]


def test_everything_is_delivered_once(runs: None, path: Path, clock: VirtualClock, outbox: Outbox) -> None:
    """Law: a flush delivers what is owed, and afterwards nothing is."""
    poster = Scripted()
    assert flushed(path, clock, outbox, poster) == [Flushed(name, "web", 2, "") for name in ("one", "two", "three")]
    assert told(poster) == [(run, step) for run in ("one", "two", "three") for step in "ab"]
    assert list(owed(outbox)) == [] and outbox.behind() == []
    assert flushed(path, clock, outbox, poster) == []


def test_one_run_only(runs: None, path: Path, clock: VirtualClock, outbox: Outbox) -> None:
    """Law: a person may name the run."""
    poster = Scripted()
    flushed(path, clock, outbox, poster, run="two")
    assert {run for run, _ in told(poster)} == {"two"}


def test_a_run_of_somebody_else_is_skipped(runs: None, path: Path, clock: VirtualClock, outbox: Outbox) -> None:
    """Law: what another process delivers is left to it."""
    poster = Scripted()
    flushed(path, clock, outbox, poster, skip=lambda run: run == "one")
    assert {run for run, _ in told(poster)} == {"two", "three"}


def test_a_refused_event_stops_its_own_run_only(runs: None, path: Path, clock: VirtualClock, outbox: Outbox) -> None:
    """Law: an event that is refused in one run is no reason to keep those of others back."""
    poster = Scripted(204, 400)
    done = flushed(path, clock, outbox, poster)
    assert [(one.run, one.delivered, bool(one.failed)) for one in done] == [
        ("one", 1, True),
        ("two", 2, False),
        ("three", 2, False),
    ]
    assert list(owed(outbox)) == [Owed("one", "web", 1, "127.0.0.1 answered with status 400")]


def test_a_receiver_that_is_away_is_asked_once(runs: None, path: Path, clock: VirtualClock, outbox: Outbox) -> None:
    """Law: nobody waits for the same dead receiver once for each run."""
    poster = Scripted(Unreachable("127.0.0.1 cannot be reached"))
    done = flushed(path, clock, outbox, poster)
    assert [(one.run, one.delivered, one.failed) for one in done] == [
        (name, 0, "127.0.0.1 cannot be reached") for name in ("one", "two", "three")
    ]
    assert len(poster.posts) == 1


def test_it_ends_early_when_it_must(runs: None, path: Path, clock: VirtualClock, outbox: Outbox) -> None:
    """Law: who has no more time stops between two events, and the rest is still owed."""
    poster = Scripted()
    flushed(path, clock, outbox, poster, may_go_on=lambda: len(poster.posts) < 3)
    assert told(poster) == [("one", "a"), ("one", "b"), ("two", "a")]
    assert [(one.run, one.events) for one in owed(outbox)] == [("two", 1), ("three", 2)]


def test_giving_up(runs: None, outbox: Outbox) -> None:
    """Law: what is given up is said, and is then owed no more; other runs are not touched."""
    assert list(drop(outbox, "two", None)) == [Owed("two", "web", 2, "")]
    assert [one.run for one in owed(outbox)] == ["one", "three"]
    assert list(drop(outbox, "one", "never")) == []
    assert [one.run for one in owed(outbox)] == ["one", "three"]


@pytest.mark.parametrize("simulated", [True, False])
def test_a_backlog_says_whether_it_was_simulated(
    journal: Journal, path: Path, clock: VirtualClock, outbox: Outbox, simulated: bool
) -> None:
    """Law: an event that is told later is as simulated as its run was."""
    recorded = record(journal, clock, plan_with(HOOK).model_copy(update={"simulated": simulated}), "one")
    recorded.add(ev.StepDone(step="a"))
    poster = Scripted()
    flushed(path, clock, outbox, poster)
    assert [json.loads(body)["data"]["simulated"] for _, body, _ in poster.posts] == [simulated]


def test_a_backlog_leaves_without_secrets(journal: Journal, path: Path, clock: VirtualClock, outbox: Outbox) -> None:
    """Promise 10: what the program knows as a secret by now is replaced in what an older run recorded."""
    recorded = record(journal, clock, plan_with(HOOK), "one")
    recorded.add(ev.StepDone(step="a", note="the pin is 4711-4711"))
    poster = Scripted()
    office = an_office(path, clock, poster=poster)
    office.redactor.learn("4711-4711")
    assert [one.delivered for one in flush(office, outbox, skip=nobody, may_go_on=always)] == [1]
    assert [json.loads(body)["data"]["event"]["note"] for _, body, _ in poster.posts] == ["the pin is [redacted]"]


@pytest.mark.realtime
def test_a_command_of_a_backlog_is_cut_off(
    journal: Journal, path: Path, clock: VirtualClock, outbox: Outbox, tmp_path: Path
) -> None:
    """Law: who has no more time waits for no command that is under way, and its event is still owed."""
    started = tmp_path / "started"
    hook = a_hook("slow", on=["step.done"], command=["sh", "-c", f"touch {started}; exec sleep 20"], timeout="2s")
    record(journal, clock, plan_with(hook), "one").add(ev.StepDone(step="a"))
    office = an_office(path, SystemClock())
    [done] = flush(office, outbox, skip=nobody, may_go_on=lambda: not started.exists())
    assert (done.delivered, done.failed.partition(",")[0]) == (0, "the command was cut off")
    assert [one.events for one in owed(outbox)] == [1]
