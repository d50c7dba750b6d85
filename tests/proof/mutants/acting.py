"""Broken on purpose: how actions are tried, proven, retried and taken back."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orchestrator.core.decide
import orchestrator.core.decide.for_each
import orchestrator.core.decide.gates
import orchestrator.core.lane_fold
import proof.simulation.night
from adapters.mock.adapter import MockAdapter
from orchestrator.core.decide.act import Task, _proven
from orchestrator.core.decide.decision import Next, emit
from orchestrator.core.decide.gates import _to_undo
from orchestrator.core.lane import Lane
from orchestrator.family.contract import AdapterContext, Call
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from orchestrator.model.runbook import Check
from proof.simulation.journal import SECRETS
from tests.proof.mutants.editing import edit
from tests.proof.mutants.swapping import Mutant

Make = Callable[[Any], Any]
# The package names a function as this module is called, so that it cannot be reached through it.
_ACT = sys.modules["orchestrator.core.decide.act"]


def unproven(applies: Callable[[Task], bool]) -> Make:
    """A proof that is not waited for, for some tasks."""

    def make(prove: Any) -> Any:
        def prove_less(plan: ev.Plan, lane: Lane, task: Task, last: Any, now: float) -> Next:
            if applies(task):
                return emit(*_proven(plan, lane, task, last))
            found: Next = prove(plan, lane, task, last, now)
            return found

        return prove_less

    return make


def _with_task(change: Callable[[Task], Task]) -> Make:
    """The proof of another task than the one that was carried out."""

    def make(prove: Any) -> Any:
        return lambda plan, lane, task, last, now: prove(plan, lane, change(task), last, now)

    return make


def _other_site(task: Task) -> Task:
    flipped = {"source": "target", "target": "source"}
    expect = tuple(Check.model_validate({**dict(check), "on": flipped[check.on]}) for check in task.expect)
    return replace(task, expect=expect)


def _unsettled(task: Task) -> Task:
    return replace(task, limits=task.limits.model_copy(update={"settle": 0.0}))


def _blind_retry(had_no_effect: Any) -> Any:
    return lambda task, last: last.effect is Effect.DOUBTFUL or had_no_effect(task, last)


def _keeps_readings(enter: Any) -> Any:
    """What was read before the lane moved on is an argument still."""

    def enter_with_luggage(lane: Lane, *args: Any, **changes: Any) -> Lane:
        entered: Lane = enter(lane, *args, **changes)
        kept: Lane = orchestrator.core.lane_fold._with(
            entered, seen=lane.seen, seen_mark=entered.mark, seen_at=lane.seen_at
        )
        return kept if lane.seen else entered

    return enter_with_luggage


def _sending(preview: Any) -> Any:
    """A dry run that is wet."""

    def preview_and_send(plan: ev.Plan, adapters: Any, clock: Any) -> Any:
        setting = AdapterContext(clock=clock, secrets=SECRETS)
        adapter = MockAdapter(plan.inventory.sites[plan.source], setting)
        call = Call(plan.services[0], {"role": "standby"})
        for _ in adapter.apply("set_role", [call], _Always()):
            pass
        return preview(plan, adapters, clock)

    return preview_and_send


class _Always:
    def check(self) -> None:
        """Anything may leave."""


def _stand_unsettled(stand: Any) -> Any:
    return lambda lane, task, item, now: stand(lane, _unsettled(task), item, now)


def _never_changed(_: Any) -> Any:
    return lambda lane: False


ACTING = (
    Mutant(
        "promote-before-confirm",
        "a step is done as soon as its action was sent",
        ((_ACT, "_prove", unproven(lambda task: not task.undo)),),
    ),
    Mutant(
        "undo-not-proven",
        "a step counts as taken back as soon as that was sent",
        ((_ACT, "_prove", unproven(lambda task: task.undo)),),
    ),
    Mutant(
        "fence-not-proven",
        "a fence counts as shut as soon as that was sent",
        ((_ACT, "_prove", unproven(lambda task: task.do.action == "set_backbone")),),
        "solace",
    ),
    Mutant(
        "confirmed-at-the-other-site",
        "the effect of an action is looked for at the mate",
        ((_ACT, "_prove", _with_task(_other_site)),),
    ),
    Mutant(
        "doubt-ignored",
        "a doubtful action is sent again without looking",
        ((_ACT, "_had_no_effect", _blind_retry),),
    ),
    Mutant(
        "not-settled",
        "a doubtful action is believed to have failed at the first look",
        (
            (_ACT, "_prove", _with_task(_unsettled)),
            (orchestrator.core.decide.for_each, "_stand", _stand_unsettled),
        ),
    ),
    Mutant(
        "undo-reversed",
        "what was done first is taken back first",
        (edit(_to_undo, ("return undo, left", "return undo[::-1], left")),),
    ),
    Mutant(
        "undo-nothing",
        "a lane that turns back leaves everything as it is",
        (edit(_to_undo, ("return undo, left", "return (), ()")),),
    ),
    Mutant(
        "undo-too-little",
        "the step that a lane turns back in is not taken back",
        (edit(_to_undo, ("if any(intent.may_have_obeyed and", "if False and any(intent.may_have_obeyed and")),),
    ),
    Mutant(
        "refused-though-changed",
        "a lane is called refused after something was changed",
        ((orchestrator.core.decide.gates, "_may_have_changed", _never_changed),),
    ),
    Mutant(
        "stale-reading",
        "what was read before the lane moved on is believed",
        ((orchestrator.core.lane_fold, "_enter", _keeps_readings),),
    ),
    Mutant(
        "dry-run-sends",
        "a dry run sends a command",
        ((proof.simulation.night, "preview", _sending),),
        "solace",
    ),
)
