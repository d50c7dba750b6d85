"""Controls: decisions that are broken on purpose are found out, on a runbook that is clean with the real ones."""

from __future__ import annotations

import pytest

from orchestrator.contract import Effect
from orchestrator.decide import Next, decide
from orchestrator.events import AbortDeclined, DoubtResolved, Plan, StepDone
from orchestrator.loader import read_runbook
from orchestrator.state import Lane, Stage
from proof.exploration.search import explore
from proof.exploration.story import story
from tests.exploration.small import ACTIVATE, CLOSE, SMALL


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
]


@pytest.mark.parametrize(("broken", "text", "rule"), CONTROLS, ids=[one[0].__name__ for one in CONTROLS])
def test_broken_decisions_are_found_out(tmp_path, actions, broken, text, rule) -> None:
    """Control: the same runbook, led by decisions that break one promise, is not clean."""
    file = tmp_path / "small.yaml"
    file.write_text(text, encoding="utf-8")
    runbook = read_runbook(file).result()
    found = explore(runbook, actions, states_max=100_000, disturbances_max=1, examples_max=4, decide=broken)
    assert rule in {one.rule for one in found.found}, [story(one) for one in found.found]
