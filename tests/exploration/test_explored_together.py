"""Two services of the same sites: the shipped runbooks are clean, and broken claims are found out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from orchestrator.core.decide import ClaimSite, Next, decide
from orchestrator.core.decide.granting import Granted, Party, Row, granted
from orchestrator.core.run import Lane
from orchestrator.documents.loader import load_runbook, read_runbook
from orchestrator.documents.shipped import shipped_runbooks
from orchestrator.family.contract import ActionSpec
from orchestrator.model import events as ev
from orchestrator.model.events import Outcome, Plan
from orchestrator.model.readings import SiteClaims
from orchestrator.model.runbook import Runbook
from proof.exploration.claiming import Desk, Grant, Kept, Rows, claiming_part, has_claims, settled
from proof.exploration.search import Exploration
from proof.exploration.story import story
from proof.exploration.together import explore_together

CLAIMING = tuple(name for name in shipped_runbooks() if has_claims(load_runbook(name)))
ISOLATED, RESTORE = "solace/uncontrolled-isolated", "solace/restore"
# With one disturbance this one takes a minute: see docs/explanation/exploration.md.
LARGE = frozenset({ISOLATED})
# These do so in the long form only; solace/uncontrolled-commanded and solace/restore always do.
LONG = ("solace/guard", "solace/restore-commanded")


def test_there_are_runbooks_with_claims() -> None:
    """Those that shut something of a whole site, and those that open it again."""
    assert {*LARGE, *LONG, RESTORE} < set(CLAIMING)


BOUNDS = [
    *(pytest.param(name, 0 if name in LARGE or name in LONG else 1, id=name) for name in CLAIMING),
    *(pytest.param(name, 1, id=f"{name}-whole", marks=pytest.mark.long) for name in LONG),
]


@pytest.mark.parametrize(("name", "bound"), BOUNDS)
def test_a_shipped_runbook_is_clean_with_two_services(
    name: str, bound: int, actions: Mapping[str, ActionSpec]
) -> None:
    """Promise 14: in one run and in two at once, no door is opened behind a service that relies on it, and no service
    waits for the other one for ever."""
    walks = explore_together(load_runbook(name), actions, states_max=100_000, disturbances_max=bound)
    assert sorted(walks) == [1, 2]
    for found in walks.values():
        assert [story(one) for one in found.found] == []
        assert (found.unexplored, found.disturbances) == ([], bound)
        assert {"done + done", "done + refused"} <= set(found.ends)
        assert {part for end in found.ends for part in end.split(" + ")} <= {str(outcome) for outcome in Outcome}


def test_lanes_turn_back_behind_one_door(actions: Mapping[str, ActionSpec]) -> None:
    """Both are rolled back, in whichever order; or one has failed over, and the other one stops behind the door."""
    walks = explore_together(load_runbook(ISOLATED), actions, states_max=100_000, disturbances_max=0)
    for found in walks.values():
        assert {"reverted + reverted", "done + needs-operator"} <= set(found.ends)


def test_what_claims_nothing_is_walked_with_one_service(actions: Mapping[str, ActionSpec]) -> None:
    """A planned move changes nothing that belongs to a whole site."""
    runbook = load_runbook("solace/controlled")
    assert explore_together(runbook, actions, states_max=10, disturbances_max=0) == {}


def test_two_walks_say_the_same(actions: Mapping[str, ActionSpec]) -> None:
    """Nothing depends on chance, nor on which service is called the first."""
    walk = partial(explore_together, load_runbook(RESTORE), actions, states_max=1_000, disturbances_max=1)
    assert walk() == walk()


# --- controls ---------------------------------------------------------------------------------------------------------


def always(rows: Sequence[Row], request: ClaimSite, party: Party) -> Granted:
    """Grants whatever is asked for."""
    return granted((), request, party)


def of_the_run(rows: Sequence[Row], request: ClaimSite, party: Party) -> Granted:
    """Knows nothing of other runs."""
    return granted([row for row in rows if row.run == party.run], request, party)


def waiting(rows: Sequence[Row], request: ClaimSite, party: Party) -> Granted:
    """Takes everybody for somebody who will soon be gone."""
    found = granted(rows, request, party)
    is_waiting = not found.answer.granted
    return found._replace(answer=found.answer.model_copy(update={"is_waiting": is_waiting}))


def unasked(plan: Plan, lane: Lane, now: float, *, attended: bool) -> Next:
    """Gives itself every claim of an undo: takes back what belongs to the site without a release."""
    move = decide(plan, lane, now, attended=attended)
    asked = next((one for one in move.requests if isinstance(one, ClaimSite)), None)
    if asked is None or asked.wish == "hold" or not (lane.turning or lane.status == "reverting"):
        return move
    answer = SiteClaims(thing=asked.thing, wish=asked.wish, granted=True)
    seen = ev.Seen(on=asked.on, reading=answer.kind, asked_at=now, value=answer)
    told = replace(lane, seen=(seen,), seen_mark=lane.mark, seen_at=now)
    return decide(plan, told, now, attended=attended)


def forgetful(plan: Plan, lane: Lane, now: float, *, attended: bool) -> Next:
    """Does not claim again at the point of no return what it offered to give up."""
    steps = plan.runbook.steps
    is_past = lane.step < len(steps) and steps[lane.step].point_of_no_return
    return decide(plan, replace(lane, holds=()) if is_past else lane, now, attended=attended)


def rules(walks: Mapping[int, Exploration]) -> set[str]:
    return {one.rule for found in walks.values() for one in found.found}


CONTROLS: Iterable[tuple[str, Mapping[str, Any], str]] = [
    (ISOLATED, {"grant": always}, "opened-behind-another"),
    (RESTORE, {"grant": always}, "opened-behind-another"),
    (RESTORE, {"grant": of_the_run}, "opened-behind-another"),
    (ISOLATED, {"grant": waiting}, "dead-end"),
    (ISOLATED, {"decide": unasked}, "opened-behind-another"),
    (ISOLATED, {"decide": forgetful}, "opened-behind-another"),
]


@pytest.mark.parametrize(
    ("name", "broken", "rule"),
    CONTROLS,
    ids=[
        "granted-hold",
        "granted-release",
        "other-runs",
        "waits-for-ever",
        "undo-without-release",
        "not-claimed-again",
    ],
)
def test_broken_claims_are_found_out(
    actions: Mapping[str, ActionSpec], name: str, broken: Mapping[str, Any], rule: str
) -> None:
    """Control: the same runbook, whose claims are answered or asked for wrongly, is not clean. Each is found without a
    disturbance, or early with one."""
    assert_found(rule, load_runbook(name), actions, **broken)


def assert_found(rule: str, runbook: Runbook, actions: Mapping[str, ActionSpec], **broken: Any) -> None:
    """Without a disturbance or early where that is enough, which costs little."""
    found: set[str] = set()
    for disturbances, states_max in ((0, 60_000), (1, 5_000), (1, 60_000)):
        bounds: dict[str, Any] = {"states_max": states_max, "disturbances_max": disturbances}
        found |= rules(explore_together(runbook, actions, **bounds, **broken))
        if rule in found:
            return
    pytest.fail(f"{rule} is not found, but {sorted(found)}")


def test_a_door_without_a_claim_is_found_out(tmp_path: Path, actions: Mapping[str, ActionSpec]) -> None:
    """A runbook that claims another step, and not the one that shuts the door."""
    text = Path(str(files("runbooks") / "solace" / "uncontrolled-commanded.yaml")).read_text("utf-8")
    shut = """  - id: shut
    title: t
    do: {on: source, action: set_backbone, state: down}
    expect: [{on: source, reading: fence, where: {closed: true}}]
    undo:
      do: {on: source, action: set_backbone, state: up}
      expect: [{on: source, reading: fence, where: {open: true}}]

