"""What of an export, an option or a disk makes an answer impossible is one sentence with a remedy, never a bug."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from orchestrator.errors import ComputationFailed, DefinitionError, OutputLost
from orchestrator.reports.forecast import NAME as FORECAST
from pipeline.manifest import decode_manifest
from pipeline.moments import moment
from pipeline.report import decode_report
from pipeline.results import REPORT, result_at
from tests.cli.shell import VPN, Shell
from tests.readiness.test_kept_readings import disk_of
from tests.snapshot.test_snapshot_command import waiting

RECONCILE = ("pipeline", "reconcile", "kept/ny", "kept/nj", "--engine", "duckdb", "--json")


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell with a folder, and in it the exports of both sites of a simulated pair."""
    for name in ("STATE", "JOURNAL", "INVENTORY", "TRACEBACK"):
        monkeypatch.delenv(f"FAILOVER_{name}", raising=False)
    monkeypatch.chdir(tmp_path)
    shell = Shell(tmp_path, capsys)
    inventory = str(shell.inventory(waiting(50), services=[VPN]))
    for site in ("ny", "nj"):
        assert shell("snapshot", "--site", site, "--inventory", inventory, "--out", f"kept/{site}").code == 0
    return shell


def edited(shell: Shell, edit: Callable[[dict[str, Any]], object], site: str = "ny") -> None:
    """Edit the manifest of one of the exports."""
    path = shell.folder / "kept" / site / "manifest.json"
    content = json.loads(path.read_text("utf-8"))
    edit(content)
    path.write_text(json.dumps(content), "utf-8")


def emptied(shell: Shell, site: str) -> None:
    """Every file of the export stays, without a row."""

    def edit(content: dict[str, Any]) -> None:
        for file in content["files"]:
            path = shell.folder / "kept" / site / file["path"]
            pq.write_table(pq.ParquetFile(path).read().slice(0, 0), path)
            del file["sha256"]
            file.update(rows=0, bytes=path.stat().st_size)
        for endpoint in content["endpoints"]:
            endpoint.update(messages=0, censuses=[])

    edited(shell, edit, site)


@pytest.mark.parametrize("sites", [("ny",), ("nj",), ("ny", "nj")])
def test_files_without_rows(shell: Shell, sites: tuple[str, ...]) -> None:
    """Law: an export whose files have no rows holds no message; it is compared as any other."""
    for site in sites:
        emptied(shell, site)
    ended = shell(*RECONCILE)
    assert ended.code in (0, 4), ended.err
    sides = {one["site"]: one["messages"] for one in (ended.result["left"], ended.result["right"])}
    assert all((sides[site] == 0) == (site in sites) for site in ("ny", "nj"))


MANIFEST = {
    "site": "ny",
    "failover_at": 1.0,
    "started_at": 1.0,
    "finished_at": 1.0,
    "services": [{"name": "V"}],
    "endpoints": [
        {"service": "V", "name": "q", "messages": 1, "taken_from": 1, "taken_to": 1, "censuses": [{"at": 1}]},
    ],
    "files": [{"path": "service=V/a.parquet", "rows": 1, "bytes": 1}],
}


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-1.0", "1e300", "253402300800"])
@pytest.mark.parametrize("field", ["taken_from", "taken_to", "failover_at", "started_at", "finished_at", "at"])
def test_moments_of_a_manifest(field: str, value: str) -> None:
    """Law: a moment of a manifest lies between 1970 and the year 9999; else file and field are named."""
    text = re.sub(rf'"{field}": [\d.]+', f'"{field}": {value}', json.dumps(MANIFEST))
    assert text != json.dumps(MANIFEST) and decode_manifest(json.dumps(MANIFEST).encode(), "x").site == "ny"
    with pytest.raises(DefinitionError, match=rf"^ny/manifest.json: .*\b{field}: "):
        decode_manifest(text.encode(), "ny/manifest.json")


@pytest.mark.parametrize("value", [math.nan, 1e300])
def test_an_export_of_no_moment(shell: Shell, value: float) -> None:
    """Law: such a manifest is a usage error of the command, with file and field."""
    edited(shell, lambda content: content["endpoints"][0].update(taken_from=value))
    ended = shell(*RECONCILE)
    assert ended.code == 2, ended.err
    assert "kept/ny/manifest.json" in ended.complaint and "endpoints.0.taken_from" in ended.complaint


@pytest.mark.parametrize("option", ["--clock-skew", "--interval"])
@pytest.mark.parametrize("value", ["inf", "nan", "1e300"])
def test_seconds_that_are_none(shell: Shell, option: str, value: str) -> None:
    """Law: a number of seconds that is infinite, or none, or beyond a year is a usage error, also of journals and sow."""
    for command in ("reconcile", "journals", "sow") if option == "--clock-skew" else ("reconcile",):
        ended = shell("pipeline", command, "kept/ny", "kept/nj", option, value, "--json")
        assert (ended.code, ended.result["exit_code"]) == (2, 2), ended.err
        assert option in ended.result["error"]


