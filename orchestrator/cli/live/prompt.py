"""The desk: asks the person at the terminal the questions that the runbook leaves to people.

If many services ask in the same words, the question is asked once, and the answer is for all of them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from orchestrator.ages import seconds
from orchestrator.characters import STEERING
from orchestrator.core.run import Run
from orchestrator.counting import counted, named
from orchestrator.engine.deadline import BY, due_at
from orchestrator.model import events as ev
from orchestrator.model.families import amount
from orchestrator.model.runbook import Answer
from orchestrator.reports.remedies import at_question

if TYPE_CHECKING:
    from orchestrator.cli.live.asking import Asking

MEANING: dict[Answer, str] = {
    "wait": "keep waiting; the question is asked again if nothing changes",
    "revert": "roll back; in a planned move the source serves again, and nothing is lost",
    "escalate": "continue WITHOUT the guarantee; data that is still queued at the source is at risk",
    "retry": "try this step again",
    "stop": "stop here; `failover resume` continues later",
    "commit": "commit this branch heuristically; right if all other branches of the transaction are committed",
    "rollback": "roll this branch back heuristically; right if any other branch of the transaction is rolled back",
    "waive": "continue without the values that cannot be read; your name and reason are recorded",
    "attest": "confirm that you did this yourself; your name and reason are recorded in place of a reading",
    "later": "do this later; the record shows that it was not done now",
    "accept": "continue and accept the risk; your name and reason are recorded",
    "approve": "you agree to the plan; run `failover approve` from your own account to approve it",
    "deny": "the run does not start; nothing is changed",
    "break-glass": "start without the approvals of others; your name and reason are recorded",
}
# The effect of the unattended answer. It may be none of the question's own answers, such as a rollback at a question
# about each transaction.
_ALONE: dict[Answer, str] = {
    "wait": "the run keeps waiting",
    "revert": "the run rolls back at once",
    "escalate": "the run continues WITHOUT the guarantee at once",
    "stop": "the run stops here, and `failover resume` continues it",
    "deny": "the run is denied at once",
}
# Seconds between checks whether a waiting question is still open.
_CHECK_EVERY = 0.2
# Seconds that the end of a run waits until its question has left the screen. A stopped terminal (Ctrl-S) must not delay
# the report.
_CLOSE_WITHIN = 2.0
# Answers that have only a temporary effect, and need no reason.
_FOR_NOW = ("wait", "retry", "stop")

_Key = tuple[str, str, str | None]  # lane, gate, item
_Words = tuple[str, str | None, tuple[Answer, ...], str]  # two questions with the same words are the same


class TerminalPrompter:
    """Asks questions through ``asking``. It is also an observer: if a question is answered or withdrawn meanwhile, it is
    removed, also while it waits behind another question. ``run`` is the state at the start, with its open questions.
    ``outage`` returns the clock of a service's present outage, or empty. ``now`` is in seconds since the epoch."""

    def __init__(
        self,
        who: ev.Who,
        asking: Asking,
        run: Run,
        now: Callable[[], float],
        *,
        outage: Callable[[str], str] = lambda lane: "",
    ) -> None:
        self._who, self._asking, self._outage, self._plan = who, asking, outage, run.plan
        self._run, self._now = run, now
        self._open: dict[_Key, ev.GateOpened] = {
            (lane.service, gate.gate, gate.item): gate for lane in run.lanes.values() for gate in lane.gates
        }
        self._closed: dict[_Key, str] = {}  # why a question is no longer asked
        self._shared: dict[_Key, tuple[ev.GateOpened, ev.Ruling]] = {}  # answered with another service's question
        self._of_all: dict[
            _Words, ev.Ruling
        ] = {}  # answers to questions that are asked once, for services that reach the question later
        self._busy = threading.Lock()  # held while a question is on the screen

    def __call__(self, record: ev.Record, run: Run) -> None:
        self._run, lane = run, record.lane or ""
        match record.event:
            case ev.GateOpened():
                self._open[(lane, record.event.gate, record.event.item)] = record.event
            case ev.GateDecided() | ev.GateWithdrawn():
                key = lane, record.event.gate, record.event.item
                self._closed[key] = _closed(record.event)  # first, because the other thread may read both at any time
                self._open.pop(key, None)
            case ev.LaneEnded() | ev.RevertStarted() | ev.Escalated():
                self._open = {key: gate for key, gate in self._open.items() if key[0] != lane}

    def ask(self, service: str, gate: ev.GateOpened) -> ev.Ruling | None:
        """Ask the question, unless another service's answer also answers it. None if the question is no longer open,
        perhaps before its turn, or if no operator answers any more."""
        with self._busy:
            if not self._is_open(service, gate):
                return None
            known = self._known(service, gate)
            if known is not None:
                return known
            with self._asking.shown():
                self._put(service, gate)
                return self._ruling(service, gate)

    def close(self) -> None:
        """Withdraw the question on the screen, with the reason, because this process no longer leads the run. Returns
        after the question has left the screen, or after ``_CLOSE_WITHIN`` seconds."""
        for key in list(self._open):
            self._closed[key] = "this question stays open; `failover resume` asks it again"
        self._open = {}
        if self._busy.acquire(timeout=_CLOSE_WITHIN):
            self._busy.release()

    def _known(self, service: str, gate: ev.GateOpened) -> ev.Ruling | None:
        shared = self._shared.pop((service, gate.gate, gate.item), None)
        if shared is not None and shared[0] == gate:
            return shared[1]
        return self._of_all.get(_words(service, gate)) if self._is_asked_once(gate) else None

    def _is_asked_once(self, gate: ev.GateOpened) -> bool:
        """Does the runbook ask every service this question in the same words? Such a question is about the site, for
        example about its fence."""
        asks = next((step.ask for step in self._plan.runbook.steps if step.id == gate.step), None)
        return asks is not None and asks.gate == gate.gate and gate.item is None and gate.at_risk is None

    def _same(self, service: str, gate: ev.GateOpened) -> Mapping[str, ev.GateOpened]:
        """The services that ask the same question now, with their questions. ``service`` comes first."""
        words = _words(service, gate)
        others = {
            key[0]: one for key, one in list(self._open.items()) if key[0] != service and _words(key[0], one) == words
        }
        return {service: gate, **others}

    def _ruling(self, service: str, gate: ev.GateOpened) -> ev.Ruling | None:
        chosen = self._choice(service, gate)
        reason = None if chosen is None else self._reason(chosen, service, gate)
        if chosen is None or reason is None:
            return None
        same = self._same(service, gate)
        is_once = self._is_asked_once(gate)
        for_all = is_once or (len(same) > 1 and self._is_for_all(service, gate, len(same)))
        if for_all is None:
            return None
        ruling = ev.Ruling(choice=chosen, reason=reason, **self._who._asdict())
        if for_all:
            self._shared |= {
                (name, one.gate, one.item): (one, ruling) for name, one in same.items() if name != service
            }
        if is_once and chosen not in _FOR_NOW:
            self._of_all[_words(service, gate)] = ruling
        return ruling

    def _choice(self, service: str, gate: ev.GateOpened) -> Answer | None:
        while (typed := self._answer("decision", service, gate)) is not None:
            chosen = _match(typed, gate.choices)
            if chosen is not None:
                if typed.lower() != chosen:
                    self._asking.say(f"  {chosen}: {MEANING[chosen]}")
                return chosen
            self._asking.say(f"  please answer with one of: {', '.join(gate.choices)}")
        return None

    def _reason(self, chosen: Answer, service: str, gate: ev.GateOpened) -> str | None:
        self._say_outage(service)
        while (reason := self._answer("reason", service, gate)) is not None:
            if STEERING.search(reason):
                self._asking.say("  type the reason as one line of plain text, without special keys such as arrows")
                continue
            if reason or chosen in _FOR_NOW:
                return reason or "no reason given"
            self._asking.say(f"  {chosen} needs a reason, because the reason is recorded")
        return None

    def _is_for_all(self, service: str, gate: ev.GateOpened, many: int) -> bool | None:
        """Is the answer for all services with the same question? None if the question is no longer open."""
        self._asking.say(
            f"  {many} services have the same question. Enter: answer for all {many}; o: only for {service}"
        )
        typed = self._answer("for", service, gate)
        return None if typed is None else typed.lower() not in ("o", "only", service.lower())

    def _put(self, service: str, gate: ev.GateOpened) -> None:
        self._asking.forget_typed()
        same, family = self._same(service, gate), self._plan.runbook.family
        who = service if len(same) == 1 else f"{counted(len(same), 'service')} ({named(list(same))})"
        self._asking.say("")
        self._asking.say(f"  DECISION NEEDED  {who}: {gate.why}")
        if gate.remedy:
            self._asking.say(f"  what to do: {at_question(gate.remedy)}")
        self._say_outage(service)
        if gate.at_risk is not None:
            risks = [one.at_risk for one in same.values()]
            every = None if None in risks else sum(one for one in risks if one is not None)
            whole = f"; all {len(same)} services together: {amount(every, family)}" if len(same) > 1 else ""
            self._asking.say(f"  at risk: {amount(gate.at_risk, family)}{whole}")
        self._asking.choices({choice: MEANING[choice] for choice in gate.choices})
        self._asking.terms(self._terms(service, gate))

    def _terms(self, service: str, gate: ev.GateOpened) -> str:
        """The time left to answer, the effect of no answer, and the number of waiting questions."""
        limit, follows = self._limit(service, gate)
        if limit is None:
            until = "no time limit"
        else:
            until = f"answer within {seconds(max(0.0, limit - self._now()))}, or {follows}"
        waiting = len({_words(key[0], one) for key, one in list(self._open.items())}) - 1
        more = f"; {counted(waiting, 'other question')} waiting" if waiting > 0 else ""
        alone = _ALONE.get(gate.unattended, f"the answer is {gate.unattended} at once")
        return f"  {until}; if this terminal closes, {alone}{more}"

    def _limit(self, service: str, gate: ev.GateOpened) -> tuple[float | None, str]:
        """The time at which the question closes without an answer, by the record's clock, and the effect in words."""
        if gate.approval is not None:
            return gate.approval.expires_at, "the run is denied"
        lane = self._run.lanes.get(service)
        may_return = lane is not None and lane.status in ("ready", "running")
        return (due_at(self._run) if may_return else None), f"the run rolls back ({BY})"

    def _say_outage(self, service: str) -> None:
        """Show the present outage, because it grows until the answer."""
        if clock := self._outage(service):
            self._asking.clock(f"  {clock}")

    def _answer(self, what: str, service: str, gate: ev.GateOpened) -> str | None:
        """One typed line. None if the question is no longer open or the terminal is gone."""
        self._asking.prompt(f"  {what}> ")
        while self._is_open(service, gate):
            self._asking.terms(self._terms(service, gate))
            has_line, line = self._asking.typed(_CHECK_EVERY)
            if has_line:
                return line
        key = service, gate.gate, gate.item
        self._asking.leave(f"  {self._closed.get(key, 'this question is closed')}")
        return None

    def _is_open(self, service: str, gate: ev.GateOpened) -> bool:
        """Is exactly this question open, and not another question with the same name?"""
        return self._open.get((service, gate.gate, gate.item)) == gate


def _words(service: str, gate: ev.GateOpened) -> _Words:
    return gate.gate, gate.item, gate.choices, gate.why.replace(service, "")


def _closed(event: ev.GateDecided | ev.GateWithdrawn) -> str:
    if isinstance(event, ev.GateWithdrawn):
        return f"this question is no longer needed: {event.why}"
    return f"{event.ruling.by} has answered: {event.ruling.choice} ({event.ruling.reason})"


def _match(typed: str, choices: tuple[Answer, ...]) -> Answer | None:
    """The choice that was typed in full, or by a prefix that fits only one choice."""
    fits = [choice for choice in choices if typed and choice.startswith(typed.lower())]
    return fits[0] if len(fits) == 1 else None
