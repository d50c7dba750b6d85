"""Actions on their way: all of them are awaited, and no more wait for a site than it has room for."""

from __future__ import annotations

from orchestrator.engine.dispatch import InlineFleet
from orchestrator.engine.in_flight import Acting
from orchestrator.model import events as ev
from orchestrator.model.runbook import Side
from tests.core.scripted import Free, ScriptedPair


def intent(number: int, on: Side = "source") -> ev.ActionIntended:
    return ev.ActionIntended(
        intent=number, step="demote", on=on, action="set_role", args={"role": "standby"}, attempt=1
    )


class Narrow(InlineFleet):
    """A site has room for two actions."""

    def room(self, on: Side, action: str) -> int:
        return 2


def narrow(pair: ScriptedPair) -> Acting:
    return Acting(Narrow({"source": pair.site("source"), "target": pair.site("target")}, Free(), pair.clock))


def test_all_actions_of_one_decision_are_awaited(pair: ScriptedPair) -> None:
    """Promise 4: a step with several items sends several actions at once; a run that pauses waits for each of them."""
    acting = narrow(pair)
    assert acting.admit("A", [intent(1), ev.StepDone(step="x"), intent(2)])
    acting.end("A", 1)
    assert acting
    acting.end("A", 2)
    assert not acting


def test_a_lane_without_room_is_let_in_later(pair: ScriptedPair) -> None:
    """Promise 15: what a lane that waits has read would be too old; it decides again once there is room at its site."""
    acting = narrow(pair)
    assert acting.admit("A", [intent(1)])
    assert acting.admit("B", [intent(1)])
    assert not acting.admit("C", [intent(1)])
    assert not acting.admit("D", [intent(1)])
    assert acting.admit("E", [intent(1, "target")])
    assert acting.let_in() == []
    acting.end("A", 1)
    acting.end("A", 1)  # of what nothing is known any more
    assert acting.let_in() == ["C"]
    assert acting.admit("C", [intent(1)])
    acting.end("B", 1)
    assert acting.let_in() == ["D"]
    assert acting.let_in() == []


def test_an_event_that_sends_nothing_needs_no_room(pair: ScriptedPair) -> None:
    """Law: a lane that only reads, asks or ends is never kept out."""
    acting = narrow(pair)
    assert acting.admit("A", [intent(1), intent(2), intent(3)])
    assert acting.admit("A", [ev.StepDone(step="x")])