"""
    place = text.index("  # Step 1 of the procedure. Clients")
    file = tmp_path / "own.yaml"
    file.write_text(text[:place] + shut + text[place:], encoding="utf-8")
    assert_found("opened-behind-another", read_runbook(file).result(), actions)


# --- the rows ---------------------------------------------------------------------------------------------------------

_HOLD = ClaimSite("service", 0, "source", "set_backbone", "hold")
_RELEASE = replace(_HOLD, wish="release")
_RELIES = Kept("source", "set_backbone", "relies")


def asked(runs: int, rows: tuple[Rows, Rows], lanes: tuple[Lane, Lane], grant: Grant = granted) -> tuple[bool, Rows]:
    """The answer to service 1, which asks for a release, and its rows."""
    found, mine = Desk(runs, grant).asked(0, rows, lanes, _RELEASE)
    return found.answer.granted, mine


def test_lanes_of_one_run_know_each_other() -> None:
    """What a lane that turns back holds is in the way of another run only."""
    lanes = (Lane("service"), replace(Lane("service"), turning="no"))
    assert asked(1, ((_RELIES,), (_RELIES,)), lanes) == (True, (_RELIES._replace(state="opening"),))
    assert asked(2, ((_RELIES,), (_RELIES,)), lanes) == (False, (_RELIES._replace(state="leaving"),))


def test_a_row_ends_with_what_it_stands_for() -> None:
    """An undo or a release ends the service's row; a lane that was to open a door and stopped lets others shut it."""
    isolated, restore = load_runbook(ISOLATED), claiming_part(load_runbook(RESTORE))
    undone = ev.UndoDone(step="fence")
    assert settled((_RELIES,), isolated, Lane("service"), [undone]) == ()
    stopped = replace(Lane("service"), step=len(restore.steps) - 1)
    end = ev.LaneEnded(outcome=Outcome.NEEDS_OPERATOR)
    opening = (_RELIES._replace(state="opening"),)
    assert settled(opening, restore, stopped, [end]) == (_RELIES._replace(state="leaving"),)
    assert settled((_RELIES,), restore, stopped, [end]) == (_RELIES,)
