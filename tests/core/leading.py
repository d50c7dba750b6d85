"""One line to lead a run over the scripted pair, and people and watchers as scripted as the pair is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.core.run import Run, fold
from orchestrator.engine.approvers import Approvers
from orchestrator.engine.dispatch import Fleet, InlineFleet, Prompter
from orchestrator.engine.engine import Engine
from orchestrator.engine.observers import Observer
from orchestrator.family.contract import Adapter
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import create_run, service_key, take
from orchestrator.model import events as ev
from orchestrator.model.requests import request_of
from orchestrator.model.runbook import Side
from tests.core.builders import a_plan, created
from tests.core.killing import Fuse, killing
from tests.core.scripted import ScriptedPair

RUN = "run-1"


@dataclass(slots=True)
class ScriptedDesk:
    """A person who answers by the name of the gate; to any other question there is nobody."""

    answers: Mapping[str, str]
    asked: list[tuple[str, str, str | None]] = field(default_factory=list)

    def ask(self, service: str, gate: ev.GateOpened) -> ev.Ruling | None:
        self.asked.append((service, gate.gate, gate.item))
        choice = self.answers.get(gate.gate)
        return (
            None
            if choice not in gate.choices
            else ev.Ruling.model_validate({"choice": choice, "reason": "why", "by": "ann"})
        )


@dataclass(slots=True)
class Lead:
    """Leads run ``run-1`` over ``pair``; each call of ``start`` or ``resume`` is a process of its own."""

    pair: ScriptedPair
    journal: Journal
    engine: Engine | None = None
    wrap: Callable[[Adapter], Adapter] = lambda adapter: adapter
    fleet: Callable[..., Fleet] = InlineFleet
    engine_type: type[Engine] = Engine
    fuse: Fuse | None = None

    def start(self, plan: ev.Plan | None = None, **more: Any) -> Run:
        """Create the run and lead it."""
        plan = plan or a_plan(services=tuple(self.pair.services))
        parts = create_run(self.journal, self.pair.clock, RUN, created(plan))
        return self._lead(*parts, **more)

    def resume(self, *, journal: Journal | None = None, **more: Any) -> Run:
        """Take the run as it stands, and lead it further; through another ``journal`` as another process would."""
        self.journal = journal or self.journal
        plan = fold(self.journal.records(RUN)).plan
        keys = {service_key(plan, service): service for service in plan.services}
        return self._lead(*take(self.journal, self.pair.clock, RUN, keys), **more)

    def _lead(
        self,
        lease: Any,
        writer: Any,
        *,
        desk: Prompter | None = None,
        attended: bool | None = None,
        observers: Sequence[Observer] = (),
        policy: ev.Policy | None = None,
        abort: ev.AbortAsked | None = None,
        account: str = "",
        approvers: Approvers | None = None,
        approval: ev.ApprovalRule | None = None,
    ) -> Run:
        adapters: dict[Side, Adapter] = {side: self.wrap(site) for side, site in self.pair.adapters().items()}
        if self.fuse is not None:
            adapters = {side: killing(site, self.fuse) for side, site in adapters.items()}
        fleet = self.fleet(adapters, lease, self.pair.clock, prompter=desk)
        attended = desk is not None if attended is None else attended
        state = fold(self.journal.records(RUN))
        self.engine = self.engine_type(
            self.journal,
            lease,
            writer,
            state,
            fleet,
            self.pair.clock,
            by="ann",
            account=account,
            attended=attended,
            observers=observers,
            approvers=approvers,
            approval=approval,
        )
        return self.engine.run(policy=policy, abort=abort)

    # --- what the record says --------------------------------------------------------------------------------------

    def events(self, *kinds: type) -> list[Any]:
        """The recorded events of these kinds (of all, if none is given), in order."""
        return [one.event for one in self.journal.records(RUN) if not kinds or isinstance(one.event, kinds)]

    def kinds(self) -> list[str]:
        """The kinds of all recorded events but the readings, in order."""
        return [event.kind for event in self.events() if event.kind != "observed"]

    def told(self) -> list[str]:
        """The actions that reached the pair: ``source set_role standby``."""
        actions = self.pair.site("source").actions
        return [
            " ".join((one.side, one.verb, *(value for _, value in one.args)))
            for one in self.pair.heard
            if one.verb in actions
        ]


class When:
    """An observer that does something at the ``nth`` record of a kind."""

    def __init__(self, kind: type, do: Callable[[ev.Record, Run], object], *, nth: int = 1) -> None:
        self.kind = kind
        self.do = do
        self.left = nth

    def __call__(self, record: ev.Record, run: Run) -> None:
        if isinstance(record.event, self.kind):
            self.left -= 1
            if self.left == 0:
                self.do(record, run)


def folded(lead: Lead) -> Run:
    """What the record leads to."""
    return fold(lead.journal.records(RUN))


def pausing(lead: Lead) -> Callable[..., None]:
    """Something that pauses the run, as a signal does."""

    def pause(*_: object) -> None:
        assert lead.engine is not None
        lead.engine.pause("SIGINT")

    return pause


def asking(lead: Lead, **request: str) -> Callable[..., None]:
    """Something that leaves a request for the run, as another process does."""
    return lambda *_: lead.journal.ask(
        RUN, request_of({"by": "bob", "reason": "the change was called off", **request})
    )


def lost_bridge(lead: Lead) -> None:
    """Let the bridge be lost in the drain, for good."""
    lead.pair.once_told("set_role", "source", 0.3, lead.pair.lose_bridge)
