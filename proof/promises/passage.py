"""A lane's passage through its runbook, step by step: the facts on which its decisions could depend. Judges nothing.

Kept only if the judge hears the whole run and the moment of each question (``Judge.asked``). All moments here are the
world's, not those of the clock of the process that wrote the record.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from proof.promises.checks import holds, value_of

Plain = Mapping[str, Any]
Checks = Sequence[Plain]

# Readings from before one of these events no longer count: the lane has moved on, or a device may have changed.
_MOVES = frozenset(
    {"lane.started", "lane.resumed", "step.started", "step.applies", "step.ready", "step.done", "step.skipped"}
    | {"step.failed", "step.retried", "step.waived", "action.intended", "action.ended", "lane.escalated"}
    | {"revert.started", "undo.done", "readings.expired", "site.claimed"}
)
# Two times that differ by at most this are the same moment: a clock that runs for hours is not more exact.
NEAR_S = 1e-3
# Other names under which a reading may be asked, because it is made from one of those readings.
_ALSO: Mapping[str, Sequence[str]] = {"reachability": ("replication", "instance")}


@dataclass(slots=True)
class Asked:
    """The moments at which each reading of a side was asked, with the number of records that the run had then."""

    known: dict[tuple[str, str], list[tuple[float, int]]] = field(default_factory=lambda: defaultdict(list))

    def note(self, on: str, reading: str, moment: float, seq: int) -> None:
        """The reading is asked right now."""
        self.known[on, reading].append((moment, seq))

    def find(self, on: str, reading: str, moment: float) -> int | None:
        """The number of records when the reading was asked at ``moment``. 0: not asked then. None: unknown."""
        names = [name for name in (reading, *_ALSO.get(reading, ())) if (on, name) in self.known]
        for name in names:
            for when, seq in reversed(self.known[on, name]):
                if abs(when - moment) <= NEAR_S:
                    return seq
                if when < moment - NEAR_S:
                    break
        return 0 if names else None


@dataclass(frozen=True, slots=True)
class Round:
    """The readings in one record. ``asked``: the moment of the first question; ``times``: the moment of each question."""

    number: int
    asked: float
    values: Mapping[tuple[str, str], Plain | None]
    times: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def holds(self, checks: Checks) -> bool | None:
        """Do all ``checks`` hold in this round? False if any check is false, even if another check is unknown."""
        said = [
            holds(check, self.values.get((check["on"], check["reading"])), partial(self._there, check))
            for check in checks
        ]
        return False if False in said else None if None in said else True

    def _there(self, check: Plain, place: Plain) -> Any:
        """The value of the other site's reading. Unknown if that reading was asked after the one compared with it."""
        there = self.values.get((place["on"], place["reading"]))
        asked, compared = (self.times.get((one["on"], one["reading"])) for one in (place, check))
        if there is None or asked is None or compared is None or asked > compared:
            return None
        return value_of(there, place["field"])


@dataclass(slots=True)
class Tried:
    """An intent of the present step. ``before``: did its expected effect already hold in the round that it
    ``stands_on``?"""

    number: int
    item: str | None
    undo: bool
    before: bool | None
    stands_on: Round | None
    effect: str | None = None
    ended_at: float = 0.0
    is_repeatable: bool = False
    is_disproved: bool = False
    is_partly: bool = False

    @property
    def may_have_obeyed(self) -> bool:
        """Could this attempt have changed a device?"""
        return (not self.is_disproved or self.is_partly) and self.effect not in ("rejected", "not-sent")


