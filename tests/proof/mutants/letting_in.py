"""Broken on purpose: who lets clients in, what of a link is believed, and what nobody is asked, for AMPS instances."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orchestrator.core.decide
import orchestrator.core.decide.evaluate
import orchestrator.core.decide.gates
from orchestrator.core.decide.act import Task
from orchestrator.core.decide.decision import Next, emit
from orchestrator.core.decide.evaluate import Verdict
from orchestrator.core.lane import Lane
from orchestrator.model import events as ev
from orchestrator.model.runbook import Approval, Check, Step
from tests.proof.mutants.acting import unproven
from tests.proof.mutants.deciding import believing
from tests.proof.mutants.swapping import Mutant, Swap

_ACT = sys.modules["orchestrator.core.decide.act"]
_AMPS = "amps"


def _unasked(gate: str) -> tuple[Swap, ...]:
    """A question that is not put."""

    def make(approve: Any) -> Any:
        def pass_by(plan: ev.Plan, lane: Lane, step: Step, ask: Approval, attended: bool) -> Next:
            if ask.gate == gate:
                return emit(ev.StepDone(step=step.id))
            found: Next = approve(plan, lane, step, ask, attended)
            return found

        return pass_by

    return ((orchestrator.core.decide, "approve", make),)


def _believed(is_believed: Callable[[Check], bool]) -> tuple[Swap, ...]:
    """Some checks hold as soon as they are answered, whatever the answer is."""

    def seen(lane: Lane, check: Check) -> bool:
        return is_believed(check) and lane.reading(check.on, check.reading) is not None

    return ((orchestrator.core.decide.evaluate, "judge_one", believing(seen)),)


def _looks_at(reading: str, *fields: str) -> Callable[[Check], bool]:
    return lambda check: check.reading == reading and any(field in check.where for field in fields)


def _nobody_answers(judge_one: Any) -> Any:
    def judge_deafly(plan: ev.Plan, lane: Lane, check: Check) -> Verdict:
        if check.reading == "reachability" and lane.reading(check.on, check.reading) is not None:
            return Verdict(check.where.get("answers") is False)
        found: Verdict = judge_one(plan, lane, check)
        return found

    return judge_deafly


def _unguarded_undo(act: Any) -> Any:
    def act_at_once(plan: ev.Plan, lane: Lane, task: Task, now: float) -> Next:
        found: Next = act(plan, lane, replace(task, require=()) if task.undo else task, now)
        return found

    return act_at_once


LETTING_IN = (
    Mutant(
        "closing-not-proven",
        "clients count as shut out, or let in, as soon as that was sent",
        ((_ACT, "_prove", unproven(lambda task: task.do.action == "set_client_transports")),),
        _AMPS,
    ),
    Mutant(
        "catching-up-believed",
        "the mate is taken to have everything as soon as the link is looked at",
        _believed(_looks_at("links", "caught_up")),
        _AMPS,
    ),
    Mutant(
        "link-not-verified",
        "a link is taken for connected, sync and keeping up",
        _believed(_looks_at("links", "connected", "sync", "keeping_up")),
        _AMPS,
    ),
    Mutant(
        "queues-not-awaited",
        "queue messages are taken to be handed over",
        _believed(_looks_at("queues", "owned")),
        _AMPS,
    ),
    Mutant(
        "the-living-taken-for-lost",
        "an instance that answers is taken for lost",
        ((orchestrator.core.decide.evaluate, "judge_one", _nobody_answers),),
        _AMPS,
    ),
    Mutant(
        "returned-taken-for-whole",
        "an instance that came back is taken for recovered",
        _believed(_looks_at("instance", "recovered")),
        _AMPS,
    ),
    Mutant("loss-accepted-by-nobody", "messages are given up without a question", _unasked("data-loss"), _AMPS),
    Mutant("death-attested-by-nobody", "nobody answers for a lost instance", _unasked("unfenced"), _AMPS),
    Mutant("stale-tail-accepted-by-nobody", "what was not replicated is let in", _unasked("stale-tail"), _AMPS),
    Mutant("emptiness-attested-by-nobody", "a bootstrap begins without a question", _unasked("bootstrap"), _AMPS),
    Mutant(
        "undo-without-a-look",
        "what was done is taken back whatever is read before",
        (
            (orchestrator.core.decide, "act", _unguarded_undo),
            (orchestrator.core.decide.gates, "act", _unguarded_undo),
        ),
        _AMPS,
    ),
)
