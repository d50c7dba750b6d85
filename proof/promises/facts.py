"""What the judge knows: the facts of a run, gathered from its events one by one. Decides nothing, judges nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Plain = Mapping[str, Any]

# Runbooks whose `done` promises that nothing was lost.
LOSSLESS = frozenset({"solace/controlled", "solace/failback"})
NOT_IDEMPOTENT = frozenset({"complete_transaction", "delete_transaction"})


@dataclass(frozen=True, slots=True)
class Broken:
    """A promise of the design (section 5), by number, that does not hold; ``words`` say what was found."""

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
    orders: int = 0  # how often it really left, by any process


@dataclass(slots=True)
class LaneFacts:
    """One service's passage. ``seen``: the newest reading of each side, with the number of the record it is in."""

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
    is_reverting: bool = False
    is_committed: bool = False
    escalated: Plain | None = None
    outcome: str | None = None
    role_tried: dict[str, int] = field(default_factory=dict)  # side: record of the last attempt to change its role

    def accepted(self, *gates: str) -> bool:
        """Did somebody answer for it by name, with a reason?"""
        return any(
            gate in gates and ruling["choice"] in ("attest", "waive", "accept") and ruling["by"] and ruling["reason"]
            for gate, ruling in self.decided
        )

    def read(self, on: str, reading: str, *, after: int = 0) -> Plain | None:
        """The newest value of a reading in a record later than number ``after``; None: there is none, or unknown."""
        number, seen = self.seen.get((on, reading), (0, {}))
        value = seen.get("value") if number > after else None
        return value if isinstance(value, Mapping) else None


@dataclass(slots=True)
class Case:
    """One run, as far as it is recorded. ``begun``: what was true when it began."""

    plan: Plain
    begun: Plain | None
    lanes: dict[str, LaneFacts]
    steps: dict[str, Plain]
    epoch: int = 1
    seq: int = 1
    is_attended: bool = False
    outcome: str | None = None
    is_paused: bool = False

    @classmethod
    def of(cls, plan: Plain, world: Plain | None) -> Case:
        """The case of a run that is about to begin."""
        lanes = {service: LaneFacts(service) for service in plan["services"]}
        return cls(plan, world, lanes, {step["id"]: step for step in plan["runbook"]["steps"]})

    @property
    def runbook(self) -> str:
        return str(self.plan["runbook"]["runbook"])

    def site(self, side: str) -> str:
        """The name of a side."""
        return str(self.plan[side])

    def take(self, record: Plain) -> None:
        """Gather the facts of one record."""
        event = record["event"]
        self.seq = record["seq"]
        if record["lane"] is not None:
            _TAKE.get(event["kind"], _nothing)(self.lanes[record["lane"]], event, record["seq"])
            return
        match event["kind"]:
            case "run.started":
                self.epoch, self.is_attended, self.outcome = event["epoch"], event["attended"], None
                self.is_paused = False
            case "policy.changed":
                self.plan = {**self.plan, "policy": event["policy"]}
            case "run.finished":
                self.outcome = event["outcome"]
            case "run.paused":
                self.is_paused = True


def _nothing(lane: LaneFacts, event: Plain, number: int) -> None:
    return


def _step_started(lane: LaneFacts, event: Plain, number: int) -> None:
    lane.step = event["step"]


def _observed(lane: LaneFacts, event: Plain, number: int) -> None:
    for seen in event["seen"]:
        lane.seen[(seen["on"], seen["reading"])] = (number, seen)
    lane.has_gauge = lane.has_gauge or event["gauge"] is not None
    lane.is_drained = lane.is_drained or _shows_drained(event)


def _shows_drained(event: Plain) -> bool:
    """Does one and the same round show depth 0 at the source and the target's bridge bound?"""
    values = {(seen["on"], seen["reading"]): seen["value"] or {} for seen in event["seen"]}
    queue = values.get(("source", "replication_queue"), {})
    return queue.get("messages") == 0 and values.get(("target", "replication"), {}).get("bridge") == "bound"


def _intended(lane: LaneFacts, event: Plain, number: int) -> None:
    lane.intents[event["intent"]] = Intent(event)
    if event["action"] == "set_role":
        lane.role_tried[event["on"]] = number
        if event["on"] == "source":
            lane.is_drained = False


def _ended(lane: LaneFacts, event: Plain, number: int) -> None:
    intent = lane.intents.get(event["intent"])
    if intent is not None:
        intent.effect = event["effect"]
        if intent.event["action"] == "set_role":
            lane.role_tried[intent.event["on"]] = number


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


def _lane_ended(lane: LaneFacts, event: Plain, number: int) -> None:
    lane.outcome = event["outcome"]


def _resumed(lane: LaneFacts, event: Plain, number: int) -> None:
    lane.outcome = None
    lane.has_gauge = False  # what was read before is not believed any more


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
    "lane.ended": _lane_ended,
    "lane.resumed": _resumed,
}


def is_fenced(world: Plain, site: str) -> bool:
    """Is every door of the site shut?"""
    doors = world["sites"][site]["doors"]
    return bool(doors) and not any(doors)


def is_foreign(case: Case, lane: LaneFacts, world: Plain, site: str) -> bool:
    """Has the site its present role from somebody else, and since the run began?"""
    last = [change for change in _changes(case, lane, world) if change[1] == site][-1:]
    return bool(last) and last[0][3] == "somebody"


def has_foreign_hand(case: Case, lane: LaneFacts, world: Plain) -> bool:
    """Did anybody but us change a role of the service since the run began?"""
    return any(change[3] == "somebody" for change in _changes(case, lane, world))


def _changes(case: Case, lane: LaneFacts, world: Plain) -> list[Sequence[Any]]:
    """Changes of roles since the run began: moment, site, role, by whom."""
    # By their number: where nothing takes time, what somebody does can be of the very moment in which a run begins.
    before = 0 if case.begun is None else len(case.begun["services"][lane.service]["changes"])
    return list(world["services"][lane.service]["changes"][before:])
