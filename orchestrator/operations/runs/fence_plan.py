"""The effect of a failed site's fence plan on the plan of a run: the text of the question, and who answers it.

The operator wrote the fence plan in advance (docs/sources/solace-procedure.md, uncontrolled 2). This module never
chooses another way.
"""

from __future__ import annotations

from orchestrator.errors import DefinitionError
from orchestrator.model import events as ev
from orchestrator.model.runbook import Step

_UNFENCED = "unfenced"


def with_instructions(plan: ev.Plan) -> ev.Plan:
    """The plan with the fence plan's instruction for a person, added to the question whether the failed site is
    fenced."""
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
    """Raise ``DefinitionError`` if the runbook is certain to ask a question that is not answered in advance."""
    gates = [step.ask.gate for step in plan.runbook.steps if step.ask is not None and not step.only_if]
    for gate in gates:
        if gate not in plan.policy.on_gate and gate in _UNANSWERED:
            sentence, hint = _UNANSWERED[gate]
            raise DefinitionError(sentence, hint=hint)


# By gate: the error if the gate is not answered in advance, and how to answer it.
_UNANSWERED = {
    "data-loss": (
        "the link is asynchronous, so messages may be missing at the target; an operator must accept this loss",
        "add --accept-loss 'who decided it, and why'",
    ),
    _UNFENCED: (
        "an operator must attest that clients are kept away from the failed site",
        "add --attest 'how the site is fenced, and by whom', or --reason 'why to continue without a fence'",
    ),
    "leave-behind": (
        "an operator must accept that queued messages stay at the failed site",
        "add --reason 'why'",
    ),
    "bootstrap": (
        "an operator must attest that the instance is empty and set to bootstrap",
        "add --attest 'what was done with the files of the instance, and by whom'",
    ),
}
