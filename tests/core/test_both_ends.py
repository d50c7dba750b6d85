"""Values of one site that are held against the other site's: read in turn, believed only in that order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import pytest

from orchestrator.core.decide import Observe, decide
from orchestrator.core.decide.evaluate import judge_one, observe
from orchestrator.core.drain_estimate import number_left
from orchestrator.core.run import Lane, Stage
from orchestrator.model.facets import Facet
from orchestrator.model.reading import Reading, in_words
from orchestrator.model.runbook import Check, Progress
from tests.core.builders import ACTIVATE, DEMOTE, T0, a_lane, a_plan, kinds, see, seen, unread


class Log(Reading):
    """What each end of a replicated log says of itself."""

    facets: ClassVar[Mapping[Facet, str]] = {
        Facet.SERVES: "writable",
        Facet.MARK: "issued",
        Facet.REACHED: "applied",
    }
    unit: ClassVar[str] = "byte"

    kind: Literal["log"] = "log"
    writable: bool | None = None
    issued: int | None = None
    applied: int | None = None
    history: str | None = None


ISSUED = {"on": "source", "reading": "log", "field": "issued"}
REACHED = Check.model_validate(
    {"on": "target", "reading": "log", "where": {"applied": {"reaches": ISSUED}}, "say": "the target is behind"}
)
SAME = Check.model_validate(
    {
        "on": "target",
        "reading": "log",
        "where": {"history": {"same_as": {"on": "source", "reading": "log", "field": "history"}}},
    }
)
FOLLOWS = Progress.model_validate({"on": "target", "reading": "log", "field": "applied", "up_to": ISSUED})
WAIT: dict[str, Any] = {
    "id": "drain",
    "title": "Drain",
    "until": [REACHED.model_dump(mode="json")],
    "guard": [{"on": "source", "reading": "log", "where": {"writable": False}}],
    "when_guard_breaks": {"grace": "1s", "gate": "open", "choices": ["wait", "revert"], "unattended": "revert"},
    "progress": FOLLOWS.model_dump(mode="json"),
    "timeout": "1m",
}
PLAN = a_plan(DEMOTE, WAIT, ACTIVATE)


def waiting() -> Lane:
    """A lane whose source was closed."""
    return a_lane(step=1, stage=Stage.MAIN, undo=("demote",), changed=True)


def of_both(issued: int | None, applied: int | None, *, first: float = T0, then: float = T0) -> Lane:
    """A lane that has read both ends, the source at ``first``."""
    source = seen("source", Log(writable=False, issued=issued, history="a"), first)
    return see(waiting(), source, seen("target", Log(applied=applied, history="a"), then), at=max(first, then))


@pytest.mark.parametrize(
    ("issued", "applied", "holds"),
    [(7, 7, True), (7, 8, True), (7, 6, False), (None, 7, None), (7, None, None), (0, 0, True)],
)
def test_the_target_reaches_the_mark(issued: int | None, applied: int | None, holds: bool | None) -> None:
    """Law: reached is at least the mark, and unknown at either end is unknown."""
    assert judge_one(PLAN, of_both(issued, applied), REACHED).holds is holds


def test_the_mark_is_read_first() -> None:
    """Law: a number of the target that was read before the source's proves nothing, however high it is."""
    assert judge_one(PLAN, of_both(7, 9, first=T0 + 1, then=T0), REACHED).holds is None
    assert number_left(FOLLOWS, of_both(7, 9, first=T0 + 1, then=T0).seen) is None
    request = observe(waiting(), (REACHED,), FOLLOWS)
    assert (request.asks, request.after) == (
        (("target", "log"), ("source", "log")),
        frozenset({("target", "log")}),
    )


def test_what_is_missing_falls_to_zero() -> None:
    """Law: the number of the wait is what the target lacks, and never less than 0."""
    assert number_left(FOLLOWS, of_both(9, 2).seen) == 7
    assert number_left(FOLLOWS, of_both(2, 9).seen) == 0
    assert number_left(FOLLOWS, of_both(None, 9).seen) is None


def test_a_source_that_does_not_answer_is_unknown() -> None:
    """Law: without the source's reading the check is unknown, and its sentence names both ends."""
    lane = see(waiting(), unread("source", "log"), seen("target", Log(applied=3)))
    verdict = judge_one(PLAN, lane, REACHED)
    assert (verdict.holds, "log is unknown" in verdict.why) == (None, True)
    assert "applied 3" in judge_one(PLAN, of_both(9, 3), REACHED).why
    assert "issued 9" in judge_one(PLAN, of_both(9, 3), REACHED).why


def test_the_same_at_both_ends() -> None:
    """Law: a text may be required to be the same at both sites."""
    assert judge_one(PLAN, of_both(1, 1), SAME).holds is True
    other = see(waiting(), seen("source", Log(history="a")), seen("target", Log(history="b")))
    assert judge_one(PLAN, other, SAME).holds is False
    assert in_words(SAME.where) == "history the same as history of the source"


def test_the_wait_ends_when_it_is_reached() -> None:
    """Law: the wait asks the source first, is done once the mark is reached, and goes on before."""
    move = decide(PLAN, waiting(), T0, attended=False)
    request = next(one for one in move.requests if isinstance(one, Observe))
    assert request.after == frozenset({("target", "log")})
    assert kinds(decide(PLAN, of_both(7, 7), T0, attended=False)) == ["step.done"]
    assert kinds(decide(PLAN, of_both(7, 6), T0, attended=False)) == []
