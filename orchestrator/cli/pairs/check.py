"""Reads both sites of every pair through sessions that can only look, has that judged, stores and prints the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from orchestrator.cli.pairs.store_samples import Keeping
from orchestrator.cli.render.abilities_table import abilities_lines, abilities_of
from orchestrator.cli.render.explanation import Explaining
from orchestrator.cli.render.tables import lines_of, plain_table
from orchestrator.cli.render.terminal import presentable, show, show_document, show_json
from orchestrator.clock import iso
from orchestrator.counting import counted
from orchestrator.documents.abilities import Ability
from orchestrator.errors import DefinitionError, HostKeyRejected
from orchestrator.family.contract import Setting
from orchestrator.family.reachability import probe
from orchestrator.journal.lease import service_place
from orchestrator.journal.readiness_results import Checked as LastCheck
from orchestrator.journal.readiness_results import last_checks, store_checks
from orchestrator.model.families import needed_family
from orchestrator.model.findings import Finding, Level
from orchestrator.model.inventory import Inventory, Pair, Site
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.operations.families import AMPS, SOLACE, family_of, unknown_family
from orchestrator.operations.runtime import Tools
from orchestrator.reports.ages import age
from orchestrator.reports.readiness import (
    AMPS_READINGS,
    READINGS,
    Readiness,
    SiteRead,
    is_good,
    judge,
    judge_amps,
    judge_facets,
    matter,
    not_judged,
)

# Adapters that speak SSH, and so meet host keys.
_SPEAK_SSH = frozenset({"solace-cli"})
_NAMES_IN_FULL = 3
_ORDER = (Level.ERROR, Level.UNKNOWN, Level.WARNING, Level.NOTE)
FINDINGS = 4


def run_check(
    tools: Tools,
    inventory: Inventory,
    only: str | None,
    readings: Path | None,
    *,
    explain: Path | None = None,
    as_json: bool,
) -> int:
    """Check the pairs, store and print what was found; keep the readings where ``readings`` says, and in ``explain`` what
    they were made of.

    Returns the exit code: 0, or 4 beyond notes.
    """
    keeping = Keeping(tools, inventory, readings, "check")
    explaining = None if explain is None else Explaining(tools, inventory, explain)
    found = [_check(tools, inventory, pair, keeping, explaining) for pair in pairs_of(inventory, only)]
    now = tools.clock.now()
    _store(tools, inventory, found, now)
    simulated = tools.is_simulated(inventory)
    code = FINDINGS if any(matter(one.findings) for one in found) else 0
    if explaining is not None:
        document = explaining.finish(now, simulated=simulated)
        if as_json:
            show_json({**document, "exit_code": code})
            return code
        if simulated:
            show_document("SIMULATED")
        explaining.show(document)
        for one in found:
            show(_conclusion(one))
        return code
    if as_json:
        pairs = [_as_data(one, _abilities(tools, inventory, one.pair)) for one in found]
        show_json({"simulated": simulated, "at": iso(now), "pairs": pairs, "exit_code": code})
        return code
    if simulated:
        show_document("SIMULATED")
    for one in found:
        _print(one, _abilities(tools, inventory, one.pair))
    return code


def _abilities(tools: Tools, inventory: Inventory, pair: Pair) -> dict[str, list[Ability]]:
    """The procedures that are possible when each site is left, by what its adapters declare; none of an unknown
    family."""
    kinds = {name: tools.registry.declarations(inventory.sites[name]) for name in pair.sites}
    family = family_of(tools, inventory.sites[pair.sites[0]])
    if not family:
        return {}
    return {name: abilities_of(family, kind, kinds[pair.mate_of(name)]) for name, kind in kinds.items()}


def pairs_of(inventory: Inventory, only: str | None) -> list[Pair]:
    """The pairs that are meant. Raises ``DefinitionError`` for a name that none has."""
    pairs = [pair for pair in inventory.pairs if only in (None, pair.name)]
    if not pairs:
        known = ", ".join(pair.name for pair in inventory.pairs)
        raise DefinitionError(f"no pair is called {only!r}", hint=f"the inventory has: {known}")
    return pairs


# Reading


def _check(
    tools: Tools, inventory: Inventory, pair: Pair, keeping: Keeping, explaining: Explaining | None
) -> Readiness:
    one, other = (inventory.sites[name] for name in pair.sites)
    family = family_of(tools, one)
    if not family:
        return not_judged(pair, unknown_family(one))
    readings = {AMPS: AMPS_READINGS, SOLACE: READINGS}.get(family) or needed_family(family).surveyed
    at = tools.clock.now()
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda site: _read(tools, site, pair.services, readings, explaining), (one, other))
    for read in (first, second):
        mate, simulated = pair.mate_of(read.name), tools.is_simulated(inventory)
        keeping.keep(read.name, read.answers, pair.services, at, simulated=simulated, mate=mate)
    if family not in (AMPS, SOLACE):
        return judge_facets(needed_family(family), pair, (first, second))
    if family == AMPS:
        from orchestrator.operations.live_configurations import validated_pair

        return judge_amps(pair, (first, second), validated_pair(tools, inventory, pair))
    return judge(pair, (first, second))


def _read(
    tools: Tools, site: Site, services: Sequence[str], readings: Sequence[str], explaining: Explaining | None
) -> SiteRead:
    told = None if explaining is None else explaining.witness_of(site, services)
    adapter = tools.registry.adapter_for(site, Setting(tools.clock, tools.secrets, read_only=True, witness=told))
    answers: dict[str, Mapping[str, Reading | Failure]] = {}
    try:
        for reading in (*readings, *(told.further(readings) if told is not None else ())):
            answers[reading] = probe(adapter, reading, services)
            if told is not None:
                told.end_of(reading, answers[reading])
    finally:
        adapter.close()
    return SiteRead(site, answers, _host_keys(site))


def _host_keys(site: Site) -> dict[str, bool] | None:
    """By device: does the inventory or known_hosts name a key for it? None where no SSH is spoken."""
    parts = [part for part in site.parts if part.adapter in _SPEAK_SSH]
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


# Keeping


def _store(tools: Tools, inventory: Inventory, found: Sequence[Readiness], now: float) -> None:
    scrub = tools.secrets.redactor.scrub
    rows: dict[str, tuple[bool, Sequence[Finding]]] = {}
    for one in found:
        for service in one.pair.services:
            findings = [
                finding.model_copy(update={"message": scrub(finding.message)}) for finding in one.findings_of(service)
            ]
            rows[key_of(inventory, one.pair, service)] = (is_good(findings), findings)
    with closing(tools.journal()) as journal:
        store_checks(journal, now, rows)


def key_of(inventory: Inventory, pair: Pair, service: str) -> str:
    """By what a service's last check is found again."""
    return service_place(service, [inventory.sites[name] for name in pair.sites])


