"""What the fence plan of a failed site means for the plan of a run: which question, and who answers it.

The plan is the operator's, written before the day (docs/sources/solace-procedure.md, uncontrolled 2); nothing here
thinks of another way.
"""

from __future__ import annotations

from orchestrator.errors import DefinitionError
from orchestrator.model import events as ev
from orchestrator.model.runbook import Step

_UNFENCED = "unfenced"


def with_instructions(plan: ev.Plan) -> ev.Plan:
    """The plan with what the fence plan wants a person to do, in the question whether the failed site is fenced."""
    site = plan.inventory.sites[plan.source]
    option = site.fenced_by("attest")
    if option is None:
        return plan
    steps = tuple(_with(step, f"The fence plan of {site.name}: {option.attest}") for step in plan.runbook.steps)
    return plan.model_copy(update={"runbook": plan.runbook.model_copy(update={"steps": steps})})


def _with(step: Step, more: str) -> Step:
    if step.ask is None or step.ask.gate != _UNFENCED:
        return step
    return step.model_copy(update={"ask": step.ask.model_copy(update={"text": f"{step.ask.text} {more}"})})


def see_answered(plan: ev.Plan) -> None:
    """Raise ``DefinitionError`` when the runbook is certain to ask something that no one has answered in advance."""
    gates = [step.ask.gate for step in plan.runbook.steps if step.ask is not None and not step.only_if]
    for gate in gates:
        if gate not in plan.policy.on_gate and gate in _UNANSWERED:
            sentence, hint = _UNANSWERED[gate]
            raise DefinitionError(sentence, hint=hint)


# What is wrong when no one answers a gate in advance, and how it is answered.
_UNANSWERED = {
    "data-loss": (
        "no operator accepts that messages are missing at the target: the link is asynchronous, so its recovery point is "
        "not zero",
        "add --accept-loss 'who decided it, and why'",
    ),
    _UNFENCED: (
        "no operator attests that clients are kept away from the failed site",
        "add --attest 'how it is fenced, who did it', or --reason 'why to continue without a fence'",
    ),
    "leave-behind": (
        "no operator accepts that queued messages stay at the failed site",
        "add --reason 'why'",
    ),
    "bootstrap": (
        "no operator attests that the instance is empty and set to bootstrap",
        "add --attest 'what was done with its files, who did it'",
    ),
}
