"""Preview of a run: reads both sites through read-only sessions, and predicts the result of a run that starts now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from orchestrator.engine.dry_run import LanePreview, preview
from orchestrator.engine.dry_run_lines import ReadOnly
from orchestrator.errors import LeaseHeld
from orchestrator.journal.lease import claims, service_key
from orchestrator.model import events as ev
from orchestrator.operations.forecast import with_forecast
from orchestrator.operations.pairs.check import known_checks
from orchestrator.operations.runs.run_times import time_taken
from orchestrator.operations.runtime import Tools
from orchestrator.reports.plan_preview import is_any_checked
from orchestrator.reports.readiness import last_check_words
from orchestrator.reports.report import EXIT_CODES

_LOCKED, _REFUSED, _FINDINGS = LeaseHeld.exit_code, 3, 4
# Kinds of runbooks that need a ready pair. In an outage there is no time to make it ready.
_PLANNED = ("controlled", "failback")


@dataclass(frozen=True, slots=True)
class PlanPreview:
    """The findings. ``held``: services that belong to an unfinished run, with its name. ``checks``: the age of each
    service's last good check, in words; empty if the procedure needs none. ``took``: the duration of earlier runs, in
    words; empty if none is recorded."""

    plan: ev.Plan
    lanes: Sequence[LanePreview]
    held: Mapping[str, str]
    checks: Mapping[str, str]
    took: str = ""

    @property
    def exit_code(self) -> int:
        """The expected exit code of a run that starts now; 4 if nothing could be checked."""
        code = _LOCKED if self.held else self._worst
        return code if code or is_any_checked(self.lanes) else _FINDINGS

    @property
    def refusal(self) -> int:
        """The exit code of a run that cannot start; 0 if the operator may be asked to start it.

        A failed reading does not prevent the question: a run reads it again.
        """
        return _LOCKED if self.held else _REFUSED if all(lane.is_refused for lane in self.lanes) else 0

    @property
    def _worst(self) -> int:
        if any(lane.would_stop and not lane.would_refuse for lane in self.lanes):
            return EXIT_CODES[ev.Outcome.NEEDS_OPERATOR]
        return _REFUSED if any(lane.would_refuse for lane in self.lanes) else 0


def take_preview(tools: Tools, plan: ev.Plan, *, attended: bool) -> PlanPreview:
    """Read both sites, and the journal. ``attended``: an operator can answer the questions of a run."""
    with tools.adapters(plan, read_only=True) as adapters:
        sites = {side: ReadOnly(adapter) for side, adapter in adapters.items()}
        lanes = preview(plan, sites, tools.clock, attended=attended)
    took = time_taken(tools, plan)
    return PlanPreview(plan, with_forecast(tools, plan, lanes), _held(tools, plan), _last_checks(tools, plan), took)


def _held(tools: Tools, plan: ev.Plan) -> dict[str, str]:
    with closing(tools.journal()) as journal:
        claimed = claims(journal)
    owners = {service: claimed.get(service_key(plan, service)) for service in plan.services}
    return {service: run for service, run in owners.items() if run is not None}


def _last_checks(tools: Tools, plan: ev.Plan) -> dict[str, str]:
    if plan.runbook.runbook.rpartition("/")[2] not in _PLANNED or tools.is_rehearsal:
        return {}
    known = known_checks(tools, plan.inventory, [plan.inventory.pairs[0]])
    now = tools.clock.now()
    return {service: last_check_words(known.get(service), now) for service in plan.services}
