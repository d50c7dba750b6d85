"""Readiness of pairs: could they be moved now? Reads both sites of each pair through read-only sessions, has the
readings judged, and stores the verdict. It also returns the findings of earlier checks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from typing import Protocol

from orchestrator.documents.abilities import Ability, all_abilities, procedures_of
from orchestrator.errors import HostKeyRejected
from orchestrator.family.contract import AdapterContext, speaks_ssh
from orchestrator.family.offers import offering
from orchestrator.family.reachability import probe
from orchestrator.family.readiness import Readiness, SiteRead, Validated, is_good
from orchestrator.journal.readiness_results import Checked as LastCheck
from orchestrator.journal.readiness_results import last_checks, store_checks
from orchestrator.model.exchanges import Exchange
from orchestrator.model.findings import Finding
from orchestrator.model.inventory import Inventory, Pair, Site
from orchestrator.model.outcome import Failure
from orchestrator.model.places import service_place
from orchestrator.model.reading import Reading
from orchestrator.operations.families import family_of, unknown_family
from orchestrator.operations.runtime import Tools
from orchestrator.operations.selection import pairs_of
from orchestrator.reports.readiness import judge_facets, not_judged


class SiteListener(Protocol):
    """Receives the exchanges with one site, reading by reading."""

    def heard(self, exchange: Exchange) -> None:
        """See ``exchanges.Witness``."""
        ...

    def further(self, read: Iterable[str]) -> Sequence[str]:
        """The readings besides ``read`` that the listener wants."""
        ...

    def end_of(self, reading: str, answers: Mapping[str, Reading | Failure]) -> None:
        """All exchanges since the last call belong to ``reading``, whose result is ``answers``."""
        ...


class Listener(Protocol):
    """Receives the exchanges with the sites, each from its own thread."""

    def witness_of(self, site: Site, services: Sequence[str]) -> SiteListener:
        """The listener for ``site``."""
        ...


@dataclass(frozen=True, slots=True)
class PairCheck:
    """One pair as it was read at ``at``, seconds since the epoch, and judged. ``reads``: empty for an unknown
    family."""

    readiness: Readiness
    at: float
    reads: Sequence[SiteRead] = ()

    @property
    def pair(self) -> Pair:
        """The pair that was checked."""
        return self.readiness.pair


def check_pairs(
    tools: Tools, inventory: Inventory, only: str | None, listener: Listener | None = None
) -> Iterator[PairCheck]:
    """Each pair, or the one called ``only``, as soon as it is judged. Raises ``DefinitionError`` for a name that no
    pair has, before the first result."""
    return (_check(tools, inventory, pair, listener) for pair in pairs_of(inventory, only))


def _check(tools: Tools, inventory: Inventory, pair: Pair, listener: Listener | None) -> PairCheck:
    one, other = (inventory.sites[name] for name in pair.sites)
    name, at = family_of(tools, one), tools.clock.now()
    if not name:
        return PairCheck(not_judged(pair, unknown_family(one)), at)
    family = offering(name)
    judge = family.readiness()
    readings = family.surveyed if judge is None else judge.readings
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda site: _read(tools, site, pair.services, readings, listener), (one, other))
    reads = (first, second)

    def validate() -> Mapping[str, Validated]:
        from orchestrator.operations.live_configurations import validated_pair

        return validated_pair(tools, inventory, pair)

    found = judge_facets(family, pair, reads) if judge is None else judge.judge(pair, reads, validate)
    return PairCheck(found, at, reads)


def _read(
    tools: Tools, site: Site, services: Sequence[str], readings: Sequence[str], listener: Listener | None
) -> SiteRead:
    witness = None if listener is None else listener.witness_of(site, services)
    context = AdapterContext(tools.clock, tools.secrets, read_only=True, witness=witness or tools.witness)
    answers: dict[str, Mapping[str, Reading | Failure]] = {}
    with closing(tools.registry.adapter_for(site, context)) as adapter:
        for reading in (*readings, *(witness.further(readings) if witness is not None else ())):
            answers[reading] = probe(adapter, reading, services)
            if witness is not None:
                witness.end_of(reading, answers[reading])
    return SiteRead(site, answers, _host_keys(tools, site))


def _host_keys(tools: Tools, site: Site) -> dict[str, bool] | None:
    """By device: does the inventory or known_hosts name a key for it? None if no SSH is used."""
    parts = [part for part in site.parts if speaks_ssh(tools.registry.get(part.adapter))]
    if not parts:
        return None
    from adapters.ssh.hostkeys import expected_of

    known: dict[str, bool] = {}
    for part in parts:
        for device in part.devices:
            try:
                known[device.name] = bool(expected_of(device, part.known_hosts).keys)
            except HostKeyRejected:
                known[device.name] = False
    return known


def abilities_at(tools: Tools, inventory: Inventory, pair: Pair) -> dict[str, list[Ability]]:
    """By site, the procedures that are possible if that site is left, from the declarations of its adapters; empty for
    an unknown family."""
    kinds = {name: tools.registry.declarations(inventory.sites[name]) for name in pair.sites}
    family = family_of(tools, inventory.sites[pair.sites[0]])
    if not family:
        return {}
    procedures = procedures_of(family)
    return {name: all_abilities(procedures, kind, kinds[pair.mate_of(name)]) for name, kind in kinds.items()}


def store_found(tools: Tools, inventory: Inventory, found: Sequence[PairCheck], now: float) -> None:
    """Keep the findings of each service, without secrets."""
    scrub = tools.secrets.redactor.scrub
    rows: dict[str, tuple[bool, Sequence[Finding]]] = {}
    for one in found:
        for service in one.pair.services:
            findings = [
                finding.model_copy(update={"message": scrub(finding.message)})
                for finding in one.readiness.findings_of(service)
            ]
            rows[_key_of(inventory, one.pair, service)] = (is_good(findings), findings)
    with closing(tools.journal()) as journal:
        store_checks(journal, now, rows)


def known_checks(tools: Tools, inventory: Inventory, pairs: Sequence[Pair]) -> dict[str, LastCheck | None]:
    """By service, the findings of its last check; None if it was never checked. No device is asked."""
    keys = {service: _key_of(inventory, pair, service) for pair in pairs for service in pair.services}
    with closing(tools.journal()) as journal:
        stored = last_checks(journal, keys.values())
    return {service: stored.get(key) for service, key in keys.items()}


def _key_of(inventory: Inventory, pair: Pair, service: str) -> str:
    """The key under which a service's last check is stored."""
    return service_place(service, [inventory.sites[name] for name in pair.sites])
