"""The desk: where a person at the terminal decides what the runbook leaves to people."""

from __future__ import annotations

import os
import select
import sys
import termios
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TextIO

from orchestrator.characters import STEERING
from orchestrator.cli.render.terminal import say
from orchestrator.core.run import Run
from orchestrator.model import events as ev
from orchestrator.model.families import amount
from orchestrator.model.runbook import Answer

MEANING: dict[Answer, str] = {
    "wait": "wait for another while",
    "revert": "take back what was done; in a planned move the source serves again, and nothing is lost",
    "escalate": "go on WITHOUT the guarantee; what is still queued at the source is at risk",
    "retry": "try this step again",
    "stop": "stop here; `failover resume` goes on later",
    "commit": "heuristically commit it: right if all other branches of its transaction are committed",
    "rollback": "heuristically roll it back: right if any other branch is rolled back",
    "waive": "go on without what cannot be read; your name and reason are recorded",
    "attest": "you have seen to it yourself; your name and reason stand for the reading",
    "later": "not now; it stays to be done, and the record says so",
    "accept": "go on and accept the risk; your name and reason are recorded",
    "approve": "you agree to the plan; `failover approve` says so from your own account",
    "deny": "the plan is not to begin; nothing is changed",
    "break-glass": "begin without the approvals of others; your name and reason are recorded",
}
# How often a waiting question looks whether it has become moot, seconds.
_LOOK_EVERY = 0.2
# How many seconds the end of a run waits for its question to leave the screen. A terminal that was stopped (Ctrl-S)
# must not hold back the report.
_CLOSE_WITHIN = 2.0
_LINE_MAX = 4096

_Key = tuple[str, str, str | None]  # lane, gate, item


class TerminalPrompter:
    """Asks on stderr, reads stdin. Also an observer: a question that answers itself meanwhile is withdrawn, also while
    it waits behind another one. ``run`` is as it stands when the desk is set up, with the questions that are open.
    ``stdin``: where a person types, if not at the process's own. ``outage``: by service, the clock of an outage that goes
    on, or empty."""

    def __init__(
        self,
        who: ev.Who,
        quiet: Callable[[bool], None],
        run: Run,
        *,
        stdin: TextIO | None = None,
        outage: Callable[[str], str] = lambda lane: "",
    ) -> None:
        self._who, self._outage, self._family = who, outage, run.plan.runbook.family
        self._stdin = stdin or sys.stdin
        self._quiet = quiet  # tells the screen to leave the terminal alone while somebody types
        self._open: dict[_Key, ev.GateOpened] = {
            (lane.service, gate.gate, gate.item): gate for lane in run.lanes.values() for gate in lane.gates
        }
        self._closed: dict[_Key, str] = {}  # by whom, or why, those that are not asked any more
        self._asking = threading.Lock()  # held while a question is on the screen

    def __call__(self, record: ev.Record, run: Run) -> None:
        lane = record.lane or ""
        match record.event:
            case ev.GateOpened():
                self._open[(lane, record.event.gate, record.event.item)] = record.event
            case ev.GateDecided() | ev.GateWithdrawn():
                key = lane, record.event.gate, record.event.item
                self._closed[key] = _closed(record.event)  # first: the other thread may read both at any instant
                self._open.pop(key, None)
            case ev.LaneEnded() | ev.RevertStarted() | ev.Escalated():
                self._open = {key: gate for key, gate in self._open.items() if key[0] != lane}

    def ask(self, service: str, gate: ev.GateOpened) -> ev.Ruling | None:
        """Put the question; None when it became moot, perhaps before its turn came, or nobody answers any more."""
        with self._asking:
            if not self._is_open(service, gate):
                return None
            self._quiet(True)
            try:
                self._put(service, gate)
                chosen = self._choice(service, gate)
                reason = None if chosen is None else self._reason(chosen, service, gate)
                if chosen is None or reason is None:
                    return None
                return ev.Ruling(choice=chosen, reason=reason, **self._who._asdict())
            finally:
                self._quiet(False)

    def close(self) -> None:
        """This process no longer leads the run: withdraw the question on the screen, with its reason, before
        returning."""
        for key in list(self._open):
            self._closed[key] = "this question stays open; `failover resume` asks it again"
        self._open = {}
        if self._asking.acquire(timeout=_CLOSE_WITHIN):
            self._asking.release()

    def _choice(self, service: str, gate: ev.GateOpened) -> Answer | None:
        while (typed := self._answer("decision", service, gate)) is not None:
            chosen = _match(typed, gate.choices)
            if chosen is not None:
                return chosen
            say(f"  please answer one of: {', '.join(gate.choices)}")
        return None

    def _reason(self, chosen: Answer, service: str, gate: ev.GateOpened) -> str | None:
        self._say_outage(service)
        while (reason := self._answer("reason", service, gate)) is not None:
            if STEERING.search(reason):
                say("  a reason is one line of plain text, without keys such as arrows")
                continue
            if reason or chosen in ("wait", "retry", "stop"):
                return reason or "no reason given"
            say(f"  {chosen} is recorded with its reason; please give one")
        return None

    def _put(self, service: str, gate: ev.GateOpened) -> None:
        self._forget_typed()
        say("")
        say(f"  DECISION NEEDED  {service}: {gate.why}")
        self._say_outage(service)
        if gate.at_risk is not None:
            say(f"  at risk: {amount(gate.at_risk, self._family)}")
        for choice in gate.choices:
            say(f"    {choice:<9} {MEANING[choice]}")

    def _say_outage(self, service: str) -> None:
        """What it costs to think."""
        if clock := self._outage(service):
            say(f"  {clock}")

    def _answer(self, what: str, service: str, gate: ev.GateOpened) -> str | None:
        """One line typed; None when the question became moot or the terminal is gone."""
        sys.stderr.write(f"  {what}> ")
        sys.stderr.flush()
        while self._is_open(service, gate):
            if select.select([self._stdin], [], [], _LOOK_EVERY)[0]:
                return self._typed_line()
        say("")
        say(f"  {self._closed.get((service, gate.gate, gate.item), 'this question is not asked any more')}")
        return None

    def _typed_line(self) -> str | None:
        """A line as the terminal hands it over; None when there is no more to come."""
        try:
            line = os.read(self._stdin.fileno(), _LINE_MAX)
        except OSError:  # the terminal is gone
            return None
        return line.decode("utf-8", "replace").strip() if line else None

    def _forget_typed(self) -> None:
        """What was typed before a question was put is no answer to it."""
        with suppress(termios.error):
            termios.tcflush(self._stdin, termios.TCIFLUSH)

    def _is_open(self, service: str, gate: ev.GateOpened) -> bool:
        """Is this very question asked now, and no other of its name?"""
        return self._open.get((service, gate.gate, gate.item)) == gate


def _closed(event: ev.GateDecided | ev.GateWithdrawn) -> str:
    if isinstance(event, ev.GateWithdrawn):
        return f"this question has answered itself: {event.why}"
    return f"{event.ruling.by} has answered: {event.ruling.choice} ({event.ruling.reason})"


def _match(typed: str, choices: tuple[Answer, ...]) -> Answer | None:
    """The choice typed whole, or by a beginning that fits only one."""
    fits = [choice for choice in choices if typed and choice.startswith(typed.lower())]
    return fits[0] if len(fits) == 1 else None
