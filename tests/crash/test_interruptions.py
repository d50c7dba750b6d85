"""Ctrl-C and SIGTERM at every step of every runbook: a pause at a safe point, then resume.

A second signal is death (the handlers are gone by then), so it is told as the other stories of this folder tell death.
What the signals themselves do is in ``tests/cli/test_processes.py``; here they reach the engine at chosen instants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.core.run import Run, fold
from orchestrator.documents.loader import load_runbook
from orchestrator.documents.shipped import shipped_runbooks
from orchestrator.engine.engine import Engine
from orchestrator.engine.in_flight import Acting
from orchestrator.model import events as ev
from tests.core.killing import RUN, Fuse, Killed, KillingJournal, Story, bury, lead
from tests.crash.stories import evenly, sampled, story
from tests.crash.stories_amps import AMPS_STORIES, amps_story

DONE, REVERTED = ev.Outcome.DONE, ev.Outcome.REVERTED
# Scenario, phase, the runbook it runs, and its end.
STORIES = [
    ("controlled-plain", 0, "solace/controlled", DONE),
    ("bridge-loss-unattended", 0, "solace/controlled", REVERTED),
    ("commit-lost-reply", 0, "solace/controlled", DONE),
    ("uncontrolled-dark", 0, "solace/uncontrolled", DONE),
    ("isolated-and-back", 0, "solace/uncontrolled-isolated", DONE),
    ("long-outage", 1, "solace/restore", DONE),
    ("long-outage", 2, "solace/failback", DONE),
    ("failback-of-a-suspended-outage", 1, "solace/suspend", DONE),
    ("guarded-return", 1, "solace/guard", DONE),
    ("guarded-return", 1, "solace/guard-standby", DONE),
    ("repair-standby-drains", 0, "solace/repair-standby", DONE),
    ("repair-active-accepted", 0, "solace/repair-active", DONE),
]
# Instants between the steps' beginnings, evenly spread: by default, and in the long form.
BETWEEN, MORE = 4, 24
_SAMPLED = pytest.mark.parametrize(
    "between", [pytest.param(BETWEEN, id="sample"), pytest.param(MORE, id="more", marks=pytest.mark.long)]
)


class Signals(Fuse):
    """Sends the first signal at ``first``, the second at ``second``.

    Remembers at which instants steps begin (``steps``), and which had begun at the end (``begun``).
    """

    def __init__(self, first: int | None = None, second: int | None = None) -> None:
        super().__init__()
        self.first, self.second = first, second
        self.engine: Engine | None = None
        self.steps: list[int] = []
        self.begun: set[str] = set()

    def instant(self, place: str) -> None:
        super().instant(place)
        if place.startswith("after writing") and "step.started" in place:
            self.steps.append(self.count)
        if self.count == self.first:
            assert self.engine is not None
            self.engine.pause("SIGTERM from outside")
        if self.count == self.second:
            raise Killed("the second signal")


@dataclass
class Told:
    """One telling: how it ended, what was wrong, and the state it was left in after the first signal."""

    outcome: ev.Outcome | None
    complaints: list[str] = field(default_factory=list)


def tell_interrupted(told: Story, folder: Path, signals: Signals) -> Told:
    """The story with these signals, resumed until it has ended."""

    class Heard(told.engine):  # type: ignore[misc, name-defined]
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            signals.engine = self

    world, path = told.world(), folder / "journal.db"
    path.unlink(missing_ok=True)
    heard = Story(told.name, told.plan, told.world, told.judge, told.ends, told.desk, Heard, told.fleet)
    state: Run | None = None
    wrong: list[str] = []
    for life in range(4):
        journal = KillingJournal.at(path)
        journal.fuse = signals
        try:
            state = lead(heard, world, journal, signals, resume=life > 0)
            signals.begun = {one.event.step for one in journal.records(RUN) if isinstance(one.event, ev.StepStarted)}
            if state.outcome is None:
                wrong += unsafe(state, list(journal.records(RUN)))
        except Killed:
            bury(journal)
            world.clock.advance(0.1)
            state = None
        finally:
            journal.close()
        if state is not None and state.outcome is not None:
            break
    assert state is not None and state.outcome is not None, "after a pause and a death it still has not ended"
    wrong += [] if state.outcome in told.ends else [f"ended {state.outcome}"]
    return Told(state.outcome, [*wrong, *told.judge(world, state.outcome)])


def unsafe(state: Run, records: Sequence[ev.Record]) -> list[str]:
    """What is wrong with a place to stop at: something is under way, or the record does not end in the pause."""
    found = [f"{name}: {one.action} is under way" for name, lane in state.lanes.items() for one in lane.outstanding]
    if state.status != "paused" or records[-1].event.kind != "run.paused":
        found.append(f"it stopped as {state.status}, with {records[-1].event.kind}")
    if fold(records) != state:
        found.append("the record folds to something else")
    return found


def guilty(told: Story, folder: Path, firsts: Sequence[int], after: int | None = None) -> list[str]:
    """What is wrong with any telling that is interrupted at one of ``firsts``, and ``after`` instants later again."""
    return [
        f"interrupted at {first}: {text}"
        for first in firsts
        for text in tell_interrupted(told, folder, Signals(first, first + after if after else None)).complaints
    ]


@_SAMPLED
@pytest.mark.parametrize(
    ("name", "phase", "runbook", "end"), STORIES, ids=[f"{name}-{runbook}" for name, _, runbook, _ in STORIES]
)
def test_interrupted_at_every_step(
    name: str, phase: int, runbook: str, end: ev.Outcome, between: int, tmp_path: Path
) -> None:
    """Law: it pauses with nothing under way, whenever it is interrupted, and resume leads to the undisturbed end."""
    told = story(name, tmp_path, end, phase=phase)
    if told.plan.runbook.runbook != runbook:
        told = replace(told, plan=told.plan.model_copy(update={"runbook": load_runbook(runbook)}))
    _interrupt(told, tmp_path, end, 0 if phase else between)  # what went before is played each time


@_SAMPLED
@pytest.mark.parametrize("name", AMPS_STORIES)
def test_interrupted_at_every_step_amps(name: str, between: int, tmp_path: Path) -> None:
    """The same of every shipped runbook of AMPS; and nothing is sent that the undisturbed run does not send."""
    _interrupt(amps_story(name, tmp_path), tmp_path, AMPS_STORIES[name].end, between)


def _interrupt(told: Story, folder: Path, end: ev.Outcome, between: int) -> None:
    undisturbed = Signals()
    assert tell_interrupted(told, folder, undisturbed) == Told(end)
    if end is DONE:
        assert undisturbed.begun == {step.id for step in told.plan.runbook.steps}
    instants = sorted({*undisturbed.steps, *sampled(undisturbed.places, between)})
    assert guilty(told, folder, instants) == []
    assert guilty(told, folder, undisturbed.steps, after=1) == []


def test_control_an_engine_that_leaves_at_once_is_caught(tmp_path: Path) -> None:
    """Negative control: one that does not await what is under way leaves intents without an outcome."""

    class Leaves(Engine):
        def _stop_safely(self) -> None:
            self._acting = Acting(self._fleet)
            super()._stop_safely()

    told = story("controlled-plain", tmp_path, DONE, engine=Leaves)
    undisturbed = Signals()
    tell_interrupted(told, tmp_path, undisturbed)
    assert guilty(told, tmp_path, evenly(undisturbed.count, 2 * MORE))


def test_no_runbook_is_left_out() -> None:
    """Law: every shipped runbook of a family that is simulated is interrupted, here or (those with commands) on the
    command line; families in a file are killed in tests/real."""
    elsewhere = {"solace/uncontrolled-commanded", "solace/restore-commanded"}  # tests/local/test_commanded_stopped.py
    here = {runbook for _, _, runbook, _ in STORIES} | {one.runbook for one in AMPS_STORIES.values()}
    assert here | elsewhere == {name for name in shipped_runbooks() if name.startswith(("amps/", "solace/"))}
