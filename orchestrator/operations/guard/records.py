"""The records of the journal about a guarded site: its outages, its restores, and the runs that have its services."""

from __future__ import annotations

from contextlib import closing, suppress
from dataclasses import dataclass

from orchestrator.core.run import fold
from orchestrator.errors import JournalCorrupt
from orchestrator.family.guard import GuardTarget
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import claims, is_led, service_key
from orchestrator.model import events as ev
from orchestrator.model.plan import ReadBefore
from orchestrator.operations.runs.plan_recovery import was_standby
from orchestrator.operations.runtime import Tools
from orchestrator.reports.history import History


@dataclass(frozen=True, slots=True)
class Owner:
    """An unfinished run that has one of the services. ``is_own``: a guard started it; ``is_led``: a process leads it."""

    run: str
    is_own: bool
    is_led: bool


class GuardRecords:
    """Reads the journal and changes nothing. ``runbooks``: the runbooks of a guard."""

    def __init__(self, tools: Tools, target: GuardTarget, runbooks: frozenset[str]) -> None:
        self._tools, self._target, self._runbooks = tools, target, runbooks

    def outage_since(self) -> float | None:
        """The time when the first of the services was lost, seconds since the epoch; None: no outage is recorded."""
        with closing(self._tools.journal()) as journal:
            history = self._history(journal)
            outages = (history.last_outage(service, self._target.mate) for service in self._target.services)
            return min((outage.at for outage in outages if outage is not None), default=None)

    def restored_by(self, since: float) -> str | None:
        """The run that restored the site after ``since``; None if one of its services was not restored."""
        with closing(self._tools.journal()) as journal:
            history = self._history(journal)
            found = [history.restored_by(service, self._target.site, since) for service in self._target.services]
        return found[0] if found and None not in found else None

    def lost_services(self) -> list[str]:
        """The services whose fail-over is recorded."""
        with closing(self._tools.journal()) as journal:
            history = self._history(journal)
            return [name for name in self._target.services if history.last_outage(name, self._target.mate)]

    def last_standby(self, plan: ev.Plan) -> tuple[ReadBefore, ...]:
        """The last reading of the mate as standby, if the journal can be read. Operators need it."""
        with closing(self._tools.journal()) as journal, suppress(JournalCorrupt):
            return tuple(was_standby(self._history(journal), plan))
        return ()

    def owners(self, plan: ev.Plan) -> list[Owner]:
        """The unfinished runs that have services of ``plan``."""
        now = self._tools.clock.now()
        with closing(self._tools.journal()) as journal:
            claimed = claims(journal)
            runs = dict.fromkeys(run for name in plan.services if (run := claimed.get(service_key(plan, name))))
            return [Owner(run, self._is_own(journal, run), is_led(journal.row(run), now)) for run in runs]

    def _is_own(self, journal: Journal, run: str) -> bool:
        return fold(journal.records(run)).plan.runbook.runbook in self._runbooks

    def _history(self, journal: Journal) -> History:
        sites = self._target.inventory.sites
        return History(journal, [sites[self._target.site], sites[self._target.mate]])