def test_typed_moments() -> None:
    """Law: a moment that is typed lies between 1970 and the year 9999, as those of documents do."""
    assert moment("9999-12-31T23:59:59Z", "--failover-at") > 0
    for text in ("0001-01-01T00:00:00Z", "9999-12-31T23:59:59-01:00"):
        with pytest.raises(DefinitionError, match="1970"):
            moment(text, "--failover-at")


@pytest.mark.parametrize("value", ["NaN", "1e300"])
def test_moments_of_a_report(shell: Shell, value: str) -> None:
    """Law: a report with a moment that is none is refused with file and field, before it is evidence for anything."""
    assert shell(*RECONCILE, "--out", "evidence").code in (0, 4)
    content = json.loads((shell.folder / "evidence" / REPORT).read_text("utf-8"))
    content["left"]["taken_from"] = float(value)
    with pytest.raises(DefinitionError, match=r"report.json: .*left.taken_from"):
        decode_report(json.dumps(content).encode(), "report.json")


@pytest.mark.parametrize("spelling", ["./{}", "{}/", "{}/."])
def test_one_file_under_two_names(shell: Shell, spelling: str) -> None:
    """Law: a file is listed under its plain name alone; under another spelling it would be read twice."""

    def edit(content: dict[str, Any]) -> None:
        del content["files"][0]["sha256"]
        content["files"].append({**content["files"][0], "path": spelling.format(content["files"][0]["path"])})

    edited(shell, edit)
    ended = shell(*RECONCILE)
    assert ended.code == 2 and "kept/ny/manifest.json" in ended.complaint, ended.err


@pytest.mark.parametrize("path", ["a//b.parquet", "./a.parquet", "a/./b.parquet", "a/", "", "."])
def test_plain_names(path: str) -> None:
    """Law: no file of a manifest has a name that is not plain, listed twice or not."""
    content = {**MANIFEST, "files": [{"path": path, "rows": 1, "bytes": 1}]}
    with pytest.raises(DefinitionError, match="plain file name"):
        decode_manifest(json.dumps(content).encode(), "manifest.json")


def test_a_full_disk_for_the_result(shell: Shell) -> None:
    """Law: an engine that cannot write the result is one sentence with the place that was named, and a remedy that is
    about that place; with --json it is one envelope on stdout."""
    with disk_of(2_000):
        ended = shell(*RECONCILE, "--out", "evidence")
    assert (ended.code, len(ended.values)) == (6, 1), ended.err
    assert ended.result["exit_code"] == 6
    assert ended.result["error"] == f"{shell.folder / 'evidence'} could not be written: File too large"
    assert "--out" in ended.result["hint"] and "--scratch" not in ended.result["hint"]
    assert not [path for path in shell.folder.iterdir() if path.name.startswith(".")]


def test_a_report_that_cannot_be_written(tmp_path: Path) -> None:
    """Law: of a document that cannot be written the place where it was to be is named, and what to do; never the hidden
    directory it grew in."""
    out = tmp_path / "out"
    with disk_of(1_000), pytest.raises(OutputLost) as lost, result_at(str(out)) as result:
        result.document(REPORT, b"x" * 2_000)
    assert str(lost.value) == f"{out / REPORT} could not be written: File too large"
    assert "--out" in lost.value.hint


def test_what_is_no_fault_of_the_result(tmp_path: Path) -> None:
    """Law: an error that is not about the result's place goes through as it is."""
    for error in (ComputationFailed("out of memory"), OutputLost("the scratch space is full", hint="--scratch")):
        with pytest.raises(type(error)) as found, result_at(str(tmp_path / "out")):
            raise error
        assert found.value is error and error.__cause__ is None


@pytest.mark.parametrize("known", [False, True])
def test_nothing_to_learn_from(shell: Shell, known: bool) -> None:
    """Law: "refused, nothing changed" holds of --out, too: where --learn is refused no result is written."""
    broken = shell.folder / "broken"
    broken.mkdir()
    (broken / "x.jsonl").write_text(json.dumps({"no": "export"}) + "\n")
    if known:
        (shell.state / FORECAST).write_text("{}")
    command = ("pipeline", "history", "broken", "--engine", "duckdb", "--out", "history", "--json")
    ended = shell(*command, "--learn")
    assert ended.code == 3, ended.err
    assert not (shell.folder / "history").exists()
    assert shell(*command).code == 4 and (shell.folder / "history" / REPORT).exists()
