"""Takes a snapshot: one site's messages, from its adapter into an export. Must never change a device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from orchestrator.cli.exports.reconcile import parquet_installed
from orchestrator.cli.render.terminal import say_unless, show, show_json
from orchestrator.clock import Clock
from orchestrator.counting import counted
from orchestrator.errors import DefinitionError
from orchestrator.family.contract import Adapter, AdapterContext, BrowsedMessage, Browser, Endpoint
from orchestrator.family.reachability import probe
from orchestrator.model.inventory import Inventory, Site
from orchestrator.model.plan import Outage
from orchestrator.model.readings import Role
from orchestrator.model.readings_solace import ReplicationStatus
from orchestrator.operations.families import AMPS, family_of
from orchestrator.operations.runtime import Tools

if TYPE_CHECKING:
    from pipeline.collect import Job, Progress
    from pipeline.manifest import Manifest, ServiceSnapshot
    from pipeline.rows import Census, Cursor, EndpointKey, Message

_EVERY_S = 2.0


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to read, as typed. ``services`` empty: all of the site; ``run``: the fail-over that it is evidence for."""

    site: str
    services: tuple[str, ...]
    run: str | None


def take_snapshot(tools: Tools, inventory: Inventory, wanted: Wanted, out: str, *, as_json: bool) -> Manifest:
    """Read the site into the directory ``out`` and say how much there was. Raises ``FailoverError``; the same call
    goes on where it stopped."""
    with parquet_installed():
        observe = _say_progress(tools.clock, say_unless(as_json))
        manifest = collect_site(tools, inventory, wanted, folder_here(out), observe)
    show_manifest(manifest, out, as_json=as_json)
    return manifest


def folder_here(out: str) -> Path:
    """The directory ``out``, which a site is read into. Raises ``DefinitionError`` for a URI: a reading is written in
    pieces and can be resumed, which a bucket does not offer."""
    if "://" in out:
        raise DefinitionError(
            f"{out} is not a directory of this machine", hint="read into one, then copy the export there"
        )
    return Path(out)


def collect_site(
    tools: Tools, inventory: Inventory, wanted: Wanted, out: Path, observe: Callable[[Progress], None]
) -> Manifest:
    """The same without a word on the screen."""
    from pipeline.collect import collect

    site = site_of(inventory, wanted)
    services = services_of(inventory, wanted)
    adapter = tools.registry.adapter_for(site, AdapterContext(tools.clock, tools.secrets, read_only=True))
    with closing(adapter):
        browser = _browser(tools, adapter, site)
        adapter.open()
        job = job_of(tools, site, services, wanted.run, _roles(adapter, services))
        return collect(_Device(browser, services, tools.clock), out, job, tools.clock, observe=observe)


def site_of(inventory: Inventory, wanted: Wanted) -> Site:
    """The site that is meant. Raises ``DefinitionError``."""
    site = inventory.sites.get(wanted.site)
    if site is None:
        known = ", ".join(sorted(inventory.sites))
        raise DefinitionError(f"no site is called {wanted.site!r}", hint=f"the inventory has: {known}")
    return site


def services_of(inventory: Inventory, wanted: Wanted) -> list[str]:
    """The services that are meant. Raises ``DefinitionError``."""
    known = {service for pair in inventory.pairs if wanted.site in pair.sites for service in pair.services}
    for service in wanted.services:
        if service not in known:
            raise DefinitionError(
                f"{service} is not a service of {wanted.site}", hint=f"the inventory has: {', '.join(sorted(known))}"
            )
    return sorted(wanted.services or known)


def _browser(tools: Tools, adapter: Adapter, site: Site) -> Browser:
    from orchestrator.family.composite import browser_of

    browser = browser_of(adapter)
    if browser is None:
        raise DefinitionError(
            f"the adapter {site.adapter} of {site.name} does not show the messages of endpoints",
            hint="its dumps do: give them with --dumps"
            if family_of(tools, site) == AMPS
            else "solace-semp does; it may stand under `also` of the site",
        )
    return browser


