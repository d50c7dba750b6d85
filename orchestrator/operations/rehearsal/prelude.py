"""Leads the runs before a rehearsed command, on the rehearsal's own record."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from orchestrator.engine.dispatch import InlineFleet
from orchestrator.errors import NotStarted
from orchestrator.family.rehearsal import Rehearsal, RehearsalClock
from orchestrator.model import events as ev
from orchestrator.model.runbook import Choice
from orchestrator.operations.runs.lead import Request, begin_run, leading
from orchestrator.operations.runs.plan import PlanRequest, make_plan
from orchestrator.operations.runtime import Tools

_ATTESTED = "clients are kept away in the rehearsal's prelude"


@dataclass(frozen=True, slots=True)
class LeadingPrelude:
    """See ``orchestrator.family.rehearsal.Prelude``. ``inventory``: the file of the copy's inventory."""

    tools: Tools
    clock: RehearsalClock
    inventory: Path
    rehearsal: Rehearsal

    def lead(self, runbook: str, on_gate: Mapping[str, Choice]) -> None:
        """See ``Prelude``."""
        # The fleet uses no threads: the prelude takes no time.
        tools = replace(self.tools, fleet=lambda *parts: InlineFleet(*parts[:3], prompter=parts[3]))
        policy = ev.Policy(on_gate=on_gate, reasons=dict.fromkeys(on_gate, _ATTESTED))
        services, source = self.rehearsal.services, self.rehearsal.source
        plan = make_plan(tools, PlanRequest(runbook, self.inventory, services, False, None, source, policy))
        with closing(tools.journal()) as journal:
            leadership = begin_run(tools, journal, Request(plan))
            with leading(tools, journal, leadership, tell=tools.tell) as engine:
                ended = engine.run()
        if ended.outcome is not ev.Outcome.DONE:
            raise NotStarted(f"the prelude {runbook} of the rehearsal ended with the outcome {ended.outcome}")
