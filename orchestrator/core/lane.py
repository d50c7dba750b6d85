"""The state of one service in a run, as an immutable value. Only ``lane_fold`` makes the next value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from orchestrator.core.lifecycle import LANE_ENDS, RESUMABLE_ENDS
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from orchestrator.model.runbook import Side


class Stage(StrEnum):
    """The stage of a lane in its step."""

    BETWEEN = "between"  # the next step has not started
    REQUIRE = "require"  # its preconditions are being read
    MAIN = "main"  # waiting, or working through items
    ACT = "act"  # an action is under way; nothing is decided until its outcome is known
    PROVE = "prove"  # the action ended; a reading must show its effect
    FAILED = "failed"  # the step cannot continue; a gate, or the end of the lane, follows


@dataclass(frozen=True, slots=True)
class Intent:
    """An action tried in this step. ``effect`` None: not ended. ``withheld``: the permit refused the action, so it does
    not count as an attempt. ``repeatable``: it was accepted, and may be sent again. ``disproved``: a reading showed that
    the action's whole effect is not there; ``partly``: a part of it is there. ``before``: the readings right before the
    action was intended."""

    number: int
    action: str
    attempt: int
    item: str | None
    at: float
    effect: Effect | None = None
    ended_at: float = 0.0
    detail: str = ""
    withheld: bool = False
    repeatable: bool = False
    disproved: bool = False
    partly: bool = False
    before: tuple[ev.Seen, ...] = ()

    @property
    def may_have_obeyed(self) -> bool:
        """Could the device be in another state because of this action?"""
        return (not self.disproved or self.partly) and self.effect not in (Effect.REJECTED, Effect.NOT_SENT)


@dataclass(frozen=True)
class Lane:
    """The state of one service in the run.

    ``mark`` numbers the stages. A round of readings counts only if it was asked for under the present mark.
    ``stage_at`` and ``step_at`` are when stage and step started, seconds since the epoch. ``left_at`` is ``step_at``
    minus the time for which earlier processes watched the step.
    """

    service: str
    status: str = "ready"
    step: int = 0
    stage: Stage = Stage.BETWEEN
    mark: int = 0
    stage_at: float = 0.0
    step_at: float = 0.0
    left_at: float = 0.0
    seen: tuple[ev.Seen, ...] = ()
    seen_mark: int = -1
    seen_at: float = 0.0
    seen_took: float = 0.0  # seconds from the first question of that round to its record
    known_at: float = 0.0  # when a round of readings without a failure was last taken, or the stage started
    intents: tuple[Intent, ...] = ()
    intended: int = 0
    attempts_from: int = 0  # attempts before the last retry by a person do not count against the limit
    gates: tuple[ev.GateOpened, ...] = ()
    rulings: Mapping[tuple[str, str], ev.Ruling] = field(default_factory=dict)
    gauge: tuple[tuple[float, float], ...] = ()
    low: float | None = None  # the lowest number of the gauge since the wait started; None: not read
    # When a new low was read, or the wait started. The time for which the guard was broken since then is added.
    moved_at: float = 0.0
    stalled: bool = False
    guard_broke_at: float | None = None
    # Since when nothing has improved, while the policy answers the gate with ``wait``; None once something improves.
    waiting_since: float | None = None
    goal_since: float | None = None
    condition_met: bool = False
    waived: bool = False  # an unknown value does not stop this step
    expired: int = 0  # how many rounds in a row were too old to act on, because devices were slow
    is_waiting: bool = False  # the lane waits for other services of the site, and the wait is recorded
    claimed: frozenset[tuple[str, str]] = frozenset()  # (thing, claim) granted for the present attempt of this step
    holds: tuple[tuple[Side, str], ...] = ()  # (side, thing) of a whole site that this service relies on
    failure: str = ""
    remedy: str = ""  # what an operator does about the failure, or about the failure that is rolled back
    undo_remedy: str = ""  # what an operator does about an undo that failed
    failure_unknown: bool = False
    turning: str = ""  # why the lane will be rolled back; the rollback has not started yet
    completed: tuple[str, ...] = ()  # items that an action was done to, as far as is known
    undo: tuple[str, ...] = ()  # ids of steps to roll back; the last one comes first
    left: tuple[str, ...] = ()  # ids of steps that changed something and have no undo
    changed: bool = False  # some action of this run took effect on this service, as far as is known
    escalated_at_risk: int | None = None
    abort: ev.AbortAsked | None = None
    given_up: bool = False  # a person left the lane as it is, permanently
    came_from: str = ""  # the status before needs-operator or stuck
    outcome: ev.Outcome | None = None
    reason: str = ""

    @property
    def ended(self) -> bool:
        """Has the lane ended? Nothing more is decided for it unless a person resumes it."""
        return self.status in LANE_ENDS

    @property
    def settled(self) -> bool:
        """Has the lane ended permanently, so that no resume can continue it?"""
        return self.ended and (self.given_up or self.status not in RESUMABLE_ENDS)

    @property
    def outstanding(self) -> tuple[Intent, ...]:
        """Intents whose outcome is not recorded."""
        return tuple(intent for intent in self.intents if intent.effect is None)

    def open_gate(self, gate: str, item: str | None = None) -> ev.GateOpened | None:
        """The open gate of this name, or None."""
        return next((one for one in self.gates if one.gate == gate and one.item == item), None)

    def reading(self, on: str, reading: str) -> ev.Seen | None:
        """This reading in the round under the present mark, or None."""
        if self.seen_mark != self.mark:
            return None
        return next((one for one in self.seen if one.on == on and one.reading == reading), None)
