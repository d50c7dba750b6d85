"""Which claim on a whole site is granted, who is in its way, and when a claim ends. Pure: rows in, rows out.

The journal keeps one row for each service and each thing of a site. These are the rules for the rows; ``sites`` applies
them in one transaction, and the exploration walks through them with two lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from orchestrator.core.decide.decision import ClaimSite
from orchestrator.core.run import Lane
from orchestrator.model import events as ev
from orchestrator.model.readings import SiteClaims
from orchestrator.model.runbook import Step

# ``relies``: the thing must stay as it is. ``opening``: it is being undone. ``leaving``: the service gave its claim up,
# and waits for others.
State = Literal["relies", "opening", "leaving"]
Fate = Literal["removed", "older-void"]


class Row(NamedTuple):
    """One service and one thing of a site. ``name`` is the service's, for people; ``run`` changed the row last."""

    service: str
    name: str
    run: str
    state: State
    at: float


class Party(NamedTuple):
    """Who asks: the key of its service, its run, and the lanes of that run by the keys of their services."""

    service: str
    run: str
    lane_of: Callable[[str], Lane | None]


class Granted(NamedTuple):
    """The answer to a request, and the state of the asker's row from now on. None: its row stays as it is."""

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
        # Who failed over behind the door relies on it by that run, whatever this one comes to.
        stands = any(row.service == party.service and row.run != party.run and row.state == "relies" for row in rows)
        return Granted(answer, None if others or stands else "relies")
    return Granted(answer, "opening" if request.wish == "release" and not others else "leaving")


def fate(step: Step, event: ev.Event) -> Fate | None:
    """The outcome of claims on the thing of ``step``, one with a claim, after ``event`` of a lane. ``removed``: the
    lane's own claim. ``older-void``: claims that are older than a door which was open; the lane's own is of its run."""
    if not isinstance(event, ev.StepDone | ev.StepSkipped | ev.UndoDone):
        return None
    if isinstance(event, ev.UndoDone) or step.claim == "release":
        return "removed"
    return "older-void" if isinstance(event, ev.StepDone) and event.reversible else None


def left_on_the_way(lane: Lane, steps: Sequence[Step]) -> Step | None:
    """The step whose claim goes from ``opening`` to ``leaving`` when ``lane`` ends: it was to open a door, and has sent
    nothing."""
    step = steps[lane.step] if lane.step < len(steps) else None
    is_sent = any(intent.may_have_obeyed for intent in lane.intents)
    return step if step is not None and step.do is not None and step.claim == "release" and not is_sent else None


def was_not_moved(outcome: ev.Outcome | None) -> bool:
    """Did its service stay where it was? Then it relies on nothing that its run shut."""
    return outcome in (ev.Outcome.REFUSED, ev.Outcome.REVERTED)


def _is_in_the_way(row: Row, request: ClaimSite, party: Party) -> bool:
    if request.wish == "hold":
        return row.state == "opening"
    return row.state == "relies" and not _gives_up(row, party)


def _gives_up(row: Row, party: Party) -> bool:
    """Is it a lane of this run that is rolled back, or never moved? Its row does not report yet."""
    lane = party.lane_of(row.service)
    if lane is None or row.run != party.run:
        return False
    return bool(lane.turning) or lane.status in ("reverting", "reverted", "refused")


def _is_under_way(row: Row, party: Party) -> bool:
    """Will this very run decide, without being asked, whether the service continues relying on it?"""
    lane = party.lane_of(row.service)
    return lane is not None and not lane.ended
