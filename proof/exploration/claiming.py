"""The part of a runbook with claims on whole sites, and the journal's rows about them.

The rules for the rows are those of the product (``orchestrator.core.decide.granting``). This module must never know a
family.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from orchestrator.core.decide import ClaimSite
from orchestrator.core.decide.granting import (
    Granted,
    Party,
    Row,
    State,
    fate,
    granted,
    left_on_the_way,
    was_not_moved,
)
from orchestrator.core.run import Lane
from orchestrator.model import events as ev
from orchestrator.model.runbook import Runbook, Side

# The name of a run that ended before this walk.
_EARLIER = "earlier"

Grant = Callable[[Sequence[Row], ClaimSite, Party], Granted]


def has_claims(runbook: Runbook) -> bool:
    """Does the runbook change anything that belongs to a whole site?"""
    return any(step.claim is not None for step in runbook.steps)


def first_claim(runbook: Runbook) -> int:
    """The place of the first step with a claim."""
    return next(place for place, step in enumerate(runbook.steps) if step.claim is not None)


def claiming_part(runbook: Runbook) -> Runbook:
    """``runbook`` up to the last step that has a claim or can still lead to one. A held thing is claimed again at the
    point of no return, and can be rolled back until then."""
    steps = runbook.steps
    end = max(place for place, step in enumerate(steps) if step.claim is not None)
    if any(step.claim == "hold" and step.undo is not None for step in steps):
        rest = (place for place, step in enumerate(steps) if step.point_of_no_return)
        end = max(end, next(rest, len(steps) - 1))
    return runbook.model_copy(update={"steps": steps[: end + 1]})


class Kept(NamedTuple):
    """A row of one service. ``is_earlier``: a run that has already ended was the last to change the row."""

    on: Side
    thing: str
    state: State
    is_earlier: bool = False


Rows = tuple[Kept, ...]


class Desk(NamedTuple):
    """The journal's side of two lanes: ``runs`` is 1 if both lanes belong to one run, and 2 if each has its own run.
    ``grant`` is the product's rule, unless a control breaks it on purpose."""

    runs: int
    grant: Grant = granted

    def asked(
        self, who: int, rows: tuple[Rows, Rows], lanes: tuple[Lane, Lane], claim: ClaimSite
    ) -> tuple[Granted, Rows]:
        """The answer to lane ``who``, and its rows afterwards."""
        found = [
            Row(str(of), f"service {of + 1}", _EARLIER if row.is_earlier else self._run(of), row.state, 0)
            for of in (0, 1)
            for row in rows[of]
            if (row.on, row.thing) == (claim.on, claim.thing)
        ]

        def lane_of(key: str) -> Lane | None:
            return lanes[int(key)] if self._run(int(key)) == self._run(who) else None

        answer = self.grant(found, claim, Party(str(who), self._run(who), lane_of))
        if answer.state is None:
            return answer, rows[who]
        return answer, _with(rows[who], Kept(claim.on, claim.thing, answer.state))

    def _run(self, who: int) -> str:
        return f"run-{who % self.runs + 1}"


def settled(rows: Rows, runbook: Runbook, lane: Lane, events: Iterable[ev.Event]) -> Rows:
    """The rows of a service after ``events`` of its lane. ``lane`` is its state after them. Rows do not become void with
    age, because everything here has the same moment."""
    steps = {step.id: step for step in runbook.steps if step.claim is not None}
    for event in events:
        step = steps.get(getattr(event, "step", ""))
        if step is not None and step.do is not None and fate(step, event) == "removed":
            rows = _without(rows, step.do.on, step.do.action)
        on_the_way = left_on_the_way(lane, runbook.steps) if isinstance(event, ev.LaneEnded) else None
        if on_the_way is not None and on_the_way.do is not None:
            do = on_the_way.do
            held = [row for row in rows if (row.on, row.thing, row.state) == (do.on, do.action, "opening")]
            rows = _with(rows, held[0]._replace(state="leaving")) if held else rows
    return rows


def finished(rows: Rows, lane: Lane) -> Rows:
    """The rows of a service after the run of its lane has ended."""
    if was_not_moved(lane.outcome):
        return tuple(row for row in rows if row.is_earlier)
    if lane.outcome in (ev.Outcome.DONE, ev.Outcome.ESCALATED):
        return tuple(row for row in rows if row.on != "target")
    return rows


def _with(rows: Rows, row: Kept) -> Rows:
    return tuple(sorted((*_without(rows, row.on, row.thing), row)))


def _without(rows: Rows, on: Side, thing: str) -> Rows:
    return tuple(row for row in rows if (row.on, row.thing) != (on, thing))
