"""The part of a runbook that is about claims on whole sites, and the rows that the journal keeps of them.

The rules for the rows are those of the product (``orchestrator.core.decide.granting``). Must never know a family.
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

# Of a run that ended before this walk.
_EARLIER = "earlier"

Grant = Callable[[Sequence[Row], ClaimSite, Party], Granted]


def has_claims(runbook: Runbook) -> bool:
    """Does it change anything that belongs to a whole site?"""
    return any(step.claim is not None for step in runbook.steps)


def first_claim(runbook: Runbook) -> int:
    """The place of the first step with a claim."""
    return next(place for place, step in enumerate(runbook.steps) if step.claim is not None)


def claiming_part(runbook: Runbook) -> Runbook:
    """``runbook`` without the steps after the last one that has a claim, or that can still lead to one: what is held is
    claimed once more at the point of no return, and can be rolled back until then."""
    steps = runbook.steps
    end = max(place for place, step in enumerate(steps) if step.claim is not None)
    if any(step.claim == "hold" and step.undo is not None for step in steps):
        rest = (place for place, step in enumerate(steps) if step.point_of_no_return)
        end = max(end, next(rest, len(steps) - 1))
    return runbook.model_copy(update={"steps": steps[: end + 1]})


class Kept(NamedTuple):
    """A row of one service. ``is_earlier``: a run that has ended changed it last."""

    on: Side
    thing: str
    state: State
    is_earlier: bool = False


Rows = tuple[Kept, ...]


class Desk(NamedTuple):
    """The journal's side of two lanes: ``runs`` is 1 if they are of one run, and 2 if each has its own. ``grant`` is the
    product's rule, unless a control breaks it."""

    runs: int
    grant: Grant = granted

    def asked(
        self, who: int, rows: tuple[Rows, Rows], lanes: tuple[Lane, Lane], claim: ClaimSite
    ) -> tuple[Granted, Rows]:
        """The answer to lane ``who``, and its rows from then on."""
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
    """The rows of a service after ``events`` of its lane, which is ``lane`` from then on. What is void because it is old
    is left: all here is of one moment."""
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
    """The rows of a service once the run of its lane has ended."""
    if was_not_moved(lane.outcome):
        return tuple(row for row in rows if row.is_earlier)
    if lane.outcome in (ev.Outcome.DONE, ev.Outcome.ESCALATED):
        return tuple(row for row in rows if row.on != "target")
    return rows


def _with(rows: Rows, row: Kept) -> Rows:
    return tuple(sorted((*_without(rows, row.on, row.thing), row)))


def _without(rows: Rows, on: Side, thing: str) -> Rows:
    return tuple(row for row in rows if (row.on, row.thing) != (on, thing))
