"""Small histories, told to the judge by hand: no engine has a part in them, and no world but a few lines of plain data.

A ``Control`` is a history in which one rule must speak, and its neighbour, which differs in what the rule is about.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from proof.promises import Broken, Judge
from proof.promises.rules import Rules

SERVICE, SOURCE, TARGET = "A", "ny", "nj"
_SITES = {"source": SOURCE, "target": TARGET}
_POLICY: dict[str, Any] = {"on_gate": {}, "transactions": {}}


def vpn_world() -> dict[str, Any]:
    """A message VPN, active at the source, and nothing to be told of it."""
    return {
        "moment": 10.0,
        "lags": 0.0,
        "sites": {site: {"serves": True, "doors": [True]} for site in (SOURCE, TARGET)},
        "services": {
            SERVICE: {
                "replicated": True,
                "roles": {SOURCE: "active", TARGET: "standby"},
                "queued": {SOURCE: 0, TARGET: 0},
                "both_active": [],
                "changes": [],
                "effects": [],
                "transactions": {SOURCE: {}, TARGET: {}},
                "manager_due": False,
                "lost": 0,
                "received": [],
            }
        },
    }


def amps_world(*, sync: bool) -> dict[str, Any]:
    """An AMPS service whose source lets clients in, and whose target does not."""
    instance = {
        "phase": "running",
        "connected": True,
        "cut_since": None,
        "configured_sync": sync,
        "sync": sync,
        "empty": False,
        "proxied": False,
        "owned": 0,
        "ahead": 0,
        "sampled_at": 9.0,
    }
    return {
        "moment": 10.0,
        "lags": 0.0,
        "sites": {site: {"serves": True} for site in (SOURCE, TARGET)},
        "services": {
            SERVICE: {
                "instances": {
                    SOURCE: {**instance, "doors": [True], "takes_clients": True, "clients": 3},
                    TARGET: {**instance, "doors": [False], "takes_clients": False, "clients": 0},
                },
                "changes": [],
                "both_open": [],
                "effects": [],
                "lost": 0,
                "received": [],
            }
        },
    }


class History:
    """One run. ``world`` may be changed between what is told; the judge saw it as it was when the run began."""

    def __init__(
        self,
        runbook: str,
        world: dict[str, Any],
        steps: tuple[dict[str, Any], ...] = (),
        *,
        is_whole: bool = False,
        rules: Rules | None = None,
        **plan: Any,
    ) -> None:
        self.world = world
        described = {"runbook": runbook, "steps": list(steps)}
        more = {"source": SOURCE, "target": TARGET, "policy": _POLICY, "outage": None, **plan}
        plain = {"services": [SERVICE], "runbook": described, **more}
        self.judge = Judge(plain, copy.deepcopy(world), is_whole=is_whole, rules=rules)
        self.seq = 1
        self._intents = 0

    @property
    def service(self) -> dict[str, Any]:
        found: dict[str, Any] = self.world["services"][SERVICE]
        return found

    def instance(self, side: str) -> dict[str, Any]:
        """What is true of an AMPS instance."""
        found: dict[str, Any] = self.service["instances"][_SITES[side]]
        return found

    def tell(self, kind: str, *, lane: str | None = SERVICE, epoch: int | None = None, **event: Any) -> None:
        """One more event is on record."""
        self.seq += 1
        record = {"seq": self.seq, "lane": lane, "event": {"kind": kind, **event}}
        self.judge.record(record, copy.deepcopy(self.world), epoch=epoch)

    def intend(
        self, action: str, on: str = "source", *, step: str = "move", undo: bool = False, **args: str
    ) -> dict[str, Any]:
        """An intent is on disk; the order that carries it out."""
        self._intents += 1
        more: dict[str, Any] = {"step": step, "on": on, "action": action, "args": args, "undo": undo, "item": None}
        self.tell("action.intended", intent=self._intents, **more)
        return {"service": SERVICE, "on": on, "site": _SITES[on], "action": action, "args": args, "epoch": 1}

    def send(self, order: dict[str, Any], **other: Any) -> None:
        """It leaves, now."""
        self.judge.order({**order, "moment": self.world["moment"], **other}, copy.deepcopy(self.world))

    def order(self, action: str, on: str = "source", **more: Any) -> None:
        """Intended, and sent."""
        self.send(self.intend(action, on, **more))

    def ended(self, effect: str = "accepted", *, repeatable: bool = False) -> None:
        """What was sent last has this outcome."""
        self.tell("action.ended", intent=self._intents, effect=effect, repeatable=repeatable)

    def read(self, *seen: tuple[str, str, dict[str, Any]], gauge: float | None = None) -> None:
        """One round of readings: side, reading, value."""
        shown = [{"on": on, "reading": reading, "value": value} for on, reading, value in seen]
        self.tell("observed", seen=shown, gauge=gauge)

    def ask(self, gate: str, *choices: str, item: str | None = None) -> None:
        """A question is open."""
        self.tell(
            "gate.opened", gate=gate, item=item, choices=choices, step="", unattended="stop", why="", at_risk=None
        )

    def say(self, gate: str, choice: str, *, item: str | None = None, by: str = "ann", reason: str = "known") -> None:
        """It is decided."""
        ruling = {"choice": choice, "by": by, "reason": reason}
        self.tell("gate.decided", gate=gate, step="", item=item, ruling=ruling)

    def answered(self, gate: str, choice: str = "accept", *, item: str | None = None) -> None:
        """Asked, and decided by name with a reason."""
        self.ask(gate, choice, item=item)
        self.say(gate, choice, item=item)

    def end(self, outcome: str | None) -> None:
        """The lane ended so, and with it the run; nobody leads it any more. None: it just stops."""
        if outcome is not None:
            self.tell("lane.ended", outcome=outcome)
            self.tell("run.finished", lane=None, outcome=outcome)
        self.judge.end(copy.deepcopy(self.world))


def step(name: str = "move", **more: Any) -> dict[str, Any]:
    """A step as a record has it, with everything that it leaves out."""
    nothing = dict.fromkeys(("ask", "compare", "do", "undo", "when_guard_breaks", "when_stalled", "progress"))
    nothing |= dict.fromkeys(("for_each", "decide", "timeout"))
    lists: dict[str, Any] = {one: [] for one in ("only_if", "require", "expect", "until", "never", "guard")}
    times = {"within": "15s", "patience": "30s", "settle": "2s", "delay": "0s", "hold": "0s"}
    return {"id": name, **nothing, **lists, **times, "attempts": 3, "point_of_no_return": False, **more}


def check(reading: str = "health", on: str = "source", **where: Any) -> dict[str, Any]:
    """A condition on a reading."""
    return {"on": on, "reading": reading, "where": where}


TURN = {"on": "source", "action": "turn", "args": {}}
_WHOLE: dict[str, Any] = {"waves": None, "approval": None, "services": [SERVICE]}


class Whole(History):
    """A run of which the judge hears everything, with its moments. ``now``: the world's time."""

    def __init__(
        self,
        *steps: dict[str, Any],
        runbook: str = "solace/suspend",
        world: dict[str, Any] | None = None,
        **plan: Any,
    ) -> None:
        policy = {"fail_fast": False, **_POLICY}
        world = world or vpn_world()
        super().__init__(runbook, world, steps, is_whole=True, **{**_WHOLE, "policy": policy, **plan})
        self.now = 100.0
        self._leaders = 0

    def tell(self, kind: str, *, lane: str | None = SERVICE, epoch: int | None = None, **event: Any) -> None:
        """One more event is on record, written now."""
        self.seq += 1
        event = {"kind": kind, **_FILLED.get(kind, {}), **event}
        if "epoch_of_it" in event:
            event["epoch"] = event.pop("epoch_of_it")
        record = {"seq": self.seq, "lane": lane, "at": self.now, "event": event}
        self.judge.case.batch = self.seq - 1
        self.judge.record(record, copy.deepcopy(self.world), epoch=epoch)

    def wait(self, seconds: float) -> None:
        """So much time passes."""
        self.now += seconds

    def leads(self, *, attended: bool = False) -> None:
        """A process takes the run; a person is there to be asked, or is not."""
        self._leaders += 1
        self.tell("run.started", lane=None, attended=attended, epoch_of_it=self._leaders)

    def started(self, name: str = "move", *, attended: bool = False, service: str = SERVICE) -> None:
        """A process leads the run, the lane has started, and so has this step."""
        self.leads(attended=attended)
        self.tell("lane.started", lane=service)
        self.tell("step.started", step=name, lane=service)

    def shows(self, gauge: float | None = None, *, on: str = "source", reading: str = "health", **value: Any) -> None:
        """A reading is asked and answered right now."""
        self.judge.asked(on, reading, self.now)
        self.arrives(gauge, on=on, reading=reading, **value)

    def shows_together(self, *said: tuple[str, str, dict[str, Any]]) -> None:
        """One round, asked and answered right now: side, reading, value."""
        for on, reading, _ in said:
            self.judge.asked(on, reading, self.now)
        seen = [
            {"on": on, "reading": reading, "asked_at": self.now, "value": {"kind": reading, **value}}
            for on, reading, value in said
        ]
        self.tell("observed", seen=seen, gauge=None)

    def arrives(
        self,
        gauge: float | None = None,
        *,
        on: str = "source",
        reading: str = "health",
        asked: float | None = None,
        **value: Any,
    ) -> None:
        """The answer to a reading that was ``asked`` before is on record."""
        when = self.now if asked is None else asked
        seen = {"on": on, "reading": reading, "asked_at": when, "value": {"kind": reading, **value}}
        self.tell("observed", seen=[seen], gauge=gauge)

    def tries(self, effect: str | None = "accepted", *, name: str = "move", undo: bool = False) -> None:
        """An action is intended, sent, and ends so."""
        self.send(self.intend("turn", step=name, undo=undo))
        if effect is not None:
            self.ended(effect)


