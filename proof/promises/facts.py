"""The judge's knowledge: the facts of a run, gathered from its events one by one. Decides and judges nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from proof.promises.durations import seconds
from proof.promises.passage import Asked, Passage
from proof.promises.passage import Plain as Plain

_RESUMABLE = ("needs-operator", "stuck")


@dataclass(frozen=True, slots=True)
class Broken:
    """A broken promise of docs/explanation/reliability.md, by number. ``words`` say what was found."""

    promise: int
    words: str

    def __str__(self) -> str:
        return f"promise {self.promise}: {self.words}"


@dataclass(slots=True)
class Intent:
    """An action that is about to be tried, as recorded. ``effect`` None: its outcome is not recorded."""

    event: Plain
    effect: str | None = None
    is_disproved: bool = False
    orders: int = 0  # how many times any process really sent it


@dataclass(slots=True)
class LaneFacts:
    """The facts of one service. ``seen``: the newest value of each reading of each side, with the number of its record.
    ``tried``: the record number of the last attempt at each action on a side. ``is_drained``: since the source was last
    told to give up its clients or take them, one round of readings showed that the target has everything.
    """

    service: str
    step: str = ""
    intents: dict[int, Intent] = field(default_factory=dict)
    seen: dict[tuple[str, str], tuple[int, Plain]] = field(default_factory=dict)
    rulings: dict[str, Plain] = field(default_factory=dict)
    decided: list[tuple[str, Plain]] = field(default_factory=list)
    gates: dict[tuple[str, str | None], Plain] = field(default_factory=dict)
    done: list[str] = field(default_factory=list)
    reversible: list[str] = field(default_factory=list)
    waived: set[str] = field(default_factory=set)
    ordered: list[Plain] = field(default_factory=list)
    is_drained: bool = False
    has_gauge: bool = False
    is_turning: bool = False  # a decision or an abort requires a rollback, which has not started
    is_reverting: bool = False
    is_committed: bool = False
    escalated: Plain | None = None
    outcome: str | None = None
    left: bool = False  # the service permanently stays where it is
    tried: dict[tuple[str, str], int] = field(default_factory=dict)

    def may_have_made(self, on: str, **args: str) -> bool:
        """May a side have obeyed an action with these arguments, according to the record?"""
        return any(
            intent.event["on"] == on
            and intent.event["args"] == args
            and not intent.is_disproved
            and intent.effect not in ("rejected", "not-sent")
            for intent in self.intents.values()
        )

    def accepted(self, *gates: str) -> bool:
        """Did a person accept one of these gates by name, with a reason?"""
        return any(
            gate in gates and ruling["choice"] in ("attest", "waive", "accept") and ruling["by"] and ruling["reason"]
            for gate, ruling in self.decided
        )

    def read(self, on: str, reading: str, *, after: int = 0) -> Plain | None:
        """The newest value of a reading in a record later than number ``after``. None: no such record, or an unknown
        value."""
        number, seen = self.seen.get((on, reading), (0, {}))
        value = seen.get("value") if number > after else None
        return value if isinstance(value, Mapping) else None


@dataclass(slots=True)
class Hearing:
    """Messages to a run from outside, as far as the judge was told of them.

    ``said``: answers of people (service, gate, item, choice, by whom, and the reason that the question gave; None: any).
    ``words``: the answers about the approval of the plan that has ``digest``. ``called_off``: the number of abort
    requests to each lane. ``could_hear``: the lanes without an outcome when the first abort was recorded. ``has_left``:
    the terminal is gone.
    """

    said: set[tuple[str, str, str | None, str, str, str | None]] = field(default_factory=set)
    words: list[Plain] = field(default_factory=list)
    digest: str = ""
    called_off: dict[str, int] = field(default_factory=dict)
    could_hear: set[str] | None = None
    has_left: bool = False


@dataclass(slots=True)
class Case:
    """One run, as far as it is recorded. ``begun``: the world when the run started.

    ``is_whole``: the judge hears every event and the moment of each question to a device. Only then ``passages`` are
    kept. ``offset``: the number of seconds by which the record is ahead of the world. ``batch``: the last record before
    the batch that contains the present one. ``started_at``: the moment from which the run's timeout counts. ``others``:
    runs of the same world.
    """

    plan: Plain
    begun: Plain | None
    lanes: dict[str, LaneFacts]
    steps: dict[str, Plain]
    epoch: int = 1
    seq: int = 1
    is_attended: bool = False
    outcome: str | None = None
    is_paused: bool = False
    is_whole: bool = False
    offset: float = 0.0
    at: float = 0.0
    started_at: float | None = None
    batch: int = 1
    asked: Asked = field(default_factory=Asked)
    hearing: Hearing = field(default_factory=Hearing)
    passages: dict[str, Passage] = field(default_factory=dict)
    forgiven: frozenset[str] = frozenset()
    is_approved: bool = False
    changers: set[str] = field(default_factory=set)
    ended_at: dict[str, int] = field(default_factory=dict)
    others: list[Case] = field(default_factory=list)

    @classmethod
    def of(cls, plan: Plain, world: Plain | None, *, is_whole: bool = False) -> Case:
        """The case of a run that is about to start."""
        lanes = {service: LaneFacts(service) for service in plan["services"]}
        case = cls(plan, world, lanes, {step["id"]: step for step in plan["runbook"]["steps"]}, is_whole=is_whole)
        if is_whole:
            case.passages = {service: Passage(service) for service in lanes}
        return case

    @property
    def runbook(self) -> str:
        return str(self.plan["runbook"]["runbook"])

    def site(self, side: str) -> str:
        """The name of a side."""
        return str(self.plan[side])

    @property
    def is_overdue(self) -> bool:
        """Is the run's timeout over, by the times in the record?"""
        limit = self.plan["policy"].get("timeout")
        return limit is not None and self.started_at is not None and self.at >= self.started_at + seconds(limit)

    def note_start(self, event: Plain) -> None:
        """The run's timeout counts from its first process, or from the approval that let the run start."""
        is_first = event["kind"] == "run.started" and self.started_at is None and self.plan["approval"] is None
        is_agreed = event["kind"] == "gate.decided" and not any(one.has_started for one in self.passages.values())
        if is_first or is_agreed:
            self.started_at = self.at

    def take(self, record: Plain) -> None:
        """Gather the facts of one record."""
        event = record["event"]
        self.seq = record["seq"]
        if record["lane"] is not None:
            _TAKE.get(event["kind"], _nothing)(self.lanes[record["lane"]], event, record["seq"])
            if event["kind"] == "lane.ended":
                self.ended_at[record["lane"]] = record["seq"]
            return
        match event["kind"]:
            case "run.started":
                self.epoch, self.is_attended, self.outcome = event["epoch"], event["attended"], None
                self.is_paused, self.hearing.has_left = False, False
                self.forgiven = frozenset(name for name, lane in self.lanes.items() if lane.outcome is not None)
                for passage in self.passages.values():
                    can_continue = passage.outcome in (None, *_RESUMABLE) and not passage.is_left
                    passage.must_resume = passage.has_started and can_continue
            case "policy.changed":
                self.plan = {**self.plan, "policy": event["policy"]}
                self.changers |= {event["account"]} - {""}
            case "run.finished":
                self.outcome = event["outcome"]
            case "run.paused":
                self.is_paused = True


