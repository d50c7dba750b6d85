"""One service's own passage through a run, as an immutable value. ``lane_fold`` makes the next one; no one else does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from orchestrator.core.lifecycle import LANE_ENDS, RESUMABLE_ENDS
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from orchestrator.model.runbook import Side


class Stage(StrEnum):
    """Where in its step a lane is."""

    BETWEEN = "between"  # the next step has not started
    REQUIRE = "require"  # its preconditions are being read
    MAIN = "main"  # waiting, or working through items
    ACT = "act"  # an action is under way; nothing is decided until its outcome is known
    PROVE = "prove"  # the action ended; a reading must show what it did
    FAILED = "failed"  # it cannot continue; a gate, or the end of the lane, follows


@dataclass(frozen=True, slots=True)
class Intent:
    """An action tried in this step. ``effect`` None: not ended. ``withheld``: the permit refused it, so it was no
    attempt. ``disproved``: a reading showed that it did not have its effect; ``partly``: but a part of it. ``before``:
    what was read right before it was intended."""

    number: int
    action: str
    attempt: int
    item: str | None
    at: float
    effect: Effect | None = None
    ended_at: float = 0.0
    detail: str = ""
    withheld: bool = False
    disproved: bool = False
    partly: bool = False
    before: tuple[ev.Seen, ...] = ()

    @property
    def may_have_obeyed(self) -> bool:
        """Could the device be in another state because of this?"""
        return (not self.disproved or self.partly) and self.effect not in (Effect.REJECTED, Effect.NOT_SENT)


@dataclass(frozen=True)
class Lane:
    """One service's own passage through the run.

    ``mark`` numbers the stages: a round of readings counts only if it was asked under the present mark.
    ``stage_at`` and ``step_at`` are when stage and step started, seconds since the epoch. ``left_at``: the same
    as ``step_at``, minus the time for which earlier processes watched the step.
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
    known_at: float = 0.0  # when a whole round of readings was last had, or the stage started
    intents: tuple[Intent, ...] = ()
    intended: int = 0
    attempts_from: int = 0  # attempts before the last retry by a person do not count against the limit
    gates: tuple[ev.GateOpened, ...] = ()
    rulings: Mapping[tuple[str, str], ev.Ruling] = field(default_factory=dict)
    gauge: tuple[tuple[float, float], ...] = ()
    low: float | None = None  # the lowest number of the gauge since the wait started; None: it was not read
    moved_at: float = 0.0  # when a new low was read, or the wait started; later by the time the guard was broken
    stalled: bool = False
    guard_broke_at: float | None = None
    waiting_since: float | None = None  # when this was first answered with a wait in advance; None once it got better
    goal_since: float | None = None
    condition_met: bool = False
    waived: bool = False  # in this step, what cannot be read does not hold it up
    expired: int = 0  # how many rounds in a row took too long to act on
    is_waiting: bool = False  # for other services of the site, and that is recorded
    claimed: frozenset[tuple[str, str]] = frozenset()  # (thing, claim) granted for the present attempt of this step
    holds: tuple[tuple[Side, str], ...] = ()  # (side, thing) of a whole site that this service relies on
    failure: str = ""
    failure_unknown: bool = False
    turning: str = ""  # why it is to be rolled back; it has not started yet
    completed: tuple[str, ...] = ()  # items that an action was done to, as far as is known
    undo: tuple[str, ...] = ()  # ids of steps to roll back; the last one comes first
    left: tuple[str, ...] = ()  # ids of steps that changed something and have no undo
    changed: bool = False  # some action of this run took effect on this service, as far as is known
    escalated_at_risk: int | None = None
    abort: ev.AbortAsked | None = None
    given_up: bool = False  # it was left as it is, permanently
    came_from: str = ""  # the status before needs-operator or stuck
    outcome: ev.Outcome | None = None
    reason: str = ""

    @property
    def ended(self) -> bool:
        """Nothing more is decided for this lane unless a person resumes it."""
        return self.status in LANE_ENDS

    @property
    def settled(self) -> bool:
        """Ended permanently: no resume will take it further."""
        return self.ended and (self.given_up or self.status not in RESUMABLE_ENDS)

    @property
    def outstanding(self) -> tuple[Intent, ...]:
        """Intents whose outcome is not recorded."""
        return tuple(intent for intent in self.intents if intent.effect is None)

    def open_gate(self, gate: str, item: str | None = None) -> ev.GateOpened | None:
        """The open question of that name, or None."""
        return next((one for one in self.gates if one.gate == gate and one.item == item), None)

    def reading(self, on: str, reading: str) -> ev.Seen | None:
        """What the round under the present mark saw of it, or None."""
        if self.seen_mark != self.mark:
            return None
        return next((one for one in self.seen if one.on == on and one.reading == reading), None)
