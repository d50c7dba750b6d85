"""``failover validate`` as it is typed: what is printed where, and with which exit code."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from orchestrator.cli.main import main

Run = Callable[..., Any]


@pytest.fixture
def folder(tmp_path: Path, amps: SimpleNamespace) -> Path:
    """Three instances of which C does not log the topic."""
    names = "ABC"
    for name in names:
        conf = amps.full(name, [mate for mate in names if mate != name], ["orders"])
        (tmp_path / f"{name}.xml").write_text((conf.but(log=("other",)) if name == "C" else conf).xml())
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Types the command; the result has ``exit_code``, ``stdout`` and ``stderr``."""

    def typed(*words: object) -> SimpleNamespace:
        code = main(["validate", *map(str, words)])
        printed = capsys.readouterr()
        return SimpleNamespace(exit_code=code, stdout=printed.out, stderr=printed.err)

    return typed


def test_errors_end_in_exit_code_4_and_none_in_0(folder: Path, run: Run) -> None:
    """A link that AMPS would refuse fails a build; risks and notes do not."""
    assert run(folder).exit_code == 4
    assert run(folder / "A.xml", folder / "B.xml").exit_code == 0


def test_the_json_is_one_line_on_stdout_as_its_schema_says(folder: Path, run: Run) -> None:
    """``--json`` and ``--format json`` are the same; ``--schema`` prints what they obey."""
    result = run(folder, "--json")
    assert len(result.stdout.splitlines()) == 1
    document = json.loads(result.stdout)
    jsonschema.validate(document, json.loads(run("--schema").stdout))
    assert {(f["check"], f["source"], f["destination"]) for f in document["findings"] if f["level"] == "error"} == {
        ("txlog", "A", "C"),
        ("txlog", "B", "C"),
    }
    assert run(folder, "--format", "json").stdout == result.stdout


def test_every_format_is_what_it_says(folder: Path, run: Run) -> None:
    """A table with counts, SARIF, Mermaid and SVG."""
    assert run(folder).stdout.rstrip().splitlines()[-1].startswith("3 instances, 6 links, 2 topics: 2 errors")
    assert len(run(folder, "--brief").stdout) < len(run(folder).stdout)
    assert json.loads(run(folder, "-f", "sarif").stdout)["version"] == "2.1.0"
    assert run(folder, "-f", "mermaid").stdout.startswith("flowchart LR")
    assert ElementTree.fromstring(run(folder, "-f", "svg").stdout).tag.endswith("svg")


def test_a_file_that_cannot_be_read_is_a_definition_error(tmp_path: Path, run: Run) -> None:
    """Exit code 2, nothing on stdout, and one sentence with file and line on stderr."""
    (tmp_path / "a.xml").write_text("<AMPSConfig>\n<Name>a")
    result = run(tmp_path / "a.xml")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"failover: {tmp_path / 'a.xml'}:2: this file is not well-formed XML: no element found\n"


def test_variables_come_from_the_command_line(tmp_path: Path, run: Run) -> None:
    """``-DNAME=VALUE`` as AMPS writes it, ``--define NAME=VALUE`` in full."""
    (tmp_path / "a.xml").write_text("<AMPSConfig><Name>${SITE}-1</Name></AMPSConfig>")
    for words in (("-DSITE=nyc",), ("--define", "SITE=nyc")):
        assert json.loads(run(tmp_path, "--json", *words).stdout)["instances"][0]["name"] == "nyc-1"


def test_lists_of_topics_are_read_line_by_line(tmp_path: Path, amps: SimpleNamespace, run: Run) -> None:
    """A name and a message type; with ``--all-topics`` an expression leaves nothing undecided."""
    a = amps.Conf("A", log=(".*",), to=(amps.Dest("B", (amps.Entry("^o"),)),))
    b = amps.Conf("B", log=(".*",), to=(amps.Dest("A", (amps.Entry("^or"),)),))
    for conf in (a, b):
        (tmp_path / f"{conf.name}.xml").write_text(conf.xml())
    (tmp_path / "topics.txt").write_text("# what there is\n\norders json\nold orders  json\n")
    words = (tmp_path, "--json", "--nine", "--topics", tmp_path / "topics.txt")
    known = json.loads(run(*words, "--all-topics").stdout)
    assert [(f["check"], f["topic"], f["level"]) for f in known["findings"]] == [("replicate", "old orders", "error")]
    assert len(json.loads(run(*words).stdout)["findings"]) == 1
    (tmp_path / "topics.txt").write_text("orders json\nlonely\n")
    result = run(*words)
    assert result.exit_code == 2 and "topics.txt:2: " in result.stderr


