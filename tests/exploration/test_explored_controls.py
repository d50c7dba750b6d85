"""Controls: decisions that are broken on purpose are found out, on a runbook that is clean with the real ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.core.decide import Next, decide
from orchestrator.core.run import Lane, Stage
from orchestrator.documents.loader import read_runbook
from orchestrator.documents.shipped import shipped_path
from orchestrator.family.contract import ActionSpec
from orchestrator.model.events import (
    AbortDeclined,
    DoubtResolved,
    GateOpened,
    LaneEnded,
    Outcome,
    Plan,
    RevertStarted,
    StepDone,
    UndoDone,
)
from orchestrator.model.outcome import Effect
from proof.exploration.families import fitting
from proof.exploration.judge import Account, Judge
from proof.exploration.rules import RULES
from proof.exploration.search import explore
from proof.exploration.story import story
from tests.exploration import test_explored_amps, test_explored_broken
from tests.exploration.small import ACTIVATE, CLOSE, SMALL
from tests.exploration.small_amps import BARE, FENCE, MOVE, RETURN, step
from tests.families import test_mistakes


def careless(plan: Plan, lane: Lane, now: float, *, attended: bool) -> Next:
    """Decides as if no step of its own had a precondition."""
    steps = tuple(step.model_copy(update={"require": ()}) for step in plan.runbook.steps)
    runbook = plan.runbook.model_copy(update={"steps": steps})
    return decide(plan.model_copy(update={"runbook": runbook}), lane, now, attended=attended)


def hasty(plan: Plan, lane: Lane, now: float, *, attended: bool) -> Next:
    """Takes every doubt for no effect, without a reading."""
    if lane.stage is Stage.PROVE and lane.intents[-1].effect is Effect.DOUBTFUL and not lane.intents[-1].disproved:
        return Next(events=(DoubtResolved(intent=lane.intents[-1].number, evidence="it may be"),))
    return decide(plan, lane, now, attended=attended)


def silent(plan: Plan, lane: Lane, now: float, *, attended: bool) -> Next:
    """Says nothing any more once a step failed."""
    return Next() if lane.stage is Stage.FAILED else decide(plan, lane, now, attended=attended)


def trusting(plan: Plan, lane: Lane, now: float, *, attended: bool) -> Next:
    """Believes the device: what was accepted is done."""
    if lane.status == "running" and lane.stage is Stage.PROVE and lane.intents[-1].effect is Effect.ACCEPTED:
        return Next(events=(StepDone(step=plan.runbook.steps[lane.step].id, reversible=True),))
    return decide(plan, lane, now, attended=attended)


def going_round(plan: Plan, lane: Lane, now: float, *, attended: bool) -> Next:
    """Declines what nobody asked for, for ever."""
    return Next(events=(AbortDeclined(reason="no"),))


def illegal(plan: Plan, lane: Lane, now: float, *, attended: bool) -> Next:
    """Says that a step is done which never began."""
    return Next(events=(DoubtResolved(intent=7, evidence=""), StepDone(step="demote")))


def hurried(plan: Plan, lane: Lane, now: float, *, attended: bool) -> Next:
    """Ends each wait with the first round of readings, whatever it says."""
    if lane.status in ("running", "committed") and lane.stage is Stage.MAIN and lane.seen_mark == lane.mark:
        step = plan.runbook.steps[lane.step]
        return Next(events=(StepDone(step=step.id),)) if step.until else decide(plan, lane, now, attended=attended)
    return decide(plan, lane, now, attended=attended)


def denying(plan: Plan, lane: Lane, now: float, *, attended: bool) -> Next:
    """Refuses a lane in which a step failed, whatever was done before."""
    if lane.stage is Stage.FAILED and lane.status == "running":
        return Next(events=(LaneEnded(outcome=Outcome.REFUSED, reason="it failed"),))
    return decide(plan, lane, now, attended=attended)


def backwards(plan: Plan, lane: Lane, now: float, *, attended: bool) -> Next:
    """Takes the first change back first."""
    move = decide(plan, lane, now, attended=attended)
    turned = (
        event.model_copy(update={"undo": event.undo[::-1]}) if isinstance(event, RevertStarted) else event
        for event in move.events
    )
    return replace(move, events=tuple(turned))


def idle(plan: Plan, lane: Lane, now: float, *, attended: bool) -> Next:
    """Says that a change was taken back, and takes nothing back."""
    if lane.status == "reverting" and lane.undo:
        return Next(events=(UndoDone(step=lane.undo[-1], skipped="it will be all right"),))
    return decide(plan, lane, now, attended=attended)


def resigned(plan: Plan, lane: Lane, now: float, *, attended: bool) -> Next:
    """Stops again as soon as it is resumed."""
    if lane.came_from and not lane.ended:
        outcome = Outcome.STUCK if lane.status == "reverting" else Outcome.NEEDS_OPERATOR
        return Next(events=(LaneEnded(outcome=outcome, reason="as before"),))
    return decide(plan, lane, now, attended=attended)


def stubborn(plan: Plan, lane: Lane, now: float, *, attended: bool) -> Next:
    """Gives up only one guarantee."""
    move = decide(plan, lane, now, attended=attended)
    asked = (
        event.model_copy(update={"choices": tuple(one for one in event.choices if one != "escalate")})
        if isinstance(event, GateOpened) and lane.status == "escalating"
        else event
        for event in move.events
    )
    return replace(move, events=tuple(asked))


CONTROLS = [
    (careless, SMALL, "two-active"),
    (
        hasty,
        SMALL.replace(
            ACTIVATE,
            CLOSE + "    expect: [{on: source, reading: external_fence, where: {closed: true}}]\n" + ACTIVATE,
        ),
        "sent-twice",
    ),
    (silent, SMALL, "dead-end"),
    (trusting, SMALL, "not-done"),
    (going_round, SMALL, "core-error"),
    (illegal, SMALL, "core-error"),
    (denying, SMALL, "not-refused"),
    (idle, SMALL, "not-reverted"),
    (resigned, SMALL, "stays-stopped"),
    (stubborn, shipped_path("solace/repair-standby").read_text(), "stays-stopped"),
    (resigned, MOVE, "stays-stopped"),
    (careless, MOVE, "two-active"),
    (silent, MOVE, "dead-end"),
    (trusting, MOVE, "not-done"),
    (hurried, BARE, "promoted-undrained"),
    (hurried, RETURN, "messages-left"),
    (denying, MOVE, "not-refused"),
    (idle, MOVE, "not-reverted"),
    (backwards, MOVE.replace(step(MOVE, "clients-gone"), FENCE + step(MOVE, "clients-gone")), "undo-order"),
]


@pytest.mark.parametrize(
    ("broken", "text", "rule"), CONTROLS, ids=[f"{one[0].__name__}-{one[2]}" for one in CONTROLS]
)
def test_broken_decisions_are_found_out(
    tmp_path: Path, actions: Mapping[str, ActionSpec], broken: Any, text: str, rule: str
) -> None:
    """Control: the same runbook, led by decisions that break one promise, is not clean."""
    file = tmp_path / "small.yaml"
    file.write_text(text, encoding="utf-8")
    runbook = read_runbook(file).result()
    for disturbances in (0, 1):  # the second is walked only where the first does not show it
        bound: dict[str, Any] = {"states_max": 100_000, "disturbances_max": disturbances, "examples_max": 4}
        found = explore(runbook, actions, **bound, decide=broken)
        if rule in {one.rule for one in found.found}:
            return
    pytest.fail(f"{rule} is not found, but {[story(one) for one in found.found]}")


def test_an_end_without_a_name_is_told(tmp_path: Path, actions: Mapping[str, ActionSpec]) -> None:
    """The fold refuses such an end as well; the judge does not rely on it."""
    file = tmp_path / "small.yaml"
    file.write_text(SMALL, encoding="utf-8")
    runbook = read_runbook(file).result()
    family = fitting(runbook)
    (_, pair), *_ = family.starts(runbook)
    end = LaneEnded.model_construct(outcome="lost", reason="")  # type: ignore[arg-type]
    judge = Judge(family, runbook, actions)
    assert judge.recorded(Account(family.evidence(runbook)), pair, [end], unattended=False)[1] == ["unnamed-end"]


def test_every_rule_can_be_broken() -> None:
    """Each code is provoked by a broken runbook or by broken decisions: a rule that nothing breaks is none."""
    broken = {one[2] for one in (*test_explored_amps.VARIANTS, *test_explored_broken.VARIANTS, *CONTROLS)}
    of_files = {rules for _, _, rules in test_mistakes.EDITED.values() if " " not in rules}
    assert broken | of_files | {"unnamed-end"} == set(RULES)