def _nothing(lane: LaneFacts, event: Plain, number: int) -> None:
    return


def _step_started(lane: LaneFacts, event: Plain, number: int) -> None:
    lane.step, lane.has_gauge = event["step"], False


def _observed(lane: LaneFacts, event: Plain, number: int) -> None:
    for seen in event["seen"]:
        lane.seen[(seen["on"], seen["reading"])] = (number, seen)
    lane.has_gauge = lane.has_gauge or event["gauge"] is not None


def _intended(lane: LaneFacts, event: Plain, number: int) -> None:
    lane.intents[event["intent"]] = Intent(event)
    lane.tried[event["on"], event["action"]] = number


def _ended(lane: LaneFacts, event: Plain, number: int) -> None:
    intent = lane.intents.get(event["intent"])
    if intent is not None:
        intent.effect = event["effect"]
        lane.tried[intent.event["on"], intent.event["action"]] = number


def _resolved(lane: LaneFacts, event: Plain, number: int) -> None:
    if event["intent"] in lane.intents:
        lane.intents[event["intent"]].is_disproved = True


def _step_done(lane: LaneFacts, event: Plain, number: int) -> None:
    lane.done.append(event["step"])
    if event["reversible"]:
        lane.reversible.append(event["step"])


def _waived(lane: LaneFacts, event: Plain, number: int) -> None:
    lane.waived.add(event["step"])


