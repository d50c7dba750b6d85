"""Broken on purpose: what is believed, waited for, asked, and decided."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orchestrator.core.decide
import orchestrator.core.decide.evaluate
import orchestrator.core.decide.for_each
import orchestrator.core.decide.gates
import orchestrator.engine.signed_words
from orchestrator.core.decide.decision import Next, emit
from orchestrator.core.decide.evaluate import Verdict
from orchestrator.core.decide.gates import on_abort
from orchestrator.core.lane import Lane
from orchestrator.model import events as ev
from orchestrator.model.runbook import Check, Step
from tests.proof.mutants.editing import edit
from tests.proof.mutants.swapping import Mutant

Make = Callable[[Any], Any]
# The package names functions as these modules are called, so that they cannot be reached through it.
_WAIT, _APPROVE = sys.modules["orchestrator.core.decide.wait"], sys.modules["orchestrator.core.decide.approve"]
_FLIPPED = {"source": "target", "target": "source"}


def _of_step(change: Callable[[Step], Step]) -> Make:
    """A decision about another step than the runbook's."""

    def make(decide: Any) -> Any:
        return lambda plan, lane, step, *more, **named: decide(plan, lane, change(step), *more, **named)

    return make


def _unguarded(step: Step) -> Step:
    return step.model_copy(update={"guard": (), "when_guard_breaks": None})


def _no_delay(step: Step) -> Step:
    return step.model_copy(update={"delay": 0.0})


def _at_the_other_site(step: Step) -> Step:
    if step.decide is None or step.for_each is None or step.do is None:
        return step
    each = step.for_each.model_copy(update={"on": _FLIPPED[step.for_each.on]})
    return step.model_copy(update={"for_each": each, "do": step.do.model_copy(update={"on": each.on})})


def believing(is_believed: Callable[[Lane, Check], bool]) -> Make:
    """Some checks hold, whatever was read."""

    def make(judge_one: Any) -> Any:
        def believe(plan: ev.Plan, lane: Lane, check: Check) -> Verdict:
            found: Verdict = judge_one(plan, lane, check)
            return found if found.holds or not is_believed(lane, check) else Verdict(True)

        return believe

    return make


def _stands_still(lane: Lane, check: Check) -> bool:
    """Two readings of the queue with the same depth: a rate of zero."""
    return "drained" in check.where and len(lane.gauge) > 1 and lane.gauge[-1][1] == lane.gauge[-2][1]


def _is_silent(lane: Lane, check: Check) -> bool:
    """The queue could not be read."""
    seen = lane.reading(check.on, check.reading)
    return "drained" in check.where and seen is not None and getattr(seen.value, "messages", None) is None


def _is_unknown(judge_one: Any) -> Any:
    def believe(plan: ev.Plan, lane: Lane, check: Check) -> Verdict:
        found: Verdict = judge_one(plan, lane, check)
        return Verdict(True) if found.holds is None and lane.reading(check.on, check.reading) is not None else found

    return believe


def _is_bridge(lane: Lane, check: Check) -> bool:
    return "bridge" in check.where and lane.reading(check.on, check.reading) is not None


def _activates_anyway(task: Any) -> Any:
    return replace(task, require=())


def _no_requirements(act: Any) -> Any:
    return lambda plan, lane, task, now: act(plan, lane, _activates_anyway(task), now)


def _no_checks(_: Any) -> Any:
    def require(plan: ev.Plan, lane: Lane, step: Step, now: float) -> Next:
        if step.until or step.for_each or step.ask or step.compare:
            return emit(ev.RequirementsMet(step=step.id))
        return emit(ev.StepDone(step=step.id))

    return require


def _unrecorded(follow: Any) -> Any:
    def follow_silently(*args: Any) -> tuple[ev.Event, ...]:
        return tuple(event for event in follow(*args) if not isinstance(event, ev.GateDecided))

    return follow_silently


def _bold(answer: Any) -> Any:
    """Nobody is there: the boldest choice is taken."""

    def answer_boldly(plan: ev.Plan, lane: Lane, gate: ev.GateOpened, *more: Any) -> Next:
        bold = next((one for one in ("escalate", "accept", "waive") if one in gate.choices), gate.unattended)
        found: Next = answer(plan, lane, gate.model_copy(update={"unattended": bold}), *more)
        return found

    return answer_boldly


def _done_at_once(_: Any) -> Any:
    return lambda plan, lane, step, *more: emit(ev.StepDone(step=step.id))


def _target_left(each: Any) -> Any:
    def each_at_source(plan: ev.Plan, lane: Lane, step: Step, how: Any, *more: Any) -> Next:
        if how.on == "target":
            return emit(ev.StepDone(step=step.id))
        found: Next = each(plan, lane, step, how, *more)
        return found

    return each_at_source


