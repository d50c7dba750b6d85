"""The rules for claims on a whole site: which claim is granted, which services block it, when it ends. Pure.

The journal keeps one row for each service and each thing of a site. ``sites`` applies these rules to the rows in one
transaction, and the exploration tries the rules with two lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from orchestrator.core.decide.decision import ClaimSite
from orchestrator.core.run import Lane
from orchestrator.model import events as ev
from orchestrator.model.readings import SiteClaims
from orchestrator.model.runbook import Step

# ``relies``: the thing must stay as it is. ``opening``: the change of the thing is being undone. ``leaving``: the service
# gave up its claim, and waits for other services.
State = Literal["relies", "opening", "leaving"]
Fate = Literal["removed", "older-void"]


class Row(NamedTuple):
    """One service and one thing of a site. ``name``: the service, for people. ``run``: the run that last changed the
    row."""

    service: str
    name: str
    run: str
    state: State
    at: float


class Party(NamedTuple):
    """The asking service: its key, its run, and the lanes of that run by the keys of their services."""

    service: str
    run: str
    lane_of: Callable[[str], Lane | None]


class Granted(NamedTuple):
    """The answer to a request, and the new state of the row of the asking service. None: the row stays as it is."""

    answer: SiteClaims
    state: State | None


def granted(rows: Sequence[Row], request: ClaimSite, party: Party) -> Granted:
    """The answer to ``request``, given all rows of the thing that it names."""
    others = [row for row in rows if row.service != party.service and _is_in_the_way(row, request, party)]
    answer = SiteClaims(
        thing=request.thing,
        wish=request.wish,
        granted=not others,
        others=tuple(f"{row.name} (run {row.run})" for row in others),
        is_waiting=bool(others) and all(_is_under_way(row, party) for row in others),
    )
    if request.wish == "hold":
        # A service that failed over while the thing was shut relies on it by that earlier run, for any outcome of this
        # run.
        stands = any(row.service == party.service and row.run != party.run and row.state == "relies" for row in rows)
        return Granted(answer, None if others or stands else "relies")
    return Granted(answer, "opening" if request.wish == "release" and not others else "leaving")


def fate(step: Step, event: ev.Event) -> Fate | None:
    """The outcome, after ``event`` of a lane, of claims on the thing of ``step``, which has a claim. ``removed``: the
    lane's own claim ends. ``older-void``: the step found the thing open, so claims from before that moment end. The
    lane's own claim then belongs to its present run."""
    if not isinstance(event, ev.StepDone | ev.StepSkipped | ev.UndoDone):
        return None
    if isinstance(event, ev.UndoDone) or step.claim == "release":
        return "removed"
    return "older-void" if isinstance(event, ev.StepDone) and event.reversible else None


def left_on_the_way(lane: Lane, steps: Sequence[Step]) -> Step | None:
    """The step whose claim goes from ``opening`` to ``leaving`` when ``lane`` ends: a step that releases a thing, and has
    sent no command."""
    step = steps[lane.step] if lane.step < len(steps) else None
    is_sent = any(intent.may_have_obeyed for intent in lane.intents)
    return step if step is not None and step.do is not None and step.claim == "release" and not is_sent else None


def was_not_moved(outcome: ev.Outcome | None) -> bool:
    """Did the service stay at its site? Then it relies on nothing that its run shut."""
    return outcome in (ev.Outcome.REFUSED, ev.Outcome.REVERTED)


def _is_in_the_way(row: Row, request: ClaimSite, party: Party) -> bool:
    if request.wish == "hold":
        return row.state == "opening"
    return row.state == "relies" and not _gives_up(row, party)


def _gives_up(row: Row, party: Party) -> bool:
    """Does the row belong to a lane of this run that is rolled back, or was never moved? The row does not show that
    yet."""
    lane = party.lane_of(row.service)
    if lane is None or row.run != party.run:
        return False
    return bool(lane.turning) or lane.status in ("reverting", "reverted", "refused")


def _is_under_way(row: Row, party: Party) -> bool:
    """Does the row belong to a lane of this run that has not ended? Then this run itself will decide whether the service
    continues to rely on the thing."""
    lane = party.lane_of(row.service)
    return lane is not None and not lane.ended
