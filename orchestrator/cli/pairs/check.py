"""The output of ``failover check``: the state of the pairs, or the results of earlier checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.cli.pairs.store_samples import SampleStore
from orchestrator.cli.render.abilities_table import abilities_lines
from orchestrator.cli.render.explanation import show_explanation
from orchestrator.cli.render.tables import lines_of, plain_table
from orchestrator.cli.render.terminal import presentable, show, show_document, show_json
from orchestrator.clock import iso
from orchestrator.counting import counted
from orchestrator.documents.abilities import Ability
from orchestrator.family.readiness import Readiness, matter
from orchestrator.journal.readiness_results import Checked as LastCheck
from orchestrator.model.findings import Finding, Level
from orchestrator.model.inventory import Inventory
from orchestrator.operations.pairs.check import (
    PairCheck,
    abilities_at,
    check_pairs,
    known_checks,
    store_found,
)
from orchestrator.operations.pairs.explanation import Explaining
from orchestrator.operations.runtime import Tools
from orchestrator.operations.selection import pairs_of
from orchestrator.reports.readiness import last_check_words

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
    """Check the pairs, and store and print the findings. Keep the readings in ``readings``, and the exchanges that they
    were made from in ``explain``.

    Returns the exit code: 0, or 4 if there is a finding above a note.
    """
    samples = SampleStore(tools, inventory, readings, "check")
    explaining = None if explain is None else Explaining(tools, inventory, explain)
    simulated = tools.is_simulated(inventory)
    found: list[PairCheck] = []
    for one in check_pairs(tools, inventory, only, explaining):
        for read in one.reads:
            mate = one.pair.mate_of(read.name)
            samples.keep(read.name, read.answers, one.pair.services, one.at, simulated=simulated, mate=mate)
        found.append(one)
    now = tools.clock.now()
    store_found(tools, inventory, found, now)
    code = FINDINGS if any(matter(one.readiness.findings) for one in found) else 0
    if explaining is not None:
        document = explaining.finish(now, simulated=simulated)
        if as_json:
            show_json({**document, "exit_code": code})
            return code
        if simulated:
            show_document("SIMULATED")
        show_explanation(explaining, document)
        for one in found:
            show(_conclusion(one.readiness))
        return code
    if as_json:
        pairs = [_as_data(one.readiness, abilities_at(tools, inventory, one.pair)) for one in found]
        show_json({"simulated": simulated, "at": iso(now), "pairs": pairs, "exit_code": code})
        return code
    if simulated:
        show_document("SIMULATED")
    for one in found:
        _print(one.readiness, abilities_at(tools, inventory, one.pair))
    return code


# Printing


def _as_data(found: Readiness, could: Mapping[str, Sequence[Ability]]) -> dict[str, object]:
    pair = found.pair
    sites = {name: {one.check: one.verdict for one in found.checked if one.site == name} for name in pair.sites}
    services = [
        {
            "service": service,
            "good": found.could_move(service),
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
    head = {"pair": pair.name, "verdict": found.verdict}
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
    # Services with findings come first, because with many services the others may leave the screen.
    for service in sorted(pair.services, key=lambda service: not matter(_own(found, service))):
        table.add_row(service, *(presentable(cells[service, check]) for check in found.service_checks))
    show_document("")
    for line in lines_of(table):
        show_document(line)
    if could:
        show_document("")
        for line in abilities_lines(could, "if the site is left or lost"):
            show_document(line)
    for line in finding_lines(found.findings):
        show(line)
    show(_conclusion(found))


def _conclusion(found: Readiness) -> str:
    return f"{found.verdict.upper()}: {_because(found)}"


def _because(found: Readiness) -> str:
    """The number of services that could be moved, and the findings that prevent the others."""
    pair = found.pair
    good = sum(found.could_move(service) for service in pair.services)
    counts = Counter(finding.level for finding in found.findings)
    words = {Level.ERROR: "error", Level.UNKNOWN: "unknown", Level.WARNING: "warning"}
    what = ", ".join(counted(counts[level], word, word + "s") for level, word in words.items() if counts[level])
    nothing = "nothing prevents a move"
    return f"{good} of {counted(len(pair.services), 'service')} of {pair.name} could be moved now; {what or nothing}"


def _own(found: Readiness, service: str) -> list[Finding]:
    return [one.finding for one in found.checked if one.service == service and one.finding is not None]


def _mark(finding: Finding | None) -> str:
    if finding is None or finding.level is Level.NOTE:
        return ""
    return {Level.ERROR: "ERROR: ", Level.WARNING: "warning: ", Level.UNKNOWN: "? "}[finding.level]


@dataclass(slots=True)
class _Group:
    """Findings with the same code for several sites or services."""

    first: Finding
    messages: list[str]


def finding_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """The findings with their hints, the worst first. A finding of many services is printed once."""
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
            yield f"  and {len(group.messages) - _NAMES_IN_FULL} more findings of this kind"
        yield f"  what to do: {group.first.hint}"


# What earlier checks found


def show_last(tools: Tools, inventory: Inventory, only: str | None, *, as_json: bool) -> int:
    """Print the stored results, without connecting to a device. Returns 0, or 4 if there is a finding above a note, or a
    service that was never checked."""
    known = known_checks(tools, inventory, pairs_of(inventory, only))
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