def _opened(lane: LaneFacts, event: Plain, number: int) -> None:
    lane.gates[(event["gate"], event["item"])] = event


def _decided(lane: LaneFacts, event: Plain, number: int) -> None:
    lane.gates.pop((event["gate"], event["item"]), None)
    lane.decided.append((event["gate"], event["ruling"]))
    lane.is_turning = lane.is_turning or event["ruling"]["choice"] == "revert"
    if event["item"] is not None:
        lane.rulings[event["item"]] = event["ruling"]


def _withdrawn(lane: LaneFacts, event: Plain, number: int) -> None:
    lane.gates.pop((event["gate"], event["item"]), None)


def _committed(lane: LaneFacts, event: Plain, number: int) -> None:
    lane.is_committed = True


def _escalated(lane: LaneFacts, event: Plain, number: int) -> None:
    lane.escalated = event


def _reverting(lane: LaneFacts, event: Plain, number: int) -> None:
    lane.is_reverting = True
    lane.reversible = list(event["undo"])


def _undone(lane: LaneFacts, event: Plain, number: int) -> None:
    if lane.reversible:
        lane.reversible.pop()


def _abort_asked(lane: LaneFacts, event: Plain, number: int) -> None:
    lane.is_turning = True


def _abort_declined(lane: LaneFacts, event: Plain, number: int) -> None:
    lane.is_turning = False


def _lane_ended(lane: LaneFacts, event: Plain, number: int) -> None:
    lane.outcome, lane.left = event["outcome"], event.get("left", False)
    # A lane that could not roll back (``needs-operator``) still counts as turning back until it is resumed.
    lane.is_turning = lane.is_turning and lane.outcome == "needs-operator"


def _resumed(lane: LaneFacts, event: Plain, number: int) -> None:
    lane.is_turning = lane.is_turning and lane.outcome is None
    lane.outcome = None
    lane.has_gauge = False  # readings from before the resume no longer count


def _retried(lane: LaneFacts, event: Plain, number: int) -> None:
    lane.has_gauge = False


_TAKE = {
    "step.started": _step_started,
    "observed": _observed,
    "action.intended": _intended,
    "action.ended": _ended,
    "doubt.resolved": _resolved,
    "step.done": _step_done,
    "step.waived": _waived,
    "step.retried": _retried,
    "gate.opened": _opened,
    "gate.decided": _decided,
    "gate.withdrawn": _withdrawn,
    "point-of-no-return": _committed,
    "lane.escalated": _escalated,
    "revert.started": _reverting,
    "undo.done": _undone,
    "abort.asked": _abort_asked,
    "abort.declined": _abort_declined,
    "lane.ended": _lane_ended,
    "lane.resumed": _resumed,
}


def changes_since(case: Case, lane: LaneFacts, world: Plain) -> list[Sequence[Any]]:
    """The changes of a service since the run started: moment, site, new state, cause."""
    # Select by count, not by time: if nothing takes time, a person's change can have the same moment as the run's start.
    before = 0 if case.begun is None else len(case.begun["services"][lane.service]["changes"])
    return list(world["services"][lane.service]["changes"][before:])


def read_moment(case: Case, lane: LaneFacts, order: Plain) -> float | None:
    """The world's moment at which the first reading that an order depends on was asked. None: unknown."""
    last = case.passages[lane.service].last if case.is_whole and "now" in order else None
    if last is None or last.stands_on is None:
        return None
    age: float = order["now"] - last.stands_on.asked
    return float(order["moment"]) - age


def words(order: Plain) -> str:
    """An order in words."""
    args = " ".join(str(value) for value in order["args"].values())
    return f"{order['service']}: {order['site']} is told {order['action']} {args}"
