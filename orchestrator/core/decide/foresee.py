"""Questions that are known in advance: each needs an answer, or an operator, before a lane gives anything up. Pure.

Without this check an unattended move gives up activity, drains, and then stops with no site active, at a question that
the first reading would have shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from orchestrator.core.decide.decision import Next, emit
from orchestrator.core.decide.evaluate import Verdict, is_current, judge, observe, patience
from orchestrator.core.decide.for_each import listed, without_decision
from orchestrator.core.run import Lane
from orchestrator.model import events as ev
from orchestrator.model.reading import Item
from orchestrator.model.runbook import Check, Decide, ForEach, Step


def unanswered(plan: ev.Plan) -> str:
    """Why a lane without an operator must not start: it is certain to reach a question without an answer. The lane will
    have changed something by then, or would stop at the question. Empty: there is no such question."""
    has_changed = False
    for step in plan.runbook.steps:
        is_open = step.ask is not None and not step.only_if and step.ask.gate not in plan.policy.on_gate
        if step.ask is not None and is_open and (has_changed or step.ask.unattended == "stop"):
            option = f": add {step.ask.option}" if step.ask.option else ": start the run on a terminal"
            return f"the run will ask {step.ask.gate}, but no operator can answer{option}. {step.ask.text}"
        has_changed = has_changed or step.changes
    return ""


def guard_broken_now(plan: ev.Plan, lane: Lane) -> str:
    """Why a lane would stop at a wait before it changes anything: the guard of the wait is read as broken, and no option
    answers its gate. Empty: the lane would not stop."""
    for step in plan.runbook.steps:
        if step.changes:
            return ""
        rule = step.when_guard_breaks
        if rule is None or rule.unattended != "stop" or rule.gate in plan.policy.on_gate:
            continue
        guard = judge(plan, lane, step.guard)
        if guard.holds is False and judge(plan, lane, step.only_if).holds is not False:
            return guard.why
    return ""


Foreseen = Literal["decided", "asks", "stops", "refuses"]


def foresee(plan: ev.Plan, lane: Lane, step: Step, name: str, now: float, attended: bool) -> Next:
    """List the items that a later step will need decisions on. The list must be readable now, and each item needs an
    answer or an operator."""
    each, _ = _decided_by(plan, name)
    request = observe(lane, (Check(on=each.on, reading=each.reading, where=each.where),))
    if not is_current(lane):
        return Next(requests=(request,))
    items = listed(plan, lane, each)
    if isinstance(items, Verdict):
        return patience(lane, step, items, request, now, undo=False)
    what, why = foreseen(plan, name, items, attended)
    return emit(ev.StepFailed(step=step.id, why=why) if what == "refuses" else ev.StepDone(step=step.id, note=why))


def foreseen(plan: ev.Plan, name: str, items: Sequence[Item], attended: bool) -> tuple[Foreseen, str]:
    """What will happen at the decisions of step ``name`` if it finds ``items``, with an explanation in words.

    ``stop`` is an answer too, if it was chosen in advance. ``revert`` is not an answer: the lane would certainly revert,
    so it refuses now.
    """
    _, rule = _decided_by(plan, name)
    decided = plan.policy.transactions
    undecided = [
        item.key for item in items if item.key not in decided or decided[item.key].choice not in rule.choices
    ]
    chosen = plan.policy.on_gate.get(rule.gate)
    if not undecided:
        return "decided", f"{len(items)} listed, and each has a decision" if items else "there are none"
    if chosen == "stop":
        return (
            "stops",
            f"{without_decision(undecided)}; the run stops there with no site active, as decided in advance",
        )
    if attended and chosen is None:
        return "asks", f"{without_decision(undecided)}; the run will ask"
    return "refuses", (
        f"{without_decision(undecided)}, but no operator can answer: add --{rule.gate} FILE with a decision for "
        f"each, or --{rule.gate} stop to stop at that point with no site active"
    )


def _decided_by(plan: ev.Plan, name: str) -> tuple[ForEach, Decide]:
    step = plan.runbook.steps[plan.runbook.index_of(name)]
    assert step.for_each is not None and step.decide is not None  # lint checks it
    return step.for_each, step.decide
