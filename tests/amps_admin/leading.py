"""Leads runs between two AMPS instances, whatever they are made of: the real engine, on virtual time, unattended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from orchestrator import events as ev
from orchestrator.clock import VirtualClock
from orchestrator.contract import Adapter
from orchestrator.engine import Engine
from orchestrator.fleet import InlineFleet
from orchestrator.journal import Journal
from orchestrator.lease import create_run, service_key, take
from orchestrator.loader import load_runbook
from orchestrator.reports.report import RunReport, build
from orchestrator.runbook import Choice, Side
from orchestrator.site import Inventory
from orchestrator.state import fold
from tests.scenarios.staging import fast_journal

SERVICE = "orders"


class Killed(BaseException):
    """The process ended here: no handler of the product may catch it, least of all the one for observers."""


class Leading:
    """Something with a clock, an inventory of one pair, and adapters for its sites."""

    folder: Path
    clock: VirtualClock
    runs: int = 0
    paused: bool = False  # the last run was, by ``pause_at``

    def inventory(self) -> Inventory:
        """The pair."""
        raise NotImplementedError

    def adapter(self, site: str) -> Adapter:
        """A new session with the instance of ``site``."""
        raise NotImplementedError

    def lead(
        self,
        runbook: str,
        *,
        source: str = "ny",
        policy: Mapping[str, Choice] | None = None,
        kill_at: int | None = None,
        pause_at: int | None = None,
    ) -> RunReport:
        """One run, unattended, from its plan to its end. ``kill_at``: the process dies after so many records.

        ``pause_at``: a signal comes after so many; it pauses, and is resumed at once.
        """
        self.runs += 1
        name = f"run-{self.runs}"
        inventory = self.inventory()
        [pair] = inventory.pairs
        target = next(site for site in pair.sites if site != source)
        plan = ev.Plan(
            runbook=load_runbook(runbook),
            inventory=inventory,
            pair=pair.name,
            source=source,
            target=target,
            services=(SERVICE,),
            policy=ev.Policy(on_gate=policy or {}, reason="agreed beforehand"),
            simulated=True,
        )
        journal = fast_journal(self.folder / f"{name}.sqlite")
        try:
            lease, writer = create_run(journal, self.clock, name, ev.RunCreated(plan=plan, by="ann", version="0.1.0"))
            led = self._engine(journal, lease, writer, name, kill_at, pause_at).run()
            self.paused = led.status == "paused"
            if self.paused:
                lease, writer = take(journal, self.clock, name, {service_key(plan, SERVICE): SERVICE})
                self._engine(journal, lease, writer, name).run()
            return build(tuple(journal.records(name)))
        except Killed:
            self.clock.advance(120.0)
            state = fold(journal.records(name))
            keys = {service_key(state.plan, lane.service): lane.service for lane in state.lanes.values()}
            lease, writer = take(journal, self.clock, name, keys)
            self._engine(journal, lease, writer, name).run()
            return build(tuple(journal.records(name)))
        finally:
            journal.close()

    def _engine(
        self,
        journal: Journal,
        lease: Any,
        writer: Any,
        name: str,
        kill_at: int | None = None,
        pause_at: int | None = None,
    ) -> Engine:
        state = fold(journal.records(name))
        sides: Sequence[tuple[Side, str]] = (("source", state.plan.source), ("target", state.plan.target))
        adapters: dict[Side, Adapter] = {side: self.adapter(site) for side, site in sides}
        seen = [0]

        def watch(record: ev.Record, run: object) -> None:
            seen[0] += 1
            if seen[0] == kill_at:
                raise Killed
            if seen[0] == pause_at:
                engine.pause("SIGTERM from outside")

        fleet = InlineFleet(adapters, lease, self.clock)
        engine = Engine(journal, lease, writer, state, fleet, self.clock, by="ann", observers=[watch])
        return engine