# What an event has that a history does not say.
_FILLED: dict[str, dict[str, Any]] = {
    "action.intended": {"item": None, "undo": False},
    "step.failed": {"unknown": False},
    "step.done": {"reversible": False},
    "undo.done": {"skipped": ""},
    "doubt.resolved": {"partly": False},
    "gate.opened": {"why": "", "at_risk": None, "item": None},
    "abort.asked": {"by": "ann"},
}


@dataclass(frozen=True)
class Control:
    """``tell`` gives the history with harm (true) or its neighbour; with harm the judge must find just ``words``."""

    family: str
    promise: int
    words: str
    tell: Callable[[bool], History]

    @property
    def name(self) -> str:
        return f"{self.family}-{self.tell.__name__.strip('_')}"

    def found(self, *, harm: bool) -> list[Broken]:
        """What the judge finds."""
        return self.tell(harm).judge.broken


class Controls(list[Control]):
    """Of one family."""

    def __init__(self, family: str) -> None:
        super().__init__()
        self.family = family

    def __call__(self, promise: int, words: str) -> Callable[[Callable[[bool], History]], Callable[[bool], History]]:
        """Take in a history as the control of the rule that says ``words``."""

        def take(tell: Callable[[bool], History]) -> Callable[[bool], History]:
            self.append(Control(self.family, promise, words, tell))
            return tell

        return take