# Printing


def _as_data(found: Readiness, could: Mapping[str, Sequence[Ability]]) -> dict[str, object]:
    pair = found.pair
    sites = {name: {one.check: one.verdict for one in found.checked if one.site == name} for name in pair.sites}
    services = [
        {
            "service": service,
            "good": is_good(found.findings_of(service)),
            "checks": {one.check: one.verdict for one in found.checked if one.service == service},
        }
        for service in pair.services
    ]
    findings = [
        {"service": one.service, "site": one.site, "check": one.check, **one.finding.model_dump(mode="json")}
        for one in found.checked
        if one.finding is not None
    ]
    for finding in findings:
        del finding["file"], finding["line"]
    head = {"pair": pair.name, "verdict": verdict_of(found)}
    procedures = {site: {one.procedure: one.verdict for one in listed} for site, listed in could.items()}
    return {**head, "sites": sites, "services": services, "findings": findings, "procedures": procedures}


def _print(found: Readiness, could: Mapping[str, Sequence[Ability]]) -> None:
    pair = found.pair
    cells = {(one.site or one.service, one.check): f"{_mark(one.finding)}{one.detail}" for one in found.checked}
    table = plain_table(pair.name, *pair.sites)
    for check in found.site_checks:
        row = [cells.get((site, check)) for site in pair.sites]
        if any(row):
            table.add_row(check, *(presentable(cell or "-") for cell in row))
    show_document("")
    for line in lines_of(table):
        show_document(line)
    table = plain_table("service", *found.service_checks)
    # Those with findings first: of many services the others may leave the screen.
    for service in sorted(pair.services, key=lambda service: not matter(_own(found, service))):
        table.add_row(service, *(presentable(cells[service, check]) for check in found.service_checks))
    show_document("")
    for line in lines_of(table):
        show_document(line)
    if could:
        show_document("")
        for line in abilities_lines(could, "when it is left or lost"):
            show_document(line)
    for line in finding_lines(found.findings):
        show(line)
    show(_conclusion(found))


def _conclusion(found: Readiness) -> str:
    return f"{verdict_of(found).upper()}: {_because(found)}"


def verdict_of(found: Readiness) -> Literal["ready", "ready, with warnings", "not ready", "unknown"]:
    """Could every service of the pair be moved now? Unknown where nothing is in the way, and not everything is known."""
    levels = {finding.level for finding in found.findings}
    if Level.ERROR in levels:
        return "not ready"
    return "unknown" if Level.UNKNOWN in levels else "ready, with warnings" if Level.WARNING in levels else "ready"


