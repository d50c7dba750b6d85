"""A validation as SARIF 2.1.0, a format for code review tools (OASIS, "Static Analysis Results Interchange").

Each finding is one result at the source's line, with the other side as a related location. A finding without a place
has no location.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from orchestrator.characters import json_escaped
from validator.report import Level, Spot, ValidationFinding, ValidationReport
from validator.rules.catalogue import RULES, Rule

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"

# An undecided finding is a warning: a result of kind "open" must have the level "none", which tools hide.
_LEVELS = {Level.ERROR: "error", Level.RISK: "warning", Level.UNDECIDED: "warning", Level.NOTE: "note"}


def sarif(report: ValidationReport, *, base: Path | None = None) -> str:
    """The report as a SARIF document. Paths below ``base`` (the repository) are written relative to it."""
    used = sorted({finding.check for finding in report.findings})
    index = {rule: position for position, rule in enumerate(used)}
    run = {
        "tool": {"driver": {"name": "failover validate", "rules": [_rule(RULES[rule]) for rule in used]}},
        "columnKind": "utf16CodeUnits",
        "results": [_result(finding, index[finding.check], base) for finding in report.findings],
    }
    document = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json_escaped(json.dumps(document, indent=2, ensure_ascii=False)) + "\n"


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": f"{rule.title.rstrip('.')}. Otherwise: {rule.consequence}."},
        "defaultConfiguration": {"level": _LEVELS[rule.level]},
    }


def _result(finding: ValidationFinding, rule_index: int, base: Path | None) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.check,
        "ruleIndex": rule_index,
        "level": _LEVELS[finding.level],
        "message": {"text": _text(finding)},
        "partialFingerprints": {"failoverValidate/v1": _fingerprint(finding)},
        "properties": {
            "verdict": finding.level.value,
            "source": finding.source,
            "destination": finding.destination,
            "topic": finding.topic,
            "messageType": finding.message_type,
            "excluded": finding.excluded,
        },
    }
    if finding.source_at:
        result["locations"] = [{"physicalLocation": _place(finding.source_at, base)}]
    related = []
    if finding.destination_at:
        related.append(
            {"id": 1, "physicalLocation": _place(finding.destination_at, base), "message": {"text": "other side"}}
        )
    if finding.fix:
        where = {"text": f"{finding.fix.where} of {finding.fix.instance}: {finding.fix.xml}"}
        related.append({"id": 2, "physicalLocation": _place(finding.fix.at, base), "message": where})
    if related:
        result["relatedLocations"] = related
    return result


def _text(finding: ValidationFinding) -> str:
    sentences = [finding.message, finding.consequence]
    if finding.fix:
        sentences.append(f"Fix in {finding.fix.where} of {finding.fix.instance}: {finding.fix.xml}")
    return ". ".join(sentence for sentence in sentences if sentence)


def _place(spot: Spot, base: Path | None) -> dict[str, Any]:
    path = Path(spot.file)
    if base is not None and path.is_absolute() and path.is_relative_to(base):
        path = path.relative_to(base)
    uri = path.as_uri() if path.is_absolute() else quote(path.as_posix())
    return {"artifactLocation": {"uri": uri}, "region": {"startLine": spot.line}}


def _fingerprint(finding: ValidationFinding) -> str:
    """An id of the finding that stays equal when lines move."""
    parts = (finding.check, finding.source, finding.destination, finding.topic, finding.message_type)
    return hashlib.sha256("\x1f".join(part or "" for part in parts).encode()).hexdigest()[:32]
