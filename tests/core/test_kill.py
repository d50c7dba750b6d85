"""Kill -9 at any instant of a run over the scripted pair, then resume; and broken variants, which must be caught."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.model import events as ev
from tests.core.builders import CONTROLLED, DRAIN, a_plan
from tests.core.killing import (
    ForgetsDoubt,
    Fuse,
    HastyFleet,
    PerformsFirst,
    Story,
    guilty,
    judge_pair,
    kill_everywhere,
    tell,
)
from tests.core.leading import ScriptedDesk
from tests.core.scripted import ScriptedPair

RULING = ev.Ruling(choice="commit", reason="all other branches are committed", by="ann")
DECIDED = ev.Policy(transactions={"1-a-b": RULING, "1-a-c": RULING.model_copy(update={"choice": "rollback"})})


def a_pair(script: Callable[[ScriptedPair], None] | None = None) -> Callable[[], ScriptedPair]:
    def make() -> ScriptedPair:
        pair = ScriptedPair(VirtualClock(), depth=150, rate=100, lag=1.0)
        pair.prepare("1-a-b")
        pair.prepare("1-a-c")
        if script is not None:
            script(pair)
        return pair

    return make


def quick_plan() -> ev.Plan:
    """The controlled fail-over with short waits, so that a run is not a thousand instants long."""
    grace = {**DRAIN["when_guard_breaks"], "grace": "3s"}
    changes: dict[str, dict[str, Any]] = {"drain": {"when_guard_breaks": grace}, "delete-at-target": {"delay": "1s"}}
    return a_plan(*({**step, **changes.get(step["id"], {})} for step in CONTROLLED), policy=DECIDED)


def bridge_loss(pair: ScriptedPair) -> None:
    pair.once_told("set_role", "source", 0.6, pair.lose_bridge)


def story(name: str, *ends: ev.Outcome, script: Callable[[ScriptedPair], None] | None = None, **more: Any) -> Story:
    plan = more.pop("plan", None) or quick_plan()
    return Story(name, plan, a_pair(script), judge_pair, frozenset(ends), **more)


def success(**more: Any) -> Story:
    return story("success", ev.Outcome.DONE, **more)


def test_the_story_undisturbed(tmp_path: Path) -> None:
    """A controlled fail-over of a healthy pair ends ``done``, with nothing in the pair's account against it."""
    told = tell(success(), tmp_path, Fuse())
    assert (told.outcome, told.complaints) == (ev.Outcome.DONE, [])


def test_killed_anywhere_in_a_success(tmp_path: Path) -> None:
    """Promise 4: killed at any instant and resumed, a success is still one, and nothing was sent twice."""
    assert list(guilty(kill_everywhere(success(), tmp_path))) == []


def test_killed_anywhere_in_a_bridge_loss(tmp_path: Path) -> None:
    """Promises 3 and 4: the bridge is lost in the drain; whenever killed, the lane reverts and loses nothing."""
    told = story("bridge loss", ev.Outcome.REVERTED, script=bridge_loss)
    assert list(guilty(kill_everywhere(told, tmp_path))) == []


def test_killed_anywhere_in_an_escalation(tmp_path: Path) -> None:
    """Promises 3 and 4: a person's decision to escalate is asked for again, or kept, but never lost half-way."""
    told = story("escalation", ev.Outcome.ESCALATED, script=bridge_loss, desk=Escalating)
    assert list(guilty(kill_everywhere(told, tmp_path))) == []


def test_killed_anywhere_between_two_people(tmp_path: Path) -> None:
    """Promise 7: a person decides on each transaction; whenever killed, each is completed once, as decided."""
    undecided = quick_plan().model_copy(update={"policy": ev.Policy()})
    told = story("decisions", ev.Outcome.DONE, plan=undecided, desk=Escalating)
    assert list(guilty(kill_everywhere(told, tmp_path, stride=2))) == []


class Escalating(ScriptedDesk):
    """A person who goes on whatever it costs."""

    def __init__(self) -> None:
        super().__init__({"bridge-lost": "escalate", "xa": "commit"})


def test_killed_long_before_it_is_resumed(tmp_path: Path) -> None:
    """Promise 4: an hour between death and resume changes nothing but the hour."""
    assert list(guilty(kill_everywhere(success(restart_s=3600.0), tmp_path, stride=5))) == []


# --- negative controls ---------------------------------------------------------------------------------------------


def caught(broken: Story, folder: Path, text: str) -> bool:
    return any(text in complaint for complaint in guilty(kill_everywhere(broken, folder)))


def test_an_engine_that_acts_before_the_record_is_caught(tmp_path: Path) -> None:
    """Negative control: with intents recorded after the deed, some instant sends a non-idempotent action twice."""
    broken = success(engine=PerformsFirst, fleet=HastyFleet)
    assert caught(broken, tmp_path, "was sent to source 2 times")


def test_an_honest_engine_on_the_same_fleet_is_not(tmp_path: Path) -> None:
    """Negative control, the other way round: it is the engine's order that is caught, not the fleet's haste."""
    assert list(guilty(kill_everywhere(success(fleet=HastyFleet), tmp_path, stride=3))) == []


def test_an_engine_that_resends_doubts_is_caught(tmp_path: Path) -> None:
    """Negative control: a doubt that is taken for "not sent" sends a non-idempotent action twice."""
    assert caught(success(engine=ForgetsDoubt), tmp_path, "was sent to source 2 times")


@pytest.mark.parametrize(
    ("left_out", "text"),
    [({"drain"}, "activated with"), ({"demote", "drain"}, "was activated while the other site was active")],
)
def test_a_runbook_without_a_safeguard_is_caught(tmp_path: Path, left_out: set[str], text: str) -> None:
    """Negative control: a runbook that does not drain, or does not demote first, is found out by the pair's account."""
    steps = [{**step, "require": []} if step["id"] == "activate" else step for step in CONTROLLED]
    plan = a_plan(*(step for step in steps if step["id"] not in left_out))

    def world() -> ScriptedPair:
        return ScriptedPair(VirtualClock(), depth=500, rate=10)

    told = tell(Story("unsafe", plan, world, judge_pair, frozenset({ev.Outcome.DONE})), tmp_path, Fuse())
    assert any(text in complaint for complaint in told.complaints)


def test_a_wrong_end_is_caught(tmp_path: Path) -> None:
    """Negative control: an end that does not fit where activity is, or that was not expected, is found out."""
    told = tell(story("wrong end", ev.Outcome.DONE, script=bridge_loss), tmp_path, Fuse())
    assert any("ended reverted" in complaint for complaint in told.complaints)