def _because(found: Readiness) -> str:
    """How many of its services, and what is in the way of the others."""
    pair = found.pair
    good = sum(is_good(found.findings_of(service)) for service in pair.services)
    counts = Counter(finding.level for finding in found.findings)
    words = {Level.ERROR: "error", Level.UNKNOWN: "unknown", Level.WARNING: "warning"}
    what = ", ".join(counted(counts[level], word, word + "s") for level, word in words.items() if counts[level])
    nothing = "nothing is in the way"
    return f"{good} of {counted(len(pair.services), 'service')} of {pair.name} could be moved now; {what or nothing}"


def _own(found: Readiness, service: str) -> list[Finding]:
    return [one.finding for one in found.checked if one.service == service and one.finding is not None]


def _mark(finding: Finding | None) -> str:
    if finding is None or finding.level is Level.NOTE:
        return ""
    return {Level.ERROR: "ERROR: ", Level.WARNING: "warning: ", Level.UNKNOWN: "? "}[finding.level]


@dataclass(slots=True)
class _Group:
    """Findings that say the same of several sites or services."""

    first: Finding
    messages: list[str]


def finding_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """What was found, the worst first, the same thing of many services once; each with what to do."""
    groups: dict[tuple[str, str], _Group] = {}
    for finding in sorted(findings, key=lambda one: _ORDER.index(one.level)):
        group = groups.setdefault((finding.code, finding.level), _Group(finding, []))
        if finding.message not in group.messages:
            group.messages.append(finding.message)
    if groups:
        yield ""
    for group in groups.values():
        for message in group.messages[:_NAMES_IN_FULL]:
            yield f"{group.first.level}: {message} [{group.first.code}]"
        if len(group.messages) > _NAMES_IN_FULL:
            yield f"  and {len(group.messages) - _NAMES_IN_FULL} more of these"
        yield f"  what to do: {group.first.hint}"


# What earlier checks found


def show_last(tools: Tools, inventory: Inventory, only: str | None, *, as_json: bool) -> int:
    """Print what is stored, without asking a device. Returns 0, or 4 beyond notes or for a service never checked."""
    known = _known(tools, inventory, pairs_of(inventory, only))
    simulated, now = tools.is_simulated(inventory), tools.clock.now()
    code = FINDINGS if any(one is None or matter(one.findings) for one in known.values()) else 0
    if as_json:
        services = [_last_as_data(service, one, now) for service, one in known.items()]
        show_json({"simulated": simulated, "at": iso(now), "services": services, "exit_code": code})
        return code
    if simulated:
        show_document("SIMULATED")
    for service, one in known.items():
        show(f"{service}: {last_check_words(one, now)}")
    for line in finding_lines([finding for one in known.values() if one is not None for finding in one.findings]):
        show(line)
    return code


def _known(tools: Tools, inventory: Inventory, pairs: Sequence[Pair]) -> dict[str, LastCheck | None]:
    keys = {service: key_of(inventory, pair, service) for pair in pairs for service in pair.services}
    with closing(tools.journal()) as journal:
        stored = last_checks(journal, keys.values())
    return {service: stored.get(key) for service, key in keys.items()}


def _last_as_data(service: str, one: LastCheck | None, now: float) -> dict[str, object]:
    if one is None:
        return {"service": service, "checked_at": None, "good_at": None, "age_s": None, "findings": []}
    return {
        "service": service,
        "checked_at": iso(one.at),
        "good_at": None if one.good_at is None else iso(one.good_at),
        "age_s": round(now - one.at, 3),
        "findings": [finding.model_dump(mode="json", exclude={"file", "line"}) for finding in one.findings],
    }


def last_check_words(one: LastCheck | None, now: float) -> str:
    """``last good check 3 h ago``; what is known besides when the last one was not good."""
    if one is None:
        return "never checked"
    if one.good_at == one.at:
        return f"last good check {age(now - one.at)}"
    bad = sum(finding.level in (Level.ERROR, Level.UNKNOWN) for finding in one.findings)
    good = "never found good" if one.good_at is None else f"last good check {age(now - one.good_at)}"
    return f"{good}; the last one, {age(now - one.at)}, found {bad} in the way or unknown"


def last_checks_of(tools: Tools, inventory: Inventory, pair: Pair, services: Sequence[str]) -> Iterator[str]:
    """For the plan of a planned move: how old the last good check of each service is."""
    known = _known(tools, inventory, [pair])
    now = tools.clock.now()
    for service in services:
        yield f"{service}: {last_check_words(known.get(service), now)}"
