"""Plays scenarios: a world, a journal in a file, adapters, people, and the real engine, one phase after the other.

In process the clock is virtual, and everything happens on the caller's thread. The judges are elsewhere
(``proof.promises``, which ``watch`` shows the run to, and ``verdict``); nothing here knows what should come out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import sqlalchemy as sa

from orchestrator.clock import Clock, VirtualClock
from orchestrator.core.run import Run, fold
from orchestrator.documents.lint.runbook import lint
from orchestrator.documents.loader import load_runbook
from orchestrator.engine.dispatch import Fleet, InlineFleet, Prompter
from orchestrator.engine.engine import Engine
from orchestrator.engine.observers import Observer
from orchestrator.family.contract import Adapter, AdapterContext, Permit, Secrets
from orchestrator.family.reachability import with_made_readings
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.journal.journal import Journal, Writer
from orchestrator.journal.lease import Lease, create_run, service_key, take
from orchestrator.model import events as ev
from orchestrator.model.inventory import Device, Inventory, Pair, Site
from orchestrator.model.requests import AbortRequest
from orchestrator.model.runbook import Runbook, Side
from orchestrator.reports.history import History
from orchestrator.reports.report import RunReport, build
from proof.simulation.solace.looks import look
from simulator.solace.account import Tally
from simulator.solace.world import World
from simulator.world.worlds import WORLDS
from tests.scenarios.script import CallOff, Phase, PlanFile, Scenario
from tests.scenarios.watch import Watch

FleetMaker = Callable[[Mapping[Side, Adapter], Permit, Clock, Prompter | None], Fleet]


def inline(adapters: Mapping[Side, Adapter], permit: Permit, clock: Clock, desk: Prompter | None) -> Fleet:
    """Everything on this thread."""
    return InlineFleet(adapters, permit, clock, prompter=desk)


@dataclass(frozen=True, slots=True)
class Played:
    """What came of a phase. ``before`` and ``after`` are the world's account; ``broken`` are the promises of the run
    that the judge saw broken so far, one sentence each."""

    phase: Phase
    plan: ev.Plan
    run: Run
    records: tuple[ev.Record, ...]
    report: RunReport
    before: Mapping[str, Tally]
    after: Mapping[str, Tally]
    roles: Mapping[str, Mapping[str, str]]
    broken: tuple[str, ...]


@dataclass(slots=True)
class Stage:
    """A scenario's world and everything around it. ``settles_max``: the most that is waited before the account."""

    scenario: Scenario
    clock: Clock
    world: World
    journal: Journal
    inventory: Inventory
    registry: Registry = field(default_factory=Registry)
    secrets: Secrets = field(default_factory=lambda: SecretStore(None))
    fleet: FleetMaker = inline
    settles_max: float = 1e9
    runs: int = 0
    _watch: Watch | None = None

    def play(self, phase: Phase) -> Played:
        """One phase, from its faults to the account after it."""
        how = phase.plan
        before = self.world.tallies()
        self.world.inject(phase.faults)
        self.clock.sleep(how.wait)
        if how.resume:
            assert self._watch is not None, "there is no run to go on with"
            run = self._resume(how, self._watch)
        else:
            self.runs += 1
            plan = self.plan(how)
            self._watch = Watch(partial(look, self.world), self.run, plan)
            run = self._begin(how, plan, self._watch)
        self.clock.sleep(min(how.settle, self.settles_max))
        records = tuple(self.journal.records(self.run))
        return Played(
            phase=phase,
            plan=run.plan,
            run=run,
            records=records,
            report=build(records),
            before=before,
            after=self.world.tallies(),
            roles=roles_of(self.world),
            broken=tuple(self._watch.verdict(self.journal, run, tampered=True)),
        )

    @property
    def run(self) -> str:
        """The newest run's name."""
        return f"run-{self.runs}"

    def _begin(self, how: PlanFile, plan: ev.Plan, watch: Watch) -> Run:
        created = ev.RunCreated(plan=plan, by="ann", version="0.1.0")
        lease, writer = create_run(self.journal, self.clock, self.run, created)
        return self._lead(lease, writer, how, watch)

    def _resume(self, how: PlanFile, watch: Watch) -> Run:
        run = fold(self.journal.records(self.run))
        keys = {service_key(run.plan, lane.service): lane.service for lane in run.lanes.values() if not lane.settled}
        lease, writer = take(self.journal, self.clock, self.run, keys)
        return self._lead(lease, writer, how, watch)

    def _lead(self, lease: Lease, writer: Writer, how: PlanFile, watch: Watch) -> Run:
        watch.lead(self.journal, lease)
        state = fold(self.journal.records(self.run))
        desk = AnsweringDesk(how.answers, self.clock, how.thinks) if how.answers else None
        adapters = {side: watch.adapter(side, inner) for side, inner in self._adapters(state.plan).items()}
        fleet = self.fleet(adapters, lease, self.clock, desk)
        observers: list[Observer] = [watch]
        if how.call_off and how.call_off.on:
            observers.append(_Caller(self.journal, self.run, how.call_off))
        engine = Engine(
            self.journal,
            lease,
            writer,
            state,
            fleet,
            self.clock,
            by="ann",
            attended=how.answers is not None,
            observers=observers,
        )
        abort = None
        if how.call_off and not how.call_off.on:
            abort = ev.AbortAsked(by="ann", reason=how.call_off.reason)
        policy = how.policy if how.resume else None
        return engine.run(abort=abort, policy=policy)

    def _adapters(self, plan: ev.Plan) -> Mapping[Side, Adapter]:
        setting = AdapterContext(clock=self.clock, secrets=self.secrets)
        sides: tuple[Side, Side] = ("source", "target")
        sites = plan.inventory.sites
        return {side: self.registry.adapter_for(sites[plan.site_name(side)], setting) for side in sides}

    def plan(self, how: PlanFile) -> ev.Plan:
        """The plan a phase begins with, checked against the adapters as the command line does."""
        [pair] = self.inventory.pairs
        target = next(site for site in pair.sites if site != how.source)
        services = how.services or pair.services
        runbook = load_runbook(how.runbook)
        for site in pair.sites:
            self._lint(runbook, self.inventory.sites[site])
        return ev.Plan(
            runbook=runbook,
            inventory=self.inventory,
            pair=pair.name,
            source=how.source,
            target=target,
            services=services,
            policy=how.policy or ev.Policy(),
            simulated=True,
            outage=self._outage(how, services, target),
            waves=how.waves,
        )

    def _lint(self, runbook: Runbook, site: Site) -> None:
        adapter = self.registry.declarations(site)
        found = [
            str(finding)
            for finding in lint(runbook, with_made_readings(adapter.readings), adapter.actions)
            if finding.level == "error"
        ]
        assert not found, found

    def _outage(self, how: PlanFile, services: Sequence[str], target: str) -> ev.Outage | None:
        if how.outage is None:
            return None
        acting = target if how.runbook == "solace/restore" else how.source
        if how.outage == "recorded":
            history = History(self.journal, self.inventory.sites.values())
            known = [history.last_outage(service, acting) for service in services]
            return max((one for one in known if one is not None), key=lambda one: one.at)
        text = how.outage
        return ev.Outage(at=self.clock.now() - text.ago, suspended=text.suspended, spool_lost=text.spool_lost)


