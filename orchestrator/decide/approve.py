"""Steps in which people agree to something: an open question, or a comparison of both sites not found safe. Pure."""

from __future__ import annotations

from orchestrator import events as ev
from orchestrator.decide.gates import answer
from orchestrator.decide.judge import fresh, judge_one, patience
from orchestrator.decide.moves import Next, Observe, say
from orchestrator.failback import unsafe_reasons
from orchestrator.readings import Endpoints
from orchestrator.runbook import Approval, Check, Side, Step
from orchestrator.state import Lane

RISK_GATE = "unsafe-return"
_BOTH: tuple[Side, ...] = ("source", "target")
# How many reasons a question names; the record of the readings has them all.
_REASONS_SHOWN = 5


def approve(plan: ev.Plan, lane: Lane, step: Step, ask: Approval, attended: bool) -> Next:
    """Put the question of the step, once, and wait for the answer."""
    gate = lane.open_gate(ask.gate)
    if gate is not None:
        return answer(plan, lane, gate, attended)
    return say(
        ev.GateOpened(gate=ask.gate, step=step.id, choices=ask.choices, unattended=ask.unattended, why=ask.text)
    )


def compare(plan: ev.Plan, lane: Lane, step: Step, now: float, attended: bool) -> Next:
    """Is it safe to go back? Both sites' endpoints are read in one round and judged by the seed's rule."""
    gate = lane.open_gate(RISK_GATE)
    if gate is not None:
        return answer(plan, lane, gate, attended)
    request = Observe(lane.service, lane.mark, tuple((side, "endpoints") for side in _BOTH))
    if not fresh(lane):
        return Next(requests=(request,))
    found: list[Endpoints] = []
    for side in _BOTH:
        seen = lane.reading(side, "endpoints")
        if seen is None or not isinstance(seen.value, Endpoints):
            # The check is only there to say which reading was not had.
            missing = Check(on=side, reading="endpoints", where={"items": ""})
            return patience(lane, step, judge_one(plan, lane, missing), request, now, undo=False)
        found.append(seen.value)
    reasons = unsafe_reasons(found[0], found[1], plan.outage)
    if not reasons:
        return say(ev.StepDone(step=step.id, note=f"{len(found[0].items)} endpoints, all safe"))
    more = f", and {len(reasons) - _REASONS_SHOWN} more" if len(reasons) > _REASONS_SHOWN else ""
    return say(
        ev.GateOpened(
            gate=RISK_GATE,
            step=step.id,
            choices=("accept", "stop"),
            unattended="stop",
            why="it is not shown to be safe to go back: " + "; ".join(reasons[:_REASONS_SHOWN]) + more,
        )
    )