def job_of(
    tools: Tools, site: Site, services: Sequence[str], run: str | None, roles: Mapping[str, Role | None]
) -> Job:
    """What to collect, and as evidence for which fail-over. Raises ``DefinitionError``."""
    from pipeline.collect import Job

    name, outages = (None, {}) if run is None else _outages(tools, run, services)
    moments = [outage.at for service, outage in outages.items() if service in services]
    return Job(
        site=site.name,
        services=_snapshots(services, roles, outages),
        run=name,
        # Services that failed over at different times are judged by the latest: what is younger is safe for all.
        failover_at=max(moments, default=None),
        simulated=tools.registry.is_simulated(site),
    )


def _outages(tools: Tools, run: str, services: Sequence[str]) -> tuple[str, dict[str, Outage]]:
    """The fail-over that ``run`` was, by service; ``last``: the newest that stands of any of ``services``.

    Raises ``DefinitionError`` for any other run, and when there is none.
    """
    from orchestrator.operations.find_run import find_run
    from orchestrator.reports.history import RUNS_BACK, outages_of

    with closing(tools.journal()) as journal:
        if run == "last":
            # By then the restore is the last run, and what is asked for is the fail-over before it.
            for row in journal.runs()[:RUNS_BACK]:
                outages = outages_of(journal, row.run)
                if not outages.keys().isdisjoint(services):
                    return row.run, outages
            raise DefinitionError(
                f"no uncontrolled fail-over of {', '.join(services)} stands", hint="`failover runs list` has all runs"
            )
        name = find_run(journal, run)
        outages = outages_of(journal, name)
    if not outages:
        raise DefinitionError(
            f"run {name} is no uncontrolled fail-over that stands", hint="`failover runs list` has them"
        )
    return name, outages


def _roles(adapter: Adapter, services: Sequence[str]) -> dict[str, Role | None]:
    answers = probe(adapter, "replication", services)
    return {name: one.role if isinstance(one, ReplicationStatus) else None for name, one in answers.items()}


def _snapshots(
    services: Sequence[str], roles: Mapping[str, Role | None], outages: Mapping[str, Outage]
) -> list[ServiceSnapshot]:
    from pipeline.manifest import ServiceSnapshot

    found = []
    for service in services:
        role, outage = roles.get(service), outages.get(service)
        word: Literal["active", "standby"] | None = None
        if role is not None:
            word = "active" if role is Role.ACTIVE else "standby"
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


def _say_progress(clock: Clock, say: Callable[[str], None]) -> Callable[[Progress], None]:
    seldom = every_few_seconds(clock)

    def observe(progress: Progress) -> None:
        if progress.endpoint is None or seldom():
            of_all = f"{progress.endpoints:,} of {counted(progress.endpoints_total, 'endpoint')}"
            say(f"{counted(progress.messages, 'message')}, {of_all}")

    return observe


def every_few_seconds(clock: Clock) -> Callable[[], bool]:
    """Is it time to say again how far it is? So long as that was said whenever this was true."""
    next_at = clock.now() + _EVERY_S

    def is_time() -> bool:
        nonlocal next_at
        if clock.now() < next_at:
            return False
        next_at = clock.now() + _EVERY_S
        return True

    return is_time


def summary_of(manifest: Manifest, out: str) -> dict[str, object]:
    """What --json shows."""
    return {
        "simulated": manifest.simulated,
        "site": manifest.site,
        "out": out,
        "endpoints": len(manifest.endpoints),
        "messages": manifest.messages,
        "files": len(manifest.files),
        "incomplete": [str(one.key) for one in manifest.endpoints if one.is_whole is False],
    }


def show_manifest(manifest: Manifest, out: str, *, as_json: bool) -> None:
    """How much there was, and what was not read in full."""
    if as_json:
        show_json({"result": {**summary_of(manifest, out), "exit_code": 0}})
        return
    if manifest.simulated:
        show("SIMULATED")
    endpoints = f"{counted(len(manifest.endpoints), 'endpoint')} of {manifest.site}"
    show(f"{counted(manifest.messages, 'message is', 'messages are')} in {out}, of {endpoints}")
    for one in manifest.endpoints:
        if one.is_whole is False:
            show(f"  {one.key}: fewer messages were read than it told to have: take it again")
        elif one.is_whole is None:
            show(f"  {one.key}: it did not tell how many messages it has, so whether all were read is not known")
