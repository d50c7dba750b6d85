"""Leads runs between two AMPS instances, whatever they are made of: the real engine, on virtual time, unattended.

Each run is judged by ``proof.promises``, killed, paused or undisturbed. What should come of it is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator.clock import VirtualClock
from orchestrator.core.run import Run, fold
from orchestrator.documents.loader import load_runbook
from orchestrator.engine.dispatch import InlineFleet
from orchestrator.engine.engine import Engine
from orchestrator.family.contract import Adapter
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import create_run, service_key, take
from orchestrator.model import events as ev
from orchestrator.model.inventory import Inventory
from orchestrator.model.runbook import Choice, Side
from orchestrator.reports.report import RunReport, build
from proof.simulation.process import Killed
from tests.scenarios.staging import fast_journal
from tests.scenarios.watch import Watch

SERVICE = "orders"
SETTLES_S = 20.0  # between the end of a run and the verdict on it: what was on its way arrives


class Leading:
    """Something with a clock, an inventory of one pair, and adapters for its sites."""

    folder: Path
    clock: VirtualClock
    runs: int = 0

    def inventory(self) -> Inventory:
        """The pair."""
        raise NotImplementedError

    def adapter(self, site: str) -> Adapter:
        """A new session with the instance of ``site``."""
        raise NotImplementedError

    def plan(self, runbook: str, source: str, policy: Mapping[str, Choice] | None = None) -> ev.Plan:
        """The plan of a run; ``policy`` answers its gates."""
        inventory = self.inventory()
        [pair] = inventory.pairs
        target = next(site for site in pair.sites if site != source)
        return ev.Plan(
            runbook=load_runbook(runbook),
            inventory=inventory,
            pair=pair.name,
            source=source,
            target=target,
            services=(SERVICE,),
            policy=ev.Policy(on_gate=policy or {}, reasons=dict.fromkeys(policy or {}, "agreed beforehand")),
            simulated=True,
        )

    def look(self, *, count: bool = False) -> dict[str, Any]:
        """What is true of the instances now, as ``proof.promises`` wants it."""
        raise NotImplementedError

    def lead(
        self,
        runbook: str,
        *,
        source: str = "ny",
        policy: Mapping[str, Choice] | None = None,
        kill_at: int | str | None = None,
    ) -> RunReport:
        """One run, unattended, from its plan to its end. Fails where a promise is broken.

        ``kill_at``: the process dies after so many records, or once this step is done, and the run is resumed.
        """
        self.runs += 1
        name = f"run-{self.runs}"
        plan = self.plan(runbook, source, policy)
        watch = Watch(self.look, name, plan)
        journal = fast_journal(self.folder / f"{name}.sqlite")
        try:
            try:
                lease, writer = create_run(
                    journal, self.clock, name, ev.RunCreated(plan=plan, by="ann", version="0.1.0")
                )
                led = self._engine(journal, lease, writer, name, watch, kill_at).run()
            except Killed:
                self.clock.advance(120.0)
                led = self._resume(journal, name, watch)
            self.clock.advance(SETTLES_S)
            broken = watch.verdict(journal, led, tampered=True)
            assert not broken, f"{name}, {runbook}: " + "\n".join(broken)
            return build(tuple(journal.records(name)))
        finally:
            journal.close()

    def _resume(self, journal: Journal, name: str, watch: Watch) -> Run:
        state = fold(journal.records(name))
        keys = {service_key(state.plan, lane.service): lane.service for lane in state.lanes.values()}
        lease, writer = take(journal, self.clock, name, keys)
        return self._engine(journal, lease, writer, name, watch).run()

    def _engine(
        self,
        journal: Journal,
        lease: Any,
        writer: Any,
        name: str,
        watch: Watch,
        kill_at: int | str | None = None,
    ) -> Engine:
        watch.lead(journal, lease)
        state = fold(journal.records(name))
        sides: Sequence[tuple[Side, str]] = (("source", state.plan.source), ("target", state.plan.target))
        adapters = {side: watch.adapter(side, self.adapter(site)) for side, site in sides}
        seen = [0]

        def count(record: ev.Record, run: object) -> None:
            seen[0] += 1
            done = record.event.step if isinstance(record.event, ev.StepDone) else None
            if kill_at is not None and kill_at in (seen[0], done):
                raise Killed(f"record {kill_at}")

        fleet = InlineFleet(adapters, lease, self.clock)
        return Engine(journal, lease, writer, state, fleet, self.clock, by="ann", observers=[watch, count])