def _each_changed(change: Callable[[Step], Step]) -> Make:
    def make(each: Any) -> Any:
        def each_of(plan: ev.Plan, lane: Lane, step: Step, how: Any, *more: Any) -> Next:
            changed = change(step)
            found: Next = each(plan, lane, changed, changed.for_each, *more)
            return found

        return each_of

    return make


def _other_outcome(item_args: Any) -> Any:
    def opposite(lane: Lane, step: Step, do: Any, item: Any) -> Any:
        args = dict(item_args(lane, step, do, item))
        if "outcome" in args:
            args["outcome"] = {"commit": "rollback", "rollback": "commit"}[args["outcome"]]
        return args

    return opposite


def _undecided_args(_: Any) -> Any:
    def commit(lane: Lane, step: Step, do: Any, item: Any) -> Any:
        args = {**do.args, "xid": item.key}
        return {**args, "outcome": "commit"} if step.decide is not None else args

    return commit


_WHATEVER: Make = lambda _: lambda item, where: True  # noqa: E731 - the shortest way to believe everything

DECIDING = (
    Mutant(
        "rate-0-is-drained",
        "a queue that does not move is taken for empty",
        ((orchestrator.core.decide.evaluate, "judge_one", believing(_stands_still)),),
        "solace",
    ),
    Mutant(
        "silence-is-drained",
        "a queue that cannot be read is taken for empty",
        ((orchestrator.core.decide.evaluate, "judge_one", believing(_is_silent)),),
        "solace",
    ),
    Mutant(
        "unknown-is-true",
        "what a device does not tell is taken for what was hoped",
        ((orchestrator.core.decide.evaluate, "judge_one", _is_unknown),),
    ),
    Mutant(
        "bridge-believed",
        "the bridge is taken for bound",
        ((orchestrator.core.decide.evaluate, "judge_one", believing(_is_bridge)),),
        "solace",
    ),
    Mutant(
        "guard-ignored",
        "a wait ends without its guard",
        ((orchestrator.core.decide, "wait", _of_step(_unguarded)),),
    ),
    Mutant(
        "drain-skipped",
        "nothing is waited for",
        ((orchestrator.core.decide, "wait", _done_at_once),),
        "solace",
    ),
    Mutant(
        "preconditions-ignored",
        "steps begin whatever is read before them",
        (
            (orchestrator.core.decide, "act", _no_requirements),
            (orchestrator.core.decide.gates, "act", _no_requirements),
            (orchestrator.core.decide, "require", _no_checks),
        ),
    ),
    Mutant(
        "decision-without-record",
        "a decision is followed and not recorded",
        (
            (orchestrator.core.decide.gates, "apply_ruling", _unrecorded),
            (orchestrator.engine.signed_words, "apply_ruling", _unrecorded),
        ),
    ),
    Mutant(
        "unattended-is-bold",
        "with nobody there a lane escalates instead of reverting",
        (
            (_WAIT, "answer", _bold),
            (_APPROVE, "answer", _bold),
            (orchestrator.core.decide.gates, "answer", _bold),
        ),
    ),
    Mutant(
        "nobody-answers-for-the-fence",
        "the question about the fence is not put",
        ((orchestrator.core.decide, "approve", _done_at_once),),
    ),
    Mutant(
        "failback-gate-skipped",
        "a fail-back does not compare the sites",
        ((orchestrator.core.decide, "compare", _done_at_once),),
        "solace",
    ),
    Mutant(
        "at-risk-not-told",
        "an escalation does not say what is at risk",
        ((_WAIT, "_at_risk", lambda _: lambda plan, lane, step: None),),
        "solace",
    ),
    Mutant(
        "past-the-point",
        "a lane turns back after its point of no return",
        (edit(on_abort, ('if lane.status != "running":', 'if lane.status == "reverting":')),),
    ),
    Mutant(
        "any-transaction",
        "transactions are acted on whatever their state",
        ((orchestrator.core.decide.for_each, "matches", _WHATEVER),),
        "solace",
    ),
    Mutant(
        "decision-turned-round",
        "what was to be committed is rolled back",
        ((orchestrator.core.decide.for_each, "_item_args", _other_outcome),),
        "solace",
    ),
    Mutant(
        "transaction-without-decision",
        "transactions are committed without asking",
        (
            (orchestrator.core.decide.for_each, "_decide_items", lambda _: lambda *args: None),
            (orchestrator.core.decide.for_each, "_item_args", _undecided_args),
        ),
        "solace",
    ),
    Mutant(
        "transactions-at-the-target",
        "transactions are completed at the site that takes over",
        ((orchestrator.core.decide, "each", _each_changed(_at_the_other_site)),),
        "solace",
    ),
    Mutant(
        "manager-has-no-chance",
        "completed transactions are deleted at once",
        ((orchestrator.core.decide, "each", _each_changed(_no_delay)),),
        "solace",
    ),
    Mutant(
        "transactions-left-behind",
        "completed transactions are not deleted at the target",
        ((orchestrator.core.decide, "each", _target_left),),
        "solace",
    ),
)
