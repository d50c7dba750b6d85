"""A validation as text for a person: the findings, their places, consequences and fixes.

The same finding for many topics of one link is one entry. This module decides nothing and prints nothing.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence

from orchestrator.characters import spelled_out
from orchestrator.counting import counted
from validator.report import LEVELS, Level, PlanStep, Suggestion, ValidationFinding, ValidationReport

_TOPICS_SHOWN = 5
_HEAD = ("LEVEL", "CHECK", "LINK", "TOPIC")


def table(report: ValidationReport, *, width: int = 110, details: bool = True) -> str:
    """The whole report. Without ``details``, one line for each finding, for a first check."""
    lines = list(_findings(report.findings, width=width, details=details))
    if report.suggestions is not None:
        lines += _suggestions(report.suggestions, width)
    if report.plan is not None:
        lines += _plan(report.plan, width)
    if report.plan_refused is not None:
        lines += [f"ROLLING PLAN: none. {report.plan_refused}", ""]
    lines.append(_summary(report))
    # A name may contain line ends and control characters. `spelled_out` makes them harmless for lines and terminals.
    return "\n".join(map(spelled_out, lines)) + "\n"


def _findings(findings: Sequence[ValidationFinding], *, width: int, details: bool) -> Iterator[str]:
    rows = [(group, _row(group)) for group in _grouped(findings)]
    if not rows:
        return
    widths = [max(len(_HEAD[column]), *(len(row[column]) for _, row in rows)) for column in range(3)]
    yield _line(_HEAD, widths).rstrip()
    for group, row in rows:
        yield _line(row, widths).rstrip()
        if details:
            yield from _details(group[0], width)


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    first = "  ".join(cell.ljust(size) for cell, size in zip(cells, widths, strict=False))
    return f"{first}  {cells[-1]}"


def _row(group: Sequence[ValidationFinding]) -> tuple[str, str, str, str]:
    first = group[0]
    link = first.source or "-"
    if first.destination:
        link = f"{link} → {first.destination}"
    names = sorted({f"{finding.topic} ({finding.message_type})" for finding in group if finding.topic})
    topics = ", ".join(names[:_TOPICS_SHOWN]) or "-"
    if len(names) > _TOPICS_SHOWN:
        topics += f" and {len(names) - _TOPICS_SHOWN} more"
    return first.level.value, first.check, link, topics


def _details(finding: ValidationFinding, width: int) -> Iterator[str]:
    places = " and ".join(f"{spot}" for spot in (finding.source_at, finding.destination_at) if spot)
    # Do not capitalize: a name at the start of a sentence would become the name of another topic or instance.
    yield from _wrapped("; ".join(filter(None, (finding.message, finding.consequence))) + ".", width)
    if places:
        yield f"    at {places}"
    if finding.fix:
        yield f"    fix in {finding.fix.instance}, {finding.fix.where} ({finding.fix.at}):"
        yield f"      {finding.fix.xml}"
    yield ""


def _grouped(findings: Iterable[ValidationFinding]) -> Iterator[list[ValidationFinding]]:
    """Groups of findings that differ only in the topic, in the order of each group's first finding."""
    groups: dict[tuple[object, ...], list[ValidationFinding]] = {}
    for finding in findings:
        same = (finding.level, finding.check, finding.source, finding.destination)
        alone = () if finding.topic and finding.destination else (id(finding),)
        groups.setdefault((*same, *alone), []).append(finding)
    yield from groups.values()


def _suggestions(suggestions: Sequence[Suggestion], width: int) -> Iterator[str]:
    yield "SUGGESTED EXCLUSIONS" if suggestions else "SUGGESTED EXCLUSIONS: none are needed"
    for each in suggestions:
        what = (
            f"{each.source} → {each.destination}, {each.topic} ({each.message_type}): exclude {', '.join(each.add)}"
        )
        yield what
        yield f"    in {each.fix.instance}, {each.fix.where} ({each.fix.at}):"
        yield f"      {each.fix.xml}"
        for reason in each.because:
            yield from _wrapped(f"because {reason}", width)
        for loss in each.gives_up:
            yield from _wrapped(f"gives up: {loss}", width)
        if each.also_relaxes:
            yield from _wrapped(
                f"also excludes the checks for {', '.join(each.also_relaxes)}, although that is not needed", width
            )
    yield ""


def _plan(plan: Sequence[PlanStep], width: int) -> Iterator[str]:
    yield "ROLLING PLAN" if plan else "ROLLING PLAN: nothing changes"
    for step in plan:
        names = ", ".join(step.instances)
        yield f"{step.number}. [{step.stage}] {names}{' together' if step.together else ''}"
        yield from _wrapped(step.what, width)
        for change in step.changes:
            yield f"    {change.instance}, {change.where} ({change.at}):"
            yield f"      {change.xml}"
        if step.refused:
            yield from _wrapped(f"until a later step AMPS refuses {', '.join(step.refused)}", width)
    yield ""


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, max(width, 40), initial_indent="    ", subsequent_indent="    ")


def _summary(report: ValidationReport) -> str:
    counts = ", ".join(f"{report.summary[level]} {_PLURAL[level]}" for level in LEVELS)
    sizes = ((len(report.instances), "instance"), (len(report.links), "link"), (report.topics, "topic"))
    return f"{', '.join(counted(number, what) for number, what in sizes)}: {counts}"


_PLURAL = {Level.ERROR: "errors", Level.RISK: "risks", Level.UNDECIDED: "undecided", Level.NOTE: "notes"}
