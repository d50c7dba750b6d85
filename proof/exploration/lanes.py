"""The real decisions as an automaton: lanes in canonical form, and the effect of each stimulus. Time is abstracted.

A lane's moments are kept as ages, reduced to the deadlines of its step that have passed. Of a duration, only the fact
that it is over is kept. Texts, numbers of intents and names of persons are removed, because no decision checks them. Each
step from one canonical lane to the next is computed once, by ``decide`` and the fold, and remembered.

This module must never decide anything itself. Only ``decide`` determines the effect of a stimulus.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, Protocol

from orchestrator.core.decide import ClaimSite, Next, Observe
from orchestrator.core.drain_estimate import number_left
from orchestrator.core.run import Intent, Lane, Stage, fold_lane
from orchestrator.family.contract import ActionSpec
from orchestrator.model import events as ev
from orchestrator.model.outcome import Effect
from orchestrator.model.runbook import Answer, Runbook, Step
from proof.exploration.family import E, Live, P
from proof.exploration.rounds import NOW

SERVICE = "service"
# A deadline is exceeded by this many seconds: some are compared with "at least", others with "more than".
_PAST = 0.001
# A lane that makes more decisions than this at once is in an endless loop, as in the engine.
_DECISIONS_MAX = 200

Stimulus = tuple[object, ...]


class Decide(Protocol):
    """The signature of ``orchestrator.core.decide.decide``, so that a broken one can be explored as a control."""

    def __call__(self, plan: ev.Plan, lane: Lane, now: float, *, attended: bool) -> Next: ...


Follow = Callable[[ev.Plan, Lane, ev.GateOpened, ev.Ruling], tuple[ev.Event, ...]]


class Turn(NamedTuple):
    """The effect of a stimulus: the next lane's number, and all events recorded on the way.

    ``broken``: the text of an error that the core raised instead.
    """

    lane: int
    events: tuple[ev.Event, ...]
    broken: str = ""


@dataclass(frozen=True)
class LaneState(Generic[P, E]):
    """A canonical lane and its requests. ``request``: the round of readings, or the claim, that the lane has asked for.

    ``can_wait``: time may pass, because the lane decides again later. ``deadlines``: the ages that matter, ascending.
    ``settle``: the number of seconds after which an effect can no longer come. ``looks``: the fields that its step
    checks. ``live``: the parts that can still matter.
    """

    lane: Lane
    request: Observe | ClaimSite | None
    can_wait: bool
    deadlines: tuple[float, ...]
    settle: float
    looks: frozenset[str]
    live: Live[P, E]

    @property
    def can_resume(self) -> bool:
        """Would a process that takes over do anything with this lane?"""
        return self.lane.status != "ready" and not self.lane.settled


class Lanes(Generic[P, E]):
    """All canonical lanes met so far, by number."""

    def __init__(
        self,
        live: Callable[[Runbook, Lane], Live[P, E]],
        plan: ev.Plan,
        decide: Decide,
        follow: Follow,
        actions: Mapping[str, ActionSpec],
    ) -> None:
        self._repeatable = frozenset(name for name, spec in actions.items() if spec.idempotent)
        self._live = live
        self._plan = plan
        self._decide = decide
        self._follow = follow
        self.standings: list[LaneState[P, E]] = []
        self._numbers: dict[object, int] = {}
        self._places: dict[object, tuple[Ages, Live[P, E]]] = {}
        self._turns: dict[tuple[int, Stimulus], Turn] = {}

    def begin(self) -> Turn:
        """The first lane, after its start."""
        return self.turn(-1, (), lambda: self._advance(Lane(SERVICE), NOW, [], attended=True))

    def turn(self, number: int, stimulus: Stimulus, make: Callable[[], Turn]) -> Turn:
        """The result of ``make``, called once for each lane and stimulus. An error of the core is a finding, and does not
        end the walk."""
        key = (number, stimulus)
        found = self._turns.get(key)
        if found is None:
            try:
                found = make()
            except Exception as error:  # noqa: BLE001 - a door: any error of the core is what is searched for
                found = Turn(-1, (), f"{type(error).__name__}: {error}")
            self._turns[key] = found
        return found

    # --- stimuli ------------------------------------------------------------------------------------------------------

    def answered(self, number: int, seen: tuple[ev.Seen, ...]) -> Turn:
        """The round that the lane asked for was answered."""
        standing = self.standings[number]
        assert standing.request is not None  # only a lane that asked is answered
        follows = standing.request.gauge if isinstance(standing.request, Observe) else None
        gauge = None if follows is None else number_left(follows, seen)
        # The values are checked already, and a walk makes very many of these events.
        event = ev.Observed.model_construct(mark=standing.lane.mark, seen=seen, gauge=gauge)
        return self._fold(standing.lane, [event])

    def ended(self, number: int, effect: Effect) -> Turn:
        """The first action under way ended."""
        lane = self.standings[number].lane
        intent = lane.outstanding[0].number
        repeatable = effect is Effect.ACCEPTED and lane.outstanding[0].action in self._repeatable
        event = ev.ActionEnded(intent=intent, effect=effect, detail="as the device said", repeatable=repeatable)
        return self._fold(lane, [event])

    def ruled(self, number: int, gate: ev.GateOpened, choice: Answer) -> Turn:
        """A person chose ``choice`` at ``gate``."""
        lane = self.standings[number].lane
        ruling = ev.Ruling(choice=choice, reason="a reason", by="person")
        return self._fold(lane, list(self._follow(self._plan, lane, gate, ruling)))

    def nobody(self, number: int) -> Turn:
        """Nobody answers: now or, if nothing is decided yet, at the moment when the lane wants to read again."""
        lane = self.standings[number].lane
        move = self._decide(self._plan, lane, NOW, attended=False)
        is_early = not move.events and not move.requests and move.wake is not None
        return self._advance(lane, max(move.wake or NOW, NOW) if is_early else NOW, [], attended=False)

    def called_off(self, number: int) -> Turn:
        """A person asks to abort the lane."""
        return self._fold(self.standings[number].lane, [_ABORT])

    def resumed(self, number: int, *, abort: bool) -> Turn:
        """The process died and another process takes over, as ``Engine._opening`` records it."""
        lane = self.standings[number].lane
        events: list[ev.Event] = [
            ev.ActionEnded(intent=intent.number, effect=Effect.DOUBTFUL, detail="the process ended")
            for intent in lane.outstanding
        ]
        events.append(ev.LaneResumed(by="person"))
        return self._fold(lane, [*events, _ABORT] if abort else events)

    def waited(self, number: int, seconds: float | None) -> Turn:
        """Time passed: until the lane wants to read again (None), or ``seconds``."""
        lane = self.standings[number].lane
        if seconds is not None:
            return self._advance(lane, NOW + seconds, [], attended=True)
        wake = self._decide(self._plan, lane, NOW, attended=True).wake
        return self._advance(lane, NOW if wake is None else max(wake, NOW), [], attended=True)

    # --- the loop of the engine ---------------------------------------------------------------------------------------

    def _fold(self, lane: Lane, events: list[ev.Event]) -> Turn:
        for event in events:
            lane = fold_lane(lane, event, NOW)
        return self._advance(lane, NOW, events, attended=True)

    def _advance(self, lane: Lane, now: float, events: list[ev.Event], *, attended: bool) -> Turn:
        """Decide until the lane waits for something, as ``Engine._advance`` does."""
        for _ in range(_DECISIONS_MAX):
            move = self._decide(self._plan, lane, now, attended=attended)
            if not move.events:
                return Turn(self._number(lane, move, now), tuple(events))
            for event in move.events:
                lane = fold_lane(lane, event, now)
                events.append(event)
        return Turn(-1, tuple(events), "decisions go in a circle")

    def _number(self, lane: Lane, move: Next, now: float) -> int:
        request = next((one for one in move.requests if isinstance(one, Observe | ClaimSite)), None)
        step, place = self._step(lane), (lane.status, lane.came_from, lane.step, lane.undo[-1:])
        if place not in self._places:
            self._places[place] = (Ages.of(step), self._live(self._plan.runbook, lane))
        ages, matters = self._places[place]
        lane = _canonical(lane, now, ages, is_asking=request is not None)
        if not matters.rulings:
            lane = replace(lane, rulings={})
        asks = _asks_of(request)
        key = (_key(lane), asks, move.wake is not None)
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.standings)
            settle, looks = (0.0, frozenset[str]()) if step is None else (step.settle, looked_at(step))
            can_wait = move.wake is not None and request is None
            self.standings.append(LaneState(lane, request, can_wait, ages.all, settle, looks, matters))
        return number

    def _step(self, lane: Lane) -> Step | None:
        runbook = self._plan.runbook
        if lane.status == "reverting" and lane.undo:
            return runbook.steps[runbook.index_of(lane.undo[-1])]
        return runbook.steps[lane.step] if lane.step < len(runbook.steps) else None


_ABORT = ev.AbortAsked(by="person", reason="a reason")


def _asks_of(request: Observe | ClaimSite | None) -> object:
    """The key of a request, independent of its lane."""
    match request:
        case Observe():
            return request.asks, request.gauge, request.after
        case ClaimSite():
            return request.on, request.thing, request.wish
        case _:
            return None


_UNTOLD = {"why": "", "remedy": "", "at_risk": None}
_RULING = ev.Ruling(choice="stop", reason="", by="person")


class Ages(NamedTuple):
    """The durations with which a decision in a step compares an age, grouped by the moment from which they count. Each is
    increased a little, so that it has just passed."""

    stage: tuple[float, ...] = ()
    step: tuple[float, ...] = ()
    left: tuple[float, ...] = ()
    known: tuple[float, ...] = ()
    moved: tuple[float, ...] = ()
    broke: tuple[float, ...] = ()
    waiting: tuple[float, ...] = ()
    goal: tuple[float, ...] = ()
    ended: tuple[float, ...] = ()

    @classmethod
    def of(cls, step: Step | None) -> Ages:
        """The durations of one step."""
        if step is None:
            return cls()
        effect = (step.settle, step.within) if step.do is not None else ()
        each = step.for_each is not None
        # The exploration gives no answers in advance. So ``wait_at_most`` matters only if the unattended choice is wait.
        rules = [rule for rule in (step.when_guard_breaks, step.when_stalled) if rule is not None]
        waits = [rule.wait_at_most for rule in rules if rule.unattended == "wait"]
        return cls(
            stage=_passed(step.patience, *(() if each else effect)),
            step=_passed(step.timeout),
            left=_passed(step.delay if each else None),
            known=_passed(step.patience),
            moved=_passed(step.when_stalled.after if step.when_stalled else None),
            broke=_passed(step.when_guard_breaks.grace if step.when_guard_breaks else None),
            waiting=_passed(*waits),
            goal=_passed(step.hold),
            ended=_passed(*effect) if each else (),
        )

    @property
    def all(self) -> tuple[float, ...]:
        """All durations, ascending."""
        return tuple(sorted({seconds for ages in self for seconds in ages}))


def _passed(*durations: float | None) -> tuple[float, ...]:
    return tuple(sorted({seconds + _PAST for seconds in durations if seconds}))


def looked_at(step: Step) -> frozenset[str]:
    """The fields that decide how a step goes."""
    checks = [*step.checks]
    if step.undo is not None:
        checks += [*step.undo.require, *step.undo.expect]
    follows = step.progress
    up_to = None if follows is None else follows.up_to
    fields = {name for check in checks for name in check.where}
    fields |= {other.field for check in checks for other in check.elsewhere}
    return frozenset(fields | {one.field for one in (follows, up_to) if one is not None})


# --- canonical form ---------------------------------------------------------------------------------------------------


def _canonical(lane: Lane, now: float, ages: Ages, *, is_asking: bool) -> Lane:
    """The same lane as far as any decision can tell, with ``NOW`` as its present. A requested round replaces the last
    one."""
    is_timed = lane.stage in (Stage.REQUIRE, Stage.MAIN, Stage.PROVE) and not lane.ended
    is_fresh = lane.seen_mark == lane.mark and not lane.ended and not is_asking

    def moment(at: float, passed: tuple[float, ...]) -> float:
        return NOW - max((seconds for seconds in passed if is_timed and seconds <= now - at), default=0.0)

    attempts_from, intents = _intents(lane, lambda at: moment(at, ages.ended))
    return replace(
        lane,
        mark=0,
        seen_mark=0 if is_fresh else -1,
        seen=lane.seen if is_fresh else (),
        seen_at=NOW,
        stage_at=moment(lane.stage_at, ages.stage),
        step_at=moment(lane.step_at, ages.step),
        left_at=moment(lane.left_at, ages.left),
        known_at=moment(lane.known_at, ages.known),
        moved_at=moment(lane.moved_at, ages.moved),
        guard_broke_at=None if lane.guard_broke_at is None else moment(lane.guard_broke_at, ages.broke),
        waiting_since=moment(lane.waiting_since, ages.waiting)
        if ages.waiting and lane.waiting_since is not None
        else None,
        goal_since=None if lane.goal_since is None else moment(lane.goal_since, ages.goal),
        # The next number is compared only with the lowest one.
        gauge=((moment(lane.gauge[-1][0], ages.known), lane.gauge[-1][1] if lane.low is None else lane.low),)
        if lane.gauge
        else (),
        intents=intents,
        intended=len(intents),
        attempts_from=attempts_from,
        gates=tuple(gate.model_copy(update=_UNTOLD) if gate.why else gate for gate in lane.gates),
        rulings={
            place: _RULING.model_copy(update={"choice": ruling.choice})
            for place, ruling in sorted(lane.rulings.items())
        },
        failure="" if not lane.failure else "a reason",
        remedy="",  # a text for people: no decision depends on it
        undo_remedy="",
        turning="" if not lane.turning else "a reason",
        expired=0,
        seen_took=0.0,
        completed=(),
        escalated_at_risk=None,
        reason="",
        abort=None if lane.abort is None else _ABORT,
    )


def _intents(lane: Lane, moment: Callable[[float], float]) -> tuple[int, tuple[Intent, ...]]:
    """The attempts that count against the limit, and each kind of earlier attempt once. Only the kind of an earlier
    attempt matters, not the number."""
    earlier: dict[object, Intent] = {}
    for intent in lane.intents[: lane.attempts_from]:
        kept = replace(intent, number=0, attempt=1, at=NOW, ended_at=moment(intent.ended_at), detail="")
        earlier.pop(kept, None)  # the last one of an item is checked, so a repeated one moves to the end
        earlier[kept] = kept
    later = [
        replace(intent, attempt=1, at=NOW, ended_at=moment(intent.ended_at), detail="")
        for intent in lane.intents[lane.attempts_from :]
    ]
    intents = (*earlier.values(), *later)
    return len(earlier), tuple(replace(intent, number=number) for number, intent in enumerate(intents, 1))


def _key(lane: Lane) -> object:
    """The key of a canonical lane. A ``Lane`` holds a mapping and cannot be a key itself."""
    parts = dict(vars(lane))
    parts["rulings"] = tuple((place, ruling.choice) for place, ruling in lane.rulings.items())
    parts["seen"] = tuple((one.on, one.reading, one.value, one.failure) for one in lane.seen)
    return tuple(parts.values())
