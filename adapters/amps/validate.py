"""One validation from paths to report: what ``failover validate`` does.

Reads configurations, never changes one, and speaks to no instance.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from adapters.amps.fabric import Fabric
from adapters.amps.flow import gap_rules
from adapters.amps.gather import read_all
from adapters.amps.judge import judge
from adapters.amps.model import Instance
from adapters.amps.report import ValidationFinding, ValidationReport
from adapters.amps.rules_fabric import fabric_rules
from adapters.amps.rules_instance import instance_rules
from adapters.amps.rules_link import link_rules
from adapters.amps.rules_topic import topic_rules
from adapters.amps.settings import ValidateOptions

_EXTRA_RULES = (instance_rules, link_rules, topic_rules, gap_rules, fabric_rules)


def run_validate(paths: Iterable[Path | str], options: ValidateOptions | None = None) -> ValidationReport:
    """Validates the configurations in ``paths`` (files or folders) against each other.

    Raises ``DefinitionError`` with file and line when a file cannot be read or an option does not fit.
    """
    options = options or ValidateOptions()
    return validate(read_all(paths, options.variables, options.assumptions), options)


def validate(instances: Iterable[Instance], options: ValidateOptions | None = None) -> ValidationReport:
    """The same for instances at hand."""
    return report_on(Fabric(instances, options))


def report_on(fabric: Fabric) -> ValidationReport:
    """The report on a fabric that was built before."""
    options = fabric.options
    findings: list[ValidationFinding] = list(judge(fabric))
    if options.extra_rules:
        for rules in _EXTRA_RULES:
            findings += rules(fabric)
    return ValidationReport(
        instances=tuple(each.name for each in fabric.instances),
        links=len(fabric.links),
        topics=len(frozenset().union(*(fabric.known(each) for each in fabric.instances))),
        findings=tuple(sorted(findings, key=lambda finding: finding.sort_key)),
        assumptions=options.assumptions.model_dump(),
    )
