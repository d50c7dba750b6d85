"""One sentence per event: what means something to a person is said, what is bookkeeping is not."""

from __future__ import annotations

from collections.abc import Callable
from typing import get_args

import pytest

from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from orchestrator.reports.wording import sentence
from tests.core.builders import a_plan, created
from tests.reports.conftest import RULING, Told

# Events that are only bookkeeping: what they mean is said by those around them.
SILENT = {"lane.started", "step.ready", "step.applies", "observed", "goal.reached"}
PLAN = a_plan()


def question(**more: object) -> ev.GateOpened:
    return ev.GateOpened.model_validate(
        {"gate": "g", "step": "drain", "choices": ("wait", "revert"), "unattended": "revert", "why": "why", **more}
    )


EXAMPLES: tuple[tuple[ev.Event, str], ...] = (
    (created(PLAN), "planned by ann: scripted/controlled, ny to nj"),
    (ev.RunStarted(by="ann", epoch=1, attended=True), "led by ann"),
    (ev.RunStarted(by="bob", epoch=2, attended=True), "taken over by bob (epoch 2)"),
    (ev.RunPaused(reason="SIGINT from outside"), "paused: SIGINT from outside"),
    (ev.PolicyChanged(policy=ev.Policy(), by="ann"), "decisions changed by ann"),
    (
        ev.ObserverFailed(observer="Hook", text="no route"),
        "an observer failed, but the run continues: Hook: no route",
    ),
    (ev.RunFinished(outcome=ev.Outcome.DONE), "the run ended: done"),
    (ev.LaneResumed(by="ann"), "resumed by ann; everything is read again"),
    (ev.AbortAsked(by="ann", reason=""), "abort asked by ann"),
    (ev.AbortAsked(by="ann", reason="late"), "abort asked by ann: late"),
    (ev.AbortDeclined(reason="it is past it"), "abort declined: it is past it"),
    (ev.StepStarted(step="demote"), "The source gives up activity"),
    (ev.StepSkipped(step="demote", why="ny: open"), "left out: ny: open"),
    (ev.StepWaiting(step="demote", why="Orders relies on it"), "waiting: Orders relies on it"),
    (
        ev.SiteClaimed(step="demote", on="source", thing="set_backbone", claim="hold"),
        "ny: this service relies on set_backbone",
    ),
    (
        ev.SiteClaimed(step="demote", on="source", thing="set_backbone", claim="release"),
        "ny: no other service relies on set_backbone",
    ),
    (ev.ReadingsExpired(step=""), "the readings are too old to act on; reading again"),
    (ev.ReadingsExpired(step="demote", age_s=31), "the readings are too old to act on (31s); reading again"),
    (ev.StepWaived(step="demote"), "continues without the values that cannot be read"),
    (ev.GoalLost(step="drain", why="it came back"), "the result no longer holds: it came back"),
    (
        ev.ActionIntended(
            intent=1, step="demote", on="source", action="set_role", args={"role": "standby"}, attempt=1
        ),
        "ny: set role standby",
    ),
    (
        ev.ActionIntended(intent=2, step="demote", on="target", action="nudge", args={}, attempt=2, undo=True),
        "rolling back: nj: nudge, attempt 2",
    ),
    (ev.ActionEnded(intent=1, effect=Effect.ACCEPTED), ""),
    (
        ev.ActionEnded(
            intent=1,
            effect=Effect.ACCEPTED,
            device="N1",
            sent=("configure", "message-vpn A", "replication state standby"),
        ),
        "N1: replication state standby",
    ),
    (ev.ActionEnded(intent=1, effect=Effect.REJECTED, device="N1", detail="no"), "refused by N1: no"),
    (ev.ActionEnded(intent=1, effect=Effect.NOT_SENT), "not sent"),
    (ev.ActionEnded(intent=1, effect=Effect.DOUBTFUL), "in doubt until a reading shows the effect"),
    (
        ev.DoubtResolved(intent=1, evidence="role active"),
        "a reading shows no effect of the action (role active)",
    ),
    (ev.PointOfNoReturnPassed(step="activate"), "point of no return passed: rollback is no longer possible"),
    (ev.StepDone(step="demote"), "done"),
    (ev.StepDone(step="demote", note="2 of them"), "done: 2 of them"),
    (ev.StepFailed(step="demote", why="no"), "failed: no"),
    (ev.StepRetried(step="demote"), "trying again"),
    (ev.GuardBroke(step="drain", why="bridge down"), "ATTENTION bridge down"),
    (ev.GuardHealed(step="drain"), "the condition holds again, continuing"),
    (ev.Stalled(step="drain", gauge=12.0), "ATTENTION stalled with 12 left; there is no progress"),
    (question(), "decision needed: why: wait / revert"),
    (question(at_risk=7), "decision needed: why (7 at risk): wait / revert"),
    (
        ev.GateDecided(gate="xa", step="transactions", ruling=RULING, item="1-a-b"),
        "decided by ann: 1-a-b: commit (all other branches are committed)",
    ),
    (
        ev.GateWithdrawn(gate="g", why="the condition holds again"),
        "a decision is no longer needed: the condition holds again",
    ),
    (
        question(approval=ev.ApprovalSought(needed=1, plan="0", expires_at=0.0)),
        "decision needed: why: failover approve",
    ),
    (ev.ApprovalGiven(by="bob", host="b2", plan="0", reason="change 4711"), "approved by bob on b2: change 4711"),
    (ev.ApprovalRefused(by="ann", host="b1", why="too late"), "the answer of ann on b1 does not count: too late"),
    (
        ev.Escalated(step="drain", at_risk=None, ruling=RULING),
        "ESCALATED: continues without the guarantee, an unknown number at risk",
    ),
    (ev.RevertStarted(why="enough", undo=("demote",)), "rolling back: enough"),
    (ev.UndoDone(step="demote"), "demote rolled back"),
    (ev.UndoDone(step="demote", skipped="it has no undo"), "demote not rolled back: it has no undo"),
    (ev.LaneEnded(outcome=ev.Outcome.STUCK, reason="refused"), "ended: stuck: refused"),
)


@pytest.mark.parametrize(("event", "words"), EXAMPLES, ids=lambda value: getattr(value, "kind", None))
def test_sentences(event: ev.Event, words: str) -> None:
    """Law: an event is said in these words."""
    assert (sentence(event, PLAN) or "") == words


def test_no_event_is_forgotten() -> None:
    """Law: every kind of event is either said, or listed here as bookkeeping."""
    kinds = {model.model_fields["kind"].default for model in get_args(get_args(ev.Event)[0])}
    assert kinds - {event.kind for event, _ in EXAMPLES} == SILENT


def test_bookkeeping_is_silent(tell: Callable[..., Told]) -> None:
    """Law: of a whole run, the events without a sentence are bookkeeping, or acceptances."""
    told = tell()
    told.lead.start()
    silent = {record.event.kind for record in told.records() if sentence(record.event, PLAN) is None}
    assert silent <= SILENT | {"action.ended"}