@dataclass(slots=True)
class Passage:
    """``round``: the newest round that was asked since the lane last moved. ``began``: the record of that move.

    ``goal_since``: the moment since which the goal has held in every round. ``low``: the lowest value of the gauge.
    ``low_at``: the moment when the gauge last fell. ``gauge``: its last value. ``broke_at``: the moment when the guard
    was recorded as broken. ``overdue``: the number of rounds that were asked after each deadline.
    """

    service: str
    number: int = 0
    began: int = 0
    began_at: float = 0.0
    step: str = ""
    step_at: float = 0.0
    left_at: float = 0.0  # like ``step_at``, minus the time for which earlier processes watched
    watched_at: float = 0.0  # when the last round of readings was asked for
    applies: bool = False
    applied: bool = False  # like ``applies``, but kept until the step ends
    is_waived: bool = False
    has_failed: bool = False
    failed_unknown: bool = False
    round: Round | None = None
    tried: list[Tried] = field(default_factory=list)
    counted_from: int = 0
    goal_since: float | None = None
    broke_at: float | None = None
    gauge: float | None = None
    low: float | None = None
    low_at: float = 0.0
    waiting_since: float | None = None
    told_to_wait_at: float = 0.0  # when the wait was first decided, perhaps after a sleep
    overdue: dict[str, int] = field(default_factory=dict)
    finished: list[str] = field(default_factory=list)
    undo: list[str] = field(default_factory=list)
    ruled: set[tuple[str, str]] = field(default_factory=set)
    told_to_revert: bool = False
    abort_at: int = 0
    aborts: int = 0
    may_leave: bool = False  # a person agreed, by name and with a reason, to leave the service where it is
    is_left: bool = False
    has_declined: bool = False
    previous: Plain = field(default_factory=dict)
    must_resume: bool = False
    has_started: bool = False
    is_past: bool = False
    is_reverting: bool = False
    is_escalated: bool = False
    open_gates: set[tuple[str, str | None]] = field(default_factory=set)
    outcome: str | None = None

    @property
    def holds_for_others(self) -> bool:
        """Did the last round show that other services rely on a change that this lane would undo?"""
        values = () if self.round is None else self.round.values.items()
        return any(name[1] == "site_claims" and value is not None and not value["granted"] for name, value in values)

    @property
    def is_asked(self) -> bool:
        """Is a question open?"""
        return bool(self.open_gates)

    @property
    def last(self) -> Tried | None:
        """The last attempt in this step."""
        return self.tried[-1] if self.tried else None

    def take(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        """Takes in one more event of this lane. ``step`` is the lane's present step, from the runbook."""
        kind = event["kind"]
        self.number = number
        if kind in _MOVES:
            # One decision covers the actions on several items.
            self._move(number, at, keeps=self.round if event.get("item") is not None else None)
        getattr(self, "_" + kind.replace(".", "_").replace("-", "_"), _nothing)(event, number, at, step)
        self.previous = event

    def see(self, seen: Round, gauge: float | None, at: float, step: Plain | None) -> None:
        """Takes in a round that was asked since the lane last moved."""
        self.round = seen
        self.watched_at = seen.asked
        if step is None:
            return
        guard = seen.holds((*step["guard"], *step.get("reconfirm", ())))
        is_reached = bool(step["until"]) and bool(guard) and bool(seen.holds(step["until"]))
        self.goal_since = (self.goal_since or seen.asked) if is_reached else None
        if gauge is not None:
            self.gauge = gauge
            if self.low is None or gauge < self.low:
                self.low, self.low_at, self.waiting_since = gauge, at, None
                self.overdue.clear()

    def attempts(self, item: str | None, *, undo: bool) -> int:
        """The number of attempts that count. An attempt that was not sent does not count."""
        return sum(
            one.item == item and one.undo is undo and one.effect != "not-sent"
            for one in self.tried[self.counted_from :]
        )

    # How each event changes the passage

    def _move(self, number: int, at: float, *, keeps: Round | None) -> None:
        self.began, self.began_at, self.round = number, at, keeps
        self.goal_since = None
        self.overdue.clear()

    def _anew(self, at: float) -> None:
        """Starts a step, or another try of it."""
        self.step_at = self.low_at = at
        self.applies = self.has_failed = False
        self.gauge = self.low = self.broke_at = self.waiting_since = None

    def _lane_started(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self.has_started = True

    def _lane_resumed(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        if self.has_failed or self.outcome is not None:
            self.open_gates.clear()
            self.counted_from = len(self.tried)
        was_broken = self.broke_at is not None
        self._anew(at)
        self.left_at, self.watched_at = at - max(0.0, self.watched_at - self.left_at), at
        self.broke_at = at if was_broken else None
        self.outcome, self.must_resume = None, False

    def _step_started(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self.step = event["step"]
        self._leave(at)

    def _leave(self, at: float) -> None:
        self._anew(at)
        self.left_at = at
        self.applied = False
        self.open_gates.clear()
        self.tried, self.counted_from, self.is_waived = [], 0, False

    def _step_applies(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self.applies = self.applied = True

    def _step_ready(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self.low_at = at

    def _step_failed(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self.has_failed, self.failed_unknown = True, event["unknown"]
        self.open_gates.clear()

    def _step_retried(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self._anew(at)
        self.open_gates.clear()
        self.counted_from = len(self.tried)

    def _step_waived(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self._step_retried(event, number, at, step)
        self.is_waived = True

    def _step_done(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self.finished.append(event["step"])
        self._leave(at)

    def _step_skipped(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self.finished.append(event["step"])
        self._leave(at)

    def _lane_escalated(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self.is_escalated = True
        if event.get("stays"):  # the step's action follows later, without the guarantee
            self.open_gates.clear()
            self.broke_at = self.waiting_since = None
            return
        self.finished.append(event["step"])
        self._leave(at)

    def _action_intended(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        return  # see ``intend``, which needs the round that ``_move`` has cleared

    def intend(self, event: Plain, before: bool | None, stands_on: Round | None) -> None:
        """An action is intended."""
        self.tried.append(Tried(event["intent"], event["item"], event["undo"], before, stands_on))

    def _action_ended(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        for one in self.tried:
            if one.number == event["intent"]:
                one.effect, one.ended_at, one.is_repeatable = event["effect"], at, event["repeatable"]

    def _doubt_resolved(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        for one in self.tried:
            if one.number == event["intent"]:
                one.is_disproved, one.is_partly = True, event["partly"]

    def _point_of_no_return(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self.is_past = True

    def _guard_broke(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self.broke_at, self.goal_since = at, None

    def _guard_healed(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self._not_counted(at)
        self.broke_at = None
        if self.gauge is None:
            self.waiting_since = None

    def _not_counted(self, at: float) -> None:
        """Nothing can move while the guard is broken, so that time does not count."""
        self.low_at = at if self.broke_at is None else at - max(0.0, self.broke_at - self.low_at)

    def _gate_opened(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self.open_gates.add((event["gate"], event["item"]))

    def _gate_withdrawn(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self.open_gates.discard((event["gate"], event["item"]))

    def _gate_decided(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self.open_gates.discard((event["gate"], event["item"]))
        choice = event["ruling"]["choice"]
        self.told_to_revert = self.told_to_revert or choice == "revert"
        if event["item"] is not None and choice != "stop":
            self.ruled.add((event["step"], event["item"]))
        if event["item"] is None and choice == "wait":
            if self.waiting_since is None and event["ruling"]["by"] == "policy":
                self.waiting_since = self.low_at if self.broke_at is None else self.broke_at
                self.told_to_wait_at = at
            self._not_counted(at)
            self.broke_at = None if self.broke_at is None else at
            for name in ("guard", "stall"):
                self.overdue.pop(name, None)

    def _abort_asked(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self.abort_at = number
        self.may_leave = bool(event.get("leave") and event["by"] and event.get("reason"))
        if event["by"] not in ("--fail-fast", "--timeout"):
            self.aborts += 1

    def _abort_declined(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self.abort_at, self.has_declined = 0, True

    def _revert_started(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self.is_reverting, self.abort_at, self.told_to_revert = True, 0, False
        self.undo = list(event["undo"])
        self._undo_next(at)

    def _undo_done(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self.undo = self.undo[:-1]
        self._undo_next(at)

    def _undo_next(self, at: float) -> None:
        self.step = self.undo[-1] if self.undo else ""
        self._leave(at)

    def _lane_ended(self, event: Plain, number: int, at: float, step: Plain | None) -> None:
        self.outcome, self.abort_at, self.told_to_revert = event["outcome"], 0, False
        self.is_left = event.get("left", False)


def _nothing(event: Plain, number: int, at: float, step: Plain | None) -> None:
    return
