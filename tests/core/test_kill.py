"""Kill -9 at any instant of a run over the scripted pair, then resume; and broken variants, which must be caught."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from orchestrator import events as ev
from orchestrator.clock import VirtualClock
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
    changes = {"drain": {"when_guard_breaks": grace}, "delete-at-target": {"delay": "1s"}}
    return a_plan(*({**step, **changes.get(step["id"], {})} for step in CONTROLLED), policy=DECIDED)


def bridge_loss(pair: ScriptedPair) -> None:
    pair.once_told("set_role", "source", 0.6, pair.lose_bridge)


def success() -> Story:
    return Story("success", quick_plan(), a_pair(), judge_pair, frozenset({ev.Outcome.DONE}))


def test_the_story_undisturbed(tmp_path: Path) -> None:
    """A controlled fail-over of a healthy pair ends ``done``, with nothing in the pair's account against it."""
    told = tell(success(), tmp_path, Fuse())
    assert (told.outcome, told.complaints) == (ev.Outcome.DONE, [])


def test_killed_anywhere_in_a_success(tmp_path: Path) -> None:
    """Promise 4: killed at any instant and resumed, a success is still one, and nothing was sent twice."""
    assert list(guilty(kill_everywhere(success(), tmp_path))) == []


def test_killed_anywhere_in_a_bridge_loss(tmp_path: Path) -> None:
    """Promises 3 and 4: the bridge is lost in the drain; whenever killed, the lane reverts and loses nothing."""
    story = Story("bridge loss", quick_plan(), a_pair(bridge_loss), judge_pair, frozenset({ev.Outcome.REVERTED}))
    assert list(guilty(kill_everywhere(story, tmp_path))) == []


def test_an_engine_that_acts_before_the_record_is_caught(tmp_path: Path) -> None:
    """Negative control: with intents recorded after the deed, some instant sends a non-idempotent action twice."""
    broken = Story(
        "performs first",
        quick_plan(),
        a_pair(),
        judge_pair,
        frozenset({ev.Outcome.DONE}),
        engine=PerformsFirst,
        fleet=HastyFleet,
    )
    assert any("was sent to source 2 times" in text for text in guilty(kill_everywhere(broken, tmp_path)))


def test_an_engine_that_resends_doubts_is_caught(tmp_path: Path) -> None:
    """Negative control: a doubt that is taken for "not sent" sends a non-idempotent action twice."""
    broken = Story(
        "forgets doubt", quick_plan(), a_pair(), judge_pair, frozenset({ev.Outcome.DONE}), engine=ForgetsDoubt
    )
    assert any("was sent to source 2 times" in text for text in guilty(kill_everywhere(broken, tmp_path)))
