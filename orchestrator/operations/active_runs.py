"""The unfinished runs and the services that they hold. They explain a pair that is not in its normal state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from orchestrator.errors import FailoverError
from orchestrator.model.inventory import Inventory, Pair
from orchestrator.operations.runtime import Tools

_NAMED = 3  # services of a run that are named; the table above has all of them


@dataclass(slots=True)
class OpenRun:
    """A run that is not finished. ``led``: a process leads it now, by its lease."""

    run: str
    led: bool
    services: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class OpenRuns:
    """The runs that hold services, newest first; ``unknown``: why the journal could not be read."""

    runs: Sequence[OpenRun] = ()
    unknown: str = ""

    @property
    def document(self) -> list[Mapping[str, object]] | None:
        """For JSON; None: unknown."""
        if self.unknown:
            return None
        return [{"run": one.run, "led": one.led, "services": one.services} for one in self.runs]

    def ways_on(self, service: str) -> str:
        """The next command for ``service``, if a run holds it and so blocks every other run; empty if no run holds
        it."""
        one = next((one for one in self.runs if service in one.services), None)
        if one is None:
            return ""
        if one.led:
            return f"run {one.run} moves the service now: `failover runs show {one.run}`"
        return f"run {one.run} is unfinished: `failover resume {one.run}` or `failover abort {one.run}`"

    def lines(self) -> Iterator[str]:
        """For people: the services of each run, and the next command for a run that is not led."""
        if self.unknown:
            yield f"it is unknown whether a run holds one of these services: {self.unknown}"
        for one in self.runs:
            more = f" and {len(one.services) - _NAMED} more" if len(one.services) > _NAMED else ""
            what = ", ".join(one.services[:_NAMED]) + more
            if one.led:
                yield f"run {one.run} holds {what} now: `failover runs show {one.run}`"
            else:
                yield f"run {one.run} is unfinished and holds {what}; no process leads it: `failover resume {one.run}`"


def open_runs(tools: Tools, inventory: Inventory, pairs: Sequence[Pair]) -> OpenRuns:
    """The runs that hold services of ``pairs``, on the same devices. Raises nothing: devices can be checked without
    a journal."""
    if not tools.has_journal:
        return OpenRuns()
    from orchestrator.journal.lease import claims, is_led
    from orchestrator.model.places import service_place

    places = {
        service_place(service, [inventory.sites[name] for name in pair.sites]): service
        for pair in pairs
        for service in pair.services
    }
    try:
        with closing(tools.journal()) as journal:
            claimed = claims(journal)
            rows = [row for row in journal.runs() if row.run in claimed.values()] if claimed else []
            found = {row.run: OpenRun(row.run, is_led(row, tools.clock.now())) for row in rows}
    except FailoverError as error:
        return OpenRuns(unknown=str(error))
    for key, run in sorted(claimed.items()):
        service = places.get(key.partition("/")[2])  # the family of its runbook does not matter
        if service is not None and run in found:
            found[run].services.append(service)
    return OpenRuns([one for one in found.values() if one.services])
