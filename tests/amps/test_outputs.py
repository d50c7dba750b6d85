"""Table, JSON, SARIF and drawing: all made from the same findings, and none of them surprising to a machine."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from validator.output.drawing import mermaid, svg
from validator.output.sarif import sarif
from validator.output.table import table
from validator.report import Level, ValidationReport, report_schema
from validator.validate import run_validate

PUBLISHED = Path(__file__).parents[2] / "validator" / "report.schema.json"


@pytest.fixture
def report(amps: SimpleNamespace) -> ValidationReport:
    """A pair with errors for three topics, a risk, an undecided destination and notes."""
    topics = ("orders", "trades", "x & <y>")
    a = amps.full("A", ["B"], topics)
    back = (amps.Entry("orders", exclude="txlog"), amps.Entry("trades"), amps.Entry("x & <y>"), amps.Entry("z"))
    b = amps.full("B", ["A"], topics, log=("orders",), to=(amps.Dest("A", back, group="G"), amps.Dest("far", back)))
    report: ValidationReport = amps.report_of(a, b.but(root="<Zebra/>"), suggest_exclusions=True)
    return report


def test_the_json_is_as_its_published_schema_says(report: ValidationReport) -> None:
    """The schema beside the code is the generated one, and the report obeys it."""
    published = json.loads(PUBLISHED.read_text())
    assert published == report_schema()
    jsonschema.Draft202012Validator.check_schema(published)
    document = json.loads(report.to_json())
    jsonschema.validate(document, published, cls=jsonschema.Draft202012Validator)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "more": 1}, published)


def test_the_json_names_instances_and_plain_topics(report: ValidationReport) -> None:
    """``check``, ``level``, ``source``, ``destination``, ``topic`` and ``message_type``, and both places."""
    document = json.loads(report.to_json())
    finding = next(each for each in document["findings"] if each["check"] == "txlog" and each["topic"] == "trades")
    assert {key: finding[key] for key in ("check", "level", "source", "destination", "topic", "message_type")} == {
        "check": "txlog",
        "level": "error",
        "source": "A",
        "destination": "B",
        "topic": "trades",
        "message_type": "json",
    }
    assert finding["source_at"]["file"] == "A.xml" and finding["destination_at"]["file"] == "B.xml"
    assert "<Name>trades</Name>" in finding["fix"]["xml"]
    assert document["summary"] == {level.value: sum(f.level is level for f in report.findings) for level in Level}
    assert {(edge["source"], edge["destination"], edge["worst"]) for edge in document["links"]} == {
        ("A", "B", "error"),
        ("B", "A", "error"),
    }
    assert ValidationReport.model_validate({k: v for k, v in document.items() if k != "summary"}) == report


def test_fixes_are_xml(report: ValidationReport) -> None:
    """Every fix parses on its own, whatever is in the names."""
    fixes = [finding.fix for finding in report.findings if finding.fix] + [s.fix for s in report.suggestions or ()]
    assert len(fixes) > 5
    for fix in fixes:
        ElementTree.fromstring(fix.xml)


def test_sarif_has_what_the_format_requires(report: ValidationReport) -> None:
    """Version 2.1.0, one run, a rule for every result, levels of the format, places that count from 1."""
    document = json.loads(sarif(report))
    assert (document["version"], len(document["runs"])) == ("2.1.0", 1)
    run = document["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert len(run["results"]) == len(report.findings)
    for result, finding in zip(run["results"], report.findings, strict=True):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"] == finding.check
        assert result["level"] in ("error", "warning", "note")
        assert (result["level"] == "error") is (finding.level is Level.ERROR)
        assert finding.message in result["message"]["text"]
        for location in result["locations"]:
            assert location["physicalLocation"]["region"]["startLine"] >= 1
    prints = [result["partialFingerprints"]["failoverValidate/v1"] for result in run["results"]]
    assert all(len(each) == 32 for each in prints)


def test_sarif_paths_are_relative_to_the_repository(tmp_path: Path, amps: SimpleNamespace) -> None:
    """A path below the base is relative, with its special characters quoted; one outside is a file URI."""
    folder = tmp_path / "conf a"
    folder.mkdir()
    (folder / "a.xml").write_text(amps.full("A", ["B"], ["t"]).xml())
    found = run_validate([folder])
    uris = {
        json.loads(sarif(found, base=base))["runs"][0]["results"][0]["locations"][0]["physicalLocation"][
            "artifactLocation"
        ]["uri"]
        for base in (tmp_path, tmp_path / "other")
    }
    assert uris == {"conf%20a/a.xml", (folder / "a.xml").as_uri()}


def test_a_fingerprint_survives_moved_lines(pair: Any, amps: SimpleNamespace) -> None:
    """The same finding at another line is the same result to a review tool."""

    def fingerprints(root: str) -> list[str]:
        a, b = pair()
        runs = json.loads(sarif(amps.report_of(a.but(transports=root + a.transports), b.but(log=()))))["runs"]
        return [result["partialFingerprints"]["failoverValidate/v1"] for result in runs[0]["results"]]

    assert fingerprints("") == fingerprints("\n\n\n")


def test_the_table_says_what_where_and_what_to_do(report: ValidationReport) -> None:
    """One entry for the topics of a link, both places, the consequence, the XML, and the counts at the end."""
    text = table(report)
    lines = text.splitlines()
    assert lines[0].split() == ["LEVEL", "CHECK", "LINK", "TOPIC"]
    [row] = [line for line in lines if line.split()[:3] == ["error", "txlog", "A"]]
    assert row.split("  ")[-1] == "trades (json), x & <y> (json)"
    assert "at A.xml:" in text and "fix in B, TransactionLog (B.xml:" in text
    assert "SUGGESTED EXCLUSIONS" in text
    assert lines[-1].startswith("2 instances, 2 links, 4 topics: ")
    short = table(report, details=False)
    assert len(short.splitlines()) < len(lines) and "fix in" not in short


def test_a_clean_report_is_one_line(pair: Any, amps: SimpleNamespace) -> None:
    """Nothing found: the size of what was looked at, and zeros."""
    assert (
        table(amps.report_of(*pair())) == "2 instances, 2 links, 1 topic: 0 errors, 0 risks, 0 undecided, 0 notes\n"
    )


def test_the_drawing_shows_groups_links_and_what_would_be_refused(amps: SimpleNamespace) -> None:
    """Sync solid, async dashed, refused links red; names are quoted for the format."""
    a = amps.full('A"1', ["B"], ["t"])
    b = amps.full("B", [], ["t"], to=(amps.Dest('A"1', (amps.Entry("t"),), sync="async"),), log=())
    drawn = mermaid(amps.report_of(a, b))
    assert drawn.splitlines() == [
        "flowchart LR",
        '  subgraph g0["G"]',
        '    n0["A#quot;1"]',
        '    n1["B"]',
        "  end",
        '  n0 -->|"1 topic"| n1',
        '  n1 -.->|"1 topic"| n0',
        "  linkStyle 0 stroke:#c62828",
        "  linkStyle 1 stroke:#ef6c00",
    ]


def test_the_svg_is_well_formed_and_names_everything(report: ValidationReport) -> None:
    """Every instance is a box with its name, every link a path with a title."""
    root = ElementTree.fromstring(svg(report))
    space = "{http://www.w3.org/2000/svg}"
    assert [text.text for text in root.iter(f"{space}text")] == ["A", "G", "B", "G"]
    titles = [title.text for path in root.findall(f"{space}path") for title in path]
    assert titles == ["A → B: 3 topics", "B → A: 4 topics"]


def test_a_large_fabric_is_drawn_by_group(amps: SimpleNamespace) -> None:
    """More instances than fit: one box a group, one arrow for the links between two groups."""
    confs = [
        amps.full(f"{group}{number}", [f"{group}{1 - number}"], ["t"], group=group)
        for group in "PQ"
        for number in (0, 1)
    ]
    confs[0] = confs[0].but(to=(*confs[0].to, amps.Dest("Q0", (amps.Entry("t"),), sync="async")))
    found = amps.report_of(*confs)
    drawn = mermaid(found, instances_max=3)
    assert '["P (2 instances)"]' in drawn and '|"2 links"|' in drawn and '-.->|"1 link"|' in drawn
    assert "instances)" in svg(found, instances_max=3)


@pytest.mark.parametrize("name", ["orders", "Orders", "oRDERS"])
def test_the_table_writes_names_as_they_are(amps: SimpleNamespace, name: str) -> None:
    """Law: a name at the head of a sentence keeps its case: with a capital it would be another topic's."""
    here, there = amps.full("nyc", ["ldn"], [name]), amps.full("ldn", ["nyc"], [name]).but(sow={name: ("/other",)})
    lines = [line.strip() for line in table(amps.report_of(here, there)).splitlines()]
    told = [line for line in lines if line.lower().startswith(f"{name.lower()} ")]
    assert told
    assert all(line.startswith(f"{name} ") for line in told)
    assert not any(line.startswith(("Nyc", "Ldn")) for line in lines)