def test_suggestions_and_plans_are_asked_for(folder: Path, tmp_path: Path, amps: SimpleNamespace, run: Run) -> None:
    """``--intended`` implies suggestions; ``--rolling-plan`` names the configurations in force now."""
    found = json.loads(run(folder, "--json", "--intended", "C").stdout)
    assert {(s["source"], s["destination"]) for s in found["suggestions"]} >= {("A", "C"), ("B", "C")}
    assert json.loads(run(folder, "--json").stdout)["suggestions"] is None
    new = tmp_path / "new"
    new.mkdir()
    for name, mate in ("AB", "BA"):
        (new / f"{name}.xml").write_text(amps.full(name, [mate], ["orders", "trades"]).xml())
    words = (new, "--rolling-plan", folder / "A.xml", "--rolling-plan", folder / "B.xml")
    assert "ROLLING PLAN" in run(*words).stdout
    assert [step["stage"] for step in json.loads(run(*words, "--json").stdout)["plan"]][-1] == "restore"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--define", "SITE"), "write it as NAME=VALUE"),
        (("--host", "=x"), "write it as INSTANCE=HOST"),
        (("--failover-set", "A"), "name at least two instances"),
        (("--assume", "passthrough=search"), "there is no assumption with this name"),
        (("--assume", "passthrough_match=maybe"), "passthrough_match=maybe"),
        (("--topics", "no-such-file"), "cannot be read"),
        (("--intended", "X"), "X, which is intended to be asymmetric"),
    ],
)
def test_an_option_that_does_not_fit_is_a_definition_error(
    words: tuple[str, ...], says: str, folder: Path, run: Run
) -> None:
    """One sentence, and exit code 2."""
    result = run(folder, *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert says in result.stderr.splitlines()[0]


def test_nothing_to_validate_is_a_definition_error(tmp_path: Path, run: Run) -> None:
    """No argument, and a folder without a configuration."""
    for words in ((), (tmp_path,)):
        result = run(*words)
        assert result.exit_code == 2 and "no AMPS configuration was given" in result.stderr


def test_names_cannot_make_lines_of_their_own(tmp_path: Path, amps: SimpleNamespace, run: Run) -> None:
    """A line end or a terminal's control character in a name is spelled out in the table."""
    a = amps.Conf("A", log=("x\n9 errors\x9b2J",), to=(amps.Dest("B", (amps.Entry("x\n9 errors\x9b2J"),)),))
    (tmp_path / "a.xml").write_text(a.xml())
    (tmp_path / "b.xml").write_text(amps.Conf("B").xml())
    printed = run(tmp_path).stdout
    assert "\x9b" not in printed and not any(line.startswith("9 errors") for line in printed.splitlines())


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_a_folder_drops_no_configuration(tmp_path: Path, amps: SimpleNamespace, run: Run, encoding: str) -> None:
    """Law: a configuration in a folder is read whatever its encoding and the case of its suffix, as if it were named."""
    here, there = amps.full("A", ["B"], ["orders"]), amps.full("B", ["A"], ["orders"]).but(log=("other",))
    head = '<?xml version="1.0" encoding="UTF-16"?>\n' if encoding == "utf-16" else ""
    mark = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff"}.get(encoding, b"")
    (tmp_path / "A.xml").write_bytes(mark + (head + here.xml()).encode(encoding))
    (tmp_path / "B.XML").write_text(there.xml())
    whole = run(tmp_path, "--json")
    named = run(tmp_path / "A.xml", tmp_path / "B.XML", "--json")
    assert (whole.exit_code, named.exit_code) == (4, 4)
    assert json.loads(whole.stdout)["findings"] == json.loads(named.stdout)["findings"]


def test_what_is_undecided_fails_only_when_strict(tmp_path: Path, amps: SimpleNamespace, run: Run) -> None:
    """Law: --strict makes the exit code 4 where something could not be decided, and changes nothing else."""
    (tmp_path / "A.xml").write_text(amps.full("A", ["B"], ["orders"]).xml())
    (tmp_path / "B.xml").write_text(amps.full("B", ["A"], ["orders"]).xml())
    assert run(tmp_path, "--strict").exit_code == 0
    alone = tmp_path / "A.xml"
    assert (run(alone).exit_code, run(alone, "--strict").exit_code) == (0, 4)
    assert run(alone).stdout == run(alone, "--strict").stdout
