"""Facts from earlier runs: the fail-over that a fail-back undoes, and the last readings of a site.

All facts are read from the journal. A fact without a record stays unknown. Only runs on the same devices count, because a
simulated pair, or another pair, may have sites and services with the same names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from orchestrator.clock import iso
from orchestrator.core.position import PositionHistory, courses_of
from orchestrator.core.run import begin
from orchestrator.journal.journal import Journal, RunRow
from orchestrator.journal.last_readings import last_read
from orchestrator.model import events as ev
from orchestrator.model.facets import Facet
from orchestrator.model.families import family_called, known_families, made
from orchestrator.model.inventory import Site
from orchestrator.model.places import service_place
from orchestrator.model.reading import Reading
from orchestrator.model.readings import kind_of
from orchestrator.model.runbook import Side

# The number of newest runs that are read. Older runs are no evidence for a run today.
RUNS_BACK = 200

_MOVES = ("controlled", "uncontrolled", "failback", "repair")
_DONE = frozenset({ev.Outcome.DONE, ev.Outcome.ESCALATED})


@dataclass(slots=True)
class LastKnown:
    """The newest readings of one service at one site that show what the site may have left behind, from any program. The
    key is the kind of the reading, and the value is its time and the reading."""

    readings: dict[str, tuple[float, Reading]] = field(default_factory=dict)

    def take(self, value: Reading | None, at: float) -> None:
        """Add one reading, in any order. A reading that does not report what was left behind replaces nothing."""
        if value is None or not value.risk or not value.left_behind(""):
            return
        known = self.readings.get(value.kind)
        if known is None or at >= known[0]:
            self.readings[value.kind] = at, value

    def merge(self, other: LastKnown) -> None:
        """Add the readings of another record of the same service and site."""
        for at, value in other.readings.values():
            self.take(value, at)

    def is_complete(self, family: str) -> bool:
        """Is each reading of the family known that shows what a site may have left behind?"""
        return bool(wanted := _of_risk(family)) and all(model in self.readings for model in wanted)

    def words(self) -> str:
        """The readings in words, with ``unknown`` for a missing reading."""
        if not self.readings:
            return "no reading is on record"
        of_family = next(
            kinds for kinds in map(_of_risk, known_families()) if not kinds.keys().isdisjoint(self.readings)
        )
        told = {kind: value.left_behind(iso(at)) for kind, (at, value) in self.readings.items()}
        return "; ".join(told.get(kind, f"{risk} unknown") for kind, risk in of_family.items())


def _of_risk(family: str) -> Mapping[str, str]:
    """What each reading of the family shows of the data that a lost site leaves behind, by kind of reading."""
    found = family_called(family)
    return {} if found is None else {kind_of(model): model.risk for model in found.readings.values() if model.risk}


@dataclass(slots=True)
class _Told:
    """The facts from the records of one run, by service."""

    family: str
    courses: dict[str, PositionHistory]
    passed: dict[str, float] = field(default_factory=dict)
    suspended: set[str] = field(default_factory=set)
    outcomes: dict[str, ev.Outcome] = field(default_factory=dict)
    suspensions: dict[tuple[str, Side], dict[bool, float]] = field(
        default_factory=dict
    )  # when each value was last read
    read: dict[tuple[str, Side], LastKnown] = field(default_factory=dict)
    standby: dict[tuple[str, Side], tuple[float, Reading]] = field(default_factory=dict)

    def take(self, service: str, event: ev.Event, at: float) -> None:
        """Add one record of a lane."""
        self.courses[service].take(event, at)
        match event:
            case ev.PointOfNoReturnPassed():
                self.passed.setdefault(service, at)
            case ev.ActionIntended() if made(self.family, event.action, event.args, Facet.SUSPENDED):
                self.suspended.add(service)
            case ev.LaneEnded():
                self.outcomes[service] = event.outcome
            case ev.LaneResumed():
                self.outcomes.pop(service, None)
            case ev.Observed():
                for seen in event.seen:
                    suspended = None if seen.value is None else seen.value.flag(Facet.SUSPENDED)
                    if suspended is not None:
                        self.suspensions.setdefault((service, seen.on), {})[suspended] = seen.asked_at
                    self.note(service, seen)

    def note(self, service: str, seen: ev.Seen) -> None:
        """Add one reading."""
        if seen.value is not None and seen.value.exclusive and seen.value.flag(Facet.SERVES) is False:
            self.standby[service, seen.on] = seen.asked_at, seen.value
        self.read.setdefault((service, seen.on), LastKnown()).take(seen.value, seen.asked_at)

    def moved(self, service: str) -> bool:
        """Did the run change which site is active?"""
        return service in self.passed or self.outcomes.get(service) in _DONE


class History:
    """The runs of one journal on the devices of ``sites``, the two sites of a pair. Each run is read once."""

    def __init__(self, journal: Journal, sites: Iterable[Site]) -> None:
        self._journal = journal
        self._sites = {site.name: site for site in sites}
        self._place = service_place("", self._sites.values())
        self._read: dict[str, _Told] = {}

    def last_outage(self, service: str, acting: str) -> ev.Outage | None:
        """The uncontrolled fail-over of ``service`` to ``acting`` that is still in effect, and the changes since.

        None if there is no record, or if activity was moved away from ``acting`` since. In the second case no record
        shows how activity came back. ``suspended`` is false only if the run that restored the failed site read this.
        """
        suspended = queued = spool_lost = False
        for row, plan in self._of(service):
            told = self._told(row)
            since = told.passed.get(service, 0.0) if _is(plan, "uncontrolled") and plan.target == acting else 0.0
            read = told.suspensions.get((service, "target" if plan.target == acting else "source"), {})
            suspended = suspended or service in told.suspended or read.get(True, -1.0) >= since
            if _is(plan, "restore") and plan.target == acting:
                spool_lost = spool_lost or (plan.outage is not None and plan.outage.spool_lost)
                queued = queued or False in read
            if plan.source == acting and any(_is(plan, kind) for kind in _MOVES) and told.moved(service):
                return None
            if _is(plan, "uncontrolled") and plan.target == acting and service in told.passed:
                known = True if suspended else False if queued else None
                return ev.Outage(at=told.passed[service], run=row.run, suspended=known, spool_lost=spool_lost)
        return None

    def restored_by(self, service: str, site: str, since: float) -> str | None:
        """The run after ``since`` that brought ``service`` back as standby at ``site``, or None if there is no record."""
        for row, plan in self._of(service):
            is_back = plan.source == site and _is(plan, "restore") and row.created_at >= since
            if is_back and self._told(row).outcomes.get(service) is ev.Outcome.DONE:
                return row.run
        return None

    def last_known(self, service: str, site: str) -> LastKnown:
        """The newest readings of ``service`` at ``site``, from runs and from commands that only read."""
        last = LastKnown()
        for row, plan in self._of(service):
            if site not in (plan.source, plan.target):
                continue  # the site had another name then
            side: Side = "source" if plan.source == site else "target"
            last.merge(self._told(row).read.get((service, side), LastKnown()))
            if last.is_complete(plan.runbook.family):
                break
        for at, value in last_read(self._journal, self._sites[site], service):
            last.take(value, at)
        return last

    def last_standby(self, service: str, site: str) -> tuple[float, Reading] | None:
        """The time and the reading when a run last read the site as standby. If both sites are active now, this started
        after that time."""
        for row, plan in self._of(service):
            side: Side = "source" if plan.source == site else "target"
            found = self._told(row).standby.get((service, side)) if site in (plan.source, plan.target) else None
            if found is not None:
                return found
        return None

    def both_active(self, service: str) -> Iterator[str]:
        """Runs that read both sites active, newest first, back to the last uncontrolled fail-over."""
        for row, plan in self._of(service):
            told = self._told(row)
            for one in told.courses[service].both:
                yield f"run {row.run} read both sites active for {service} at {iso(one.first)}: duplicates are possible"
            if _is(plan, "uncontrolled") and service in told.passed:
                return

    def _of(self, service: str) -> Iterator[tuple[RunRow, ev.Plan]]:
        """Runs that moved ``service``, newest first."""
        return ((row, plan) for row, plan in self._runs if service in plan.services)

    @cached_property
    def _runs(self) -> list[tuple[RunRow, ev.Plan]]:
        rows = self._journal.runs()[:RUNS_BACK]
        plans = ((row, begin(next(self._journal.records(row.run))).plan) for row in rows)
        return [(row, plan) for row, plan in plans if service_place("", _sites_of(plan)) == self._place]

    def _told(self, row: RunRow) -> _Told:
        if row.run not in self._read:
            plan = begin(next(self._journal.records(row.run))).plan
            told = _Told(plan.runbook.family, courses_of(plan))
            self._read[row.run] = told
            for one in plan.read_before:
                told.note(one.service, one.seen)
            for record in self._journal.records(row.run):
                if record.lane is not None:
                    told.take(record.lane, record.event, record.at)
        return self._read[row.run]


def outages_of(journal: Journal, run: str) -> dict[str, ev.Outage]:
    """The fail-over that ``run`` was, by service, if it is still in effect. Empty for any other run."""
    plan = begin(next(journal.records(run))).plan
    history = History(journal, _sites_of(plan))
    found = {service: history.last_outage(service, plan.target) for service in plan.services}
    return {service: outage for service, outage in found.items() if outage is not None and outage.run == run}


def outage_of_all(
    known: Sequence[ev.Outage | None], *, stated_at: float | None, spool_lost: bool, now: float
) -> ev.Outage | None:
    """One outage for all services of a run. ``known`` has the outage of each service, or None.

    The operator states ``stated_at`` and ``spool_lost``. Without a stated moment the latest moment counts, because
    anything newer is safe for all services. If the moment of one service is unknown, no moment is known. If a later
    change speaks against the fail-back of one service, it counts for all services.
    """
    found = [one for one in known if one is not None]
    is_whole = len(found) == len(known)
    is_lost = spool_lost or any(one.spool_lost for one in found)
    told = {one.suspended for one in found} | (set() if is_whole else {None})
    suspended = True if True in told else None if None in told else False
    if stated_at is not None:
        return ev.Outage(at=stated_at, suspended=suspended, spool_lost=is_lost)
    if is_whole:
        latest = max(found, key=lambda one: one.at)
        return latest.model_copy(update={"suspended": suspended, "spool_lost": is_lost})
    return ev.Outage(at=now, suspended=suspended, spool_lost=True) if is_lost else None


def _sites_of(plan: ev.Plan) -> list[Site]:
    return [plan.inventory.sites[name] for name in (plan.source, plan.target)]


def _is(plan: ev.Plan, kind: str) -> bool:
    """Is the plan's runbook of this kind, in any family and variant?"""
    return plan.runbook.runbook.partition("/")[2].startswith(kind)
