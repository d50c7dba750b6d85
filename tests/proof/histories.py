"""Small histories, told to the judge by hand: no engine has a part in them, and no world but a few lines of plain data.

A ``Control`` is a history in which one rule must speak, and its neighbour, which differs in what the rule is about.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from proof.promises import Broken, Judge

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
        self, runbook: str, world: dict[str, Any], steps: tuple[dict[str, Any], ...] = (), **plan: Any
    ) -> None:
        self.world = world
        described = {"runbook": runbook, "steps": list(steps)}
        more = {"source": SOURCE, "target": TARGET, "policy": _POLICY, "outage": None, **plan}
        self.judge = Judge({"services": [SERVICE], "runbook": described, **more}, copy.deepcopy(world))
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
        self.tell("action.intended", intent=self._intents, step=step, on=on, action=action, args=args, undo=undo)
        return {"service": SERVICE, "on": on, "site": _SITES[on], "action": action, "args": args, "epoch": 1}

    def send(self, order: dict[str, Any], **other: Any) -> None:
        """It leaves, now."""
        self.judge.order({**order, "moment": self.world["moment"], **other}, copy.deepcopy(self.world))

    def order(self, action: str, on: str = "source", **more: Any) -> None:
        """Intended, and sent."""
        self.send(self.intend(action, on, **more))

    def ended(self, effect: str = "accepted") -> None:
        """What was sent last has this outcome."""
        self.tell("action.ended", intent=self._intents, effect=effect)

    def read(self, *seen: tuple[str, str, dict[str, Any]], gauge: float | None = None) -> None:
        """One round of readings: side, reading, value."""
        shown = [{"on": on, "reading": reading, "value": value} for on, reading, value in seen]
        self.tell("observed", seen=shown, gauge=gauge)

    def ask(self, gate: str, *choices: str, item: str | None = None) -> None:
        """A question is open."""
        self.tell("gate.opened", gate=gate, item=item, choices=choices, step="", unattended="stop")

    def say(self, gate: str, choice: str, *, item: str | None = None, by: str = "ann", reason: str = "known") -> None:
        """It is decided."""
        ruling = {"choice": choice, "by": by, "reason": reason}
        self.tell("gate.decided", gate=gate, item=item, ruling=ruling)

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