def queue(underlying: str) -> str:
    return (
        f"<Queue><Name>q</Name><MessageType>json</MessageType><UnderlyingTopic>{underlying}</UnderlyingTopic></Queue>"
    )


def test_two_changes_of_which_one_is_enough(amps: SimpleNamespace) -> None:
    """Law: where both directions propose the opposite change, each says that it is one of two; pasting both would swap
    the mistake. What is proposed one way only says nothing of the kind."""
    a, b = amps.full("A", ["B"], ["orders"]), amps.full("B", ["A"], ["orders"])
    keys = amps.report_of(a, b.but(sow={"orders": ("/other",)}))
    fixes = [one.fix for one in keys.findings if one.check == "keys"]
    named = zip(fixes, "AB", strict=True)
    assert all(one is not None and f"opposite change in {name}, but not both" in one.where for one, name in named)
    logs = ("orders", "q", "x", "y")
    ends = [(a, "B", "x"), (b, "A", "y")]
    entries = tuple(map(amps.Entry, logs))
    queues = [
        one.but(log=logs, extra_sow=queue(under), to=(amps.Dest(mate, entries, group="G"),))
        for one, mate, under in ends
    ]
    found = amps.report_of(*queues)
    fixes = [one.fix for one in found.findings if one.check == "queue_underlying"]
    assert len(fixes) == 2
    assert all(one is not None and "not both" in one.where for one in fixes)
    one_way = amps.report_of(a, b.but(sow={}))
    assert all("not both" not in one.fix.where for one in one_way.findings if one.fix)
