"""Reads one site's messages from its adapter into an export. Must never change a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from orchestrator.clock import Clock
from orchestrator.errors import DefinitionError
from orchestrator.family.contract import Adapter, BrowsedMessage, Browser, Endpoint
from orchestrator.family.offers import offering
from orchestrator.family.reachability import probe
from orchestrator.model.facets import Facet
from orchestrator.model.inventory import Inventory, Site
from orchestrator.model.plan import Outage
from orchestrator.model.reading import Reading
from orchestrator.operations.families import known_family
from orchestrator.operations.runtime import Tools

if TYPE_CHECKING:
    from pipeline.collect import Job, Progress
    from pipeline.manifest import Manifest, ServiceSnapshot
    from pipeline.rows import Census, Cursor, EndpointKey, Message


@dataclass(frozen=True, slots=True)
class SnapshotRequest:
    """What to read. Empty ``services``: all of the site. ``run``: the fail-over that the export is evidence for."""

    site: str
    services: tuple[str, ...]
    run: str | None


def folder_here(out: str) -> Path:
    """The directory ``out`` for the reading of a site. Raises ``DefinitionError`` for a URI: a reading is written in
    pieces and can be resumed, and a bucket does not support that."""
    if "://" in out:
        raise DefinitionError(
            f"{out} is not a directory of this machine", hint="write the export to a directory here, then copy it"
        )
    return Path(out)


def collect_site(
    tools: Tools, inventory: Inventory, request: SnapshotRequest, out: Path, observe: Callable[[Progress], None]
) -> Manifest:
    """Read the site into the directory ``out``. The same call resumes a reading that stopped. ``observe`` gets the
    progress. Raises ``FailoverError``."""
    from pipeline.collect import collect

    site = site_of(inventory, request)
    services = services_of(inventory, request)
    adapter = tools.registry.adapter_for(site, tools.to_read)
    with closing(adapter):
        browser = _browser(tools, adapter, site)
        adapter.open()
        job = job_of(tools, site, services, request.run, _serving(tools, adapter, site, services))
        return collect(_Device(browser, services, tools.clock), out, job, tools.clock, observe=observe)


def site_of(inventory: Inventory, request: SnapshotRequest) -> Site:
    """The requested site. Raises ``DefinitionError``."""
    site = inventory.sites.get(request.site)
    if site is None:
        known = ", ".join(sorted(inventory.sites))
        raise DefinitionError(f"no site is called {request.site!r}", hint=f"the inventory has: {known}")
    return site


def services_of(inventory: Inventory, request: SnapshotRequest) -> list[str]:
    """The requested services. Raises ``DefinitionError``."""
    known = {service for pair in inventory.pairs if request.site in pair.sites for service in pair.services}
    for service in request.services:
        if service not in known:
            raise DefinitionError(
                f"{service} is not a service of {request.site}", hint=f"the inventory has: {', '.join(sorted(known))}"
            )
    return sorted(request.services or known)


def _browser(tools: Tools, adapter: Adapter, site: Site) -> Browser:
    from orchestrator.family.composite import browser_of

    browser = browser_of(adapter)
    if browser is None:
        raise DefinitionError(
            f"the adapter {site.adapter} of {site.name} does not show the messages of endpoints",
            hint=offering(known_family(tools, site)).instead("snapshot"),
        )
    return browser


def job_of(
    tools: Tools, site: Site, services: Sequence[str], run: str | None, serving: Mapping[str, bool | None]
) -> Job:
    """The data to collect, and the fail-over that it is evidence for. Raises ``DefinitionError``."""
    from pipeline.collect import Job

    name, outages = (None, {}) if run is None else _outages(tools, run, services)
    moments = [outage.at for service, outage in outages.items() if service in services]
    return Job(
        site=site.name,
        services=_snapshots(services, serving, outages),
        run=name,
        # Services that failed over at different times are judged by the latest time: a younger message is safe for all
        # of them.
        failover_at=max(moments, default=None),
        simulated=tools.registry.is_simulated(site),
    )


def _outages(tools: Tools, run: str, services: Sequence[str]) -> tuple[str, dict[str, Outage]]:
    """The fail-over of ``run``, by service. ``last``: the newest fail-over of any of ``services`` that is still in
    force.

    Raises ``DefinitionError`` for a run that is no such fail-over, and if there is none.
    """
    from orchestrator.operations.find_run import find_run
    from orchestrator.reports.history import RUNS_BACK, outages_of

    with closing(tools.journal()) as journal:
        if run == "last":
            # After a restore, the last run is the restore. The fail-over before it is needed.
            for row in journal.runs()[:RUNS_BACK]:
                outages = outages_of(journal, row.run)
                if not outages.keys().isdisjoint(services):
                    return row.run, outages
            raise DefinitionError(
                f"no uncontrolled fail-over of {', '.join(services)} is in force",
                hint="`failover runs list` has all runs",
            )
        name = find_run(journal, run)
        outages = outages_of(journal, name)
    if not outages:
        raise DefinitionError(
            f"run {name} is not an uncontrolled fail-over that is in force", hint="`failover runs list` has all runs"
        )
    return name, outages


def _serving(tools: Tools, adapter: Adapter, site: Site, services: Sequence[str]) -> dict[str, bool | None]:
    """By service, whether the site serves; unknown if no reading with that facet reports it."""
    family = offering(known_family(tools, site))
    reading = next((name for name in family.surveyed if Facet.SERVES in family.readings[name].facets), None)
    answers = {} if reading is None else probe(adapter, reading, services)
    return {name: one.flag(Facet.SERVES) if isinstance(one, Reading) else None for name, one in answers.items()}


def _snapshots(
    services: Sequence[str], serving: Mapping[str, bool | None], outages: Mapping[str, Outage]
) -> list[ServiceSnapshot]:
    from pipeline.manifest import ServiceSnapshot

    found = []
    for service in services:
        serves, outage = serving.get(service), outages.get(service)
        word: Literal["active", "standby"] | None = None
        if serves is not None:
            word = "active" if serves else "standby"
        suspended = None if outage is None else outage.suspended
        found.append(ServiceSnapshot(name=service, role=word, was_interrupted=suspended))
    return found


class _Device:
    """A device as the source of an export."""

    def __init__(self, browser: Browser, services: Sequence[str], clock: Clock) -> None:
        self._browser = browser
        self._services = services
        self._clock = clock

    def endpoints(self) -> list[EndpointKey]:
        """See ``pipeline.rows.Source``."""
        from pipeline.rows import EndpointKey

        found = [one for service in self._services for one in self._browser.durable_endpoints(service)]
        return [EndpointKey(one.service, one.name, one.kind) for one in found]

    def census(self, key: EndpointKey) -> Census:
        """See ``pipeline.rows.Source``."""
        from pipeline.rows import Census

        counted = self._browser.count(_endpoint(key))
        return Census(self._clock.now(), counted.messages, counted.spooled_total, counted.deleted_total)

    def messages(self, key: EndpointKey, after: Cursor | None) -> Iterator[Message]:
        """See ``pipeline.rows.Source``."""
        from pipeline.rows import Message

        behind = None if after is None else BrowsedMessage(after.position, after.message_id, spooled_at=0.0)
        for one in self._browser.browse(_endpoint(key), behind):
            yield Message(
                message_id=one.message_id,
                spooled_at=one.spooled_at,
                size=one.size,
                digest=one.digest,
                replicated=one.replicated,
                redeliveries=one.redeliveries,
                position=one.number,
                expires_at=one.expires_at,
                dmq_eligible=one.dmq_eligible,
                priority=one.priority,
            )


def _endpoint(key: EndpointKey) -> Endpoint:
    return Endpoint(key.service, key.name, "queue" if key.kind == "queue" else "topic-endpoint")
