"""One validation from paths to report, for ``failover validate``.

It reads configurations, never changes a configuration, and does not connect to any instance.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from adapters.amps.config.model import Instance, Topic
from adapters.amps.config.settings import ValidateOptions
from validator.fabric.fabric import Fabric
from validator.fabric.flow import gap_rules
from validator.gather import read_all
from validator.judge import judge
from validator.report import Edge, Level, Node, ValidationFinding, ValidationReport
from validator.rolling.order import rolling_plan
from validator.rules.bootstrap import bootstrap_rules
from validator.rules.fabric import fabric_rules
from validator.rules.instance import instance_rules
from validator.rules.link import link_rules
from validator.rules.topic import topic_rules
from validator.suggest import suggestions

_EXTRA_RULES = (instance_rules, link_rules, topic_rules, gap_rules, fabric_rules, bootstrap_rules)


def run_validate(paths: Iterable[Path | str], options: ValidateOptions | None = None) -> ValidationReport:
    """Validates the configurations in ``paths`` (files or folders) against each other.

    Raises ``DefinitionError`` with file and line when a file cannot be read or an option does not fit.
    """
    options = options or ValidateOptions()
    instances = read_all(paths, options.variables, options.assumptions)
    before = read_all(options.rolling_from, options.variables, options.assumptions) if options.rolling_from else ()
    report = validate(instances, options)
    return _with_plan(report, before, instances, options) if before else report


def validate(instances: Iterable[Instance], options: ValidateOptions | None = None) -> ValidationReport:
    """Validates instances that were read before."""
    return report_on(Fabric(instances, options))


def report_on(fabric: Fabric) -> ValidationReport:
    """The report on an existing fabric."""
    findings: list[ValidationFinding] = list(judge(fabric))
    if fabric.options.extra_rules:
        for rules in _EXTRA_RULES:
            findings += rules(fabric)
    findings.sort(key=lambda finding: finding.sort_key)
    known: set[Topic] = set()
    return ValidationReport(
        instances=tuple(Node(name=each.name, group=each.group, file=each.at.file) for each in fabric.instances),
        links=tuple(_edges(fabric, findings)),
        topics=len(known.union(*(fabric.known(each) for each in fabric.instances))),
        findings=tuple(findings),
        assumptions=fabric.assumptions.model_dump(),
        suggestions=suggestions(fabric) if fabric.options.suggest_exclusions else None,
    )


def _with_plan(
    report: ValidationReport, before: Sequence[Instance], after: Sequence[Instance], options: ValidateOptions
) -> ValidationReport:
    plan = rolling_plan(before, after, options)
    refused = (
        "AMPS would refuse links of the new configurations; fix these configurations first" if plan is None else None
    )
    return report.model_copy(update={"plan": plan, "plan_refused": refused})


def _edges(fabric: Fabric, findings: Sequence[ValidationFinding]) -> Iterable[Edge]:
    worst: dict[tuple[str | None, str | None], Level] = {}
    for finding in findings:  # the worst come first
        worst.setdefault((finding.source, finding.destination), finding.level)
    for link in fabric.links:
        yield Edge(
            source=link.source.name,
            destination=link.target.name,
            sync=link.is_sync,
            topics=len(fabric.traffic(link)),
            worst=worst.get((link.source.name, link.target.name)),
        )