def roles_of(world: World) -> dict[str, dict[str, str]]:
    """What role each site has, by service; the world's truth, which no management may tell."""
    with world.request():
        return {name: {site: side.role for site, side in world.vpn(name).sides.items()} for name in world.vpn_names}


def in_process(scenario: Scenario, folder: Path, reference: str) -> Stage:
    """The stage on the injected clock. ``reference``: what ``WORLDS.register`` is to know the world by."""
    clock = PatientClock()
    world = World(scenario.scene.world.layout, clock)
    inventory = mock_inventory(world, WORLDS.register(reference, world))
    return Stage(scenario, clock, world, fast_journal(folder / "journal.sqlite"), inventory)


def mock_inventory(world: World, option: str) -> Inventory:
    """The two sites of ``world`` for the in-process adapter; ``option`` is what their option ``world`` says."""
    sites = {
        site.name: Site(
            adapter="mock",
            devices=tuple(Device(name=node, router_name=node) for node in site.nodes),
            options={"world": option},
        )
        for site in world.layout.sites
    }
    pair = Pair(name="trading", sites=world.sites, services=world.vpn_names)
    return Inventory(sites=sites, pairs=(pair,))


def fast_journal(path: Path) -> Journal:
    """A journal that does not wait for the disk: a test's process may die, its machine does not."""
    journal = Journal.at(path)
    journal.engine.dispose()
    sa.event.listen(journal.engine, "connect", lambda raw, _: raw.execute("PRAGMA synchronous=OFF"))
    return journal


class PatientClock(VirtualClock):
    """Virtual time that does not go on for ever: a run that waits for nothing fails instead of hanging."""

    def advance(self, seconds: float) -> None:
        super().advance(seconds)
        assert self.now() < _START + _LONGEST_S, "the scenario goes on for more than three days"


_START = VirtualClock().now()
_LONGEST_S = 3 * 86_400.0


class AnsweringDesk:
    """A person who answers by the name of the gate, in turn; asked once more than that, nobody is there."""

    def __init__(self, answers: Mapping[str, Sequence[str]], clock: Clock, thinks: float) -> None:
        self._left = {gate: list(choices) for gate, choices in answers.items()}
        self._clock = clock
        self._thinks = thinks

    def ask(self, service: str, gate: ev.GateOpened) -> ev.Ruling | None:
        keys = (f"{gate.gate} {gate.item}", gate.gate)
        left = next((self._left[key] for key in keys if self._left.get(key)), None)
        if left is None:
            return None
        self._clock.sleep(self._thinks)
        return ev.Ruling.model_validate({"choice": left.pop(0), "reason": "as agreed on the call", "by": "ann"})


class _Caller:
    """Somebody who calls the run off, from another terminal, once something is on record."""

    def __init__(self, journal: Journal, run: str, wish: CallOff) -> None:
        self._journal, self._run, self._wish = journal, run, wish
        self._called = False

    def __call__(self, record: ev.Record, run: Run) -> None:
        if not self._called and label_of(record.event) in (self._wish.on, f"{self._wish.on} "):
            self._called = True
            self._journal.ask(self._run, AbortRequest(by="ann", reason=self._wish.reason))


def label_of(event: ev.Event) -> str:
    """``step.started drain``, ``gate.opened bridge-lost``, ``observed``: kind, and step or gate where there is one."""
    about = getattr(event, "gate", None) or getattr(event, "step", None)
    return event.kind if about is None else f"{event.kind} {about}"
