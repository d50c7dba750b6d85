"""A lane that waits for its queue to drain, and rounds of readings for it."""

from __future__ import annotations

from typing import Any

from orchestrator.core.decide import Next, decide
from orchestrator.core.run import Lane, Stage
from orchestrator.model import events as ev
from tests.core.builders import ACTIVATE, DEMOTE, DRAIN, T0, a_lane, a_plan, after, bridge, depth, kinds, see

PLAN = a_plan(DEMOTE, DRAIN, ACTIVATE)


def waiting(**changes: Any) -> Lane:
    """A lane that waits for its queue to drain; the source was demoted before."""
    return a_lane(**{"step": 1, "stage": Stage.MAIN, "undo": ("demote",), "changed": True, **changes})


def round_of(lane: Lane, messages: int | None, link: str | None, at: float) -> Lane:
    """One round: what the queue held and how the bridge stood."""
    return see(
        lane, depth(messages, at), bridge(link, at), at=at, gauge=None if messages is None else float(messages)
    )


def steadily(
    lane: Lane,
    plan: ev.Plan,
    messages: int | None,
    link: str | None,
    *,
    until: float,
    start: float = T0,
    attended: bool = False,
) -> tuple[Lane, Next, float]:
    """Go on with the same readings until a decision wants something recorded after ``until``, at most."""
    now = start
    while True:
        lane = round_of(lane, messages, link, now)
        for _ in range(50):
            move = decide(plan, lane, now, attended=attended)
            if not move.events:
                break
            if any(event.kind in ("step.failed", "gate.opened", "step.done") for event in move.events):
                return lane, move, now
            lane = after(lane, move, now)
        else:
            raise AssertionError(f"decisions go in a circle: {kinds(move)}")
        if now >= until:
            return lane, move, now
        assert move.wake is not None
        assert move.wake > now
        now = move.wake
