"""A runbook fitted to the two sites of a plan: details that only the sites' declarations know are written into the
runbook before it is recorded. So a dry run shows them, people approve them, and a resume needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.family.contract import ActionSpec, Call
from orchestrator.model.runbook import Runbook, Side, Step, Undo


def fitted(runbook: Runbook, actions: Mapping[Side, Mapping[str, ActionSpec]]) -> Runbook:
    """``runbook`` with the undo that a site's own command declares, and without claims on things of a single service."""
    point = next((index for index, step in enumerate(runbook.steps) if step.point_of_no_return), len(runbook.steps))
    steps = [_fitted(step, actions, is_before=index < point) for index, step in enumerate(runbook.steps)]
    return runbook.model_copy(update={"steps": tuple(steps)})


def _fitted(step: Step, actions: Mapping[Side, Mapping[str, ActionSpec]], *, is_before: bool) -> Step:
    do = step.do
    spec = None if do is None else actions[do.on].get(do.action)
    if do is None or spec is None:
        return step
    if step.claim is not None and spec.shuts is None:
        step = step.model_copy(update={"claim": None})
    if not is_before or step.undo is not None or step.for_each is not None:
        return step
    undo = spec.undo_of(Call("", do.args))
    return (
        step if undo is None else step.model_copy(update={"undo": Undo(do=do.model_copy(update={"args": undo.args}))})
    )
