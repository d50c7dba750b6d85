"""``failover compare``: both sites in one command, the verdict first, and a page that needs nothing else."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest

from orchestrator.cli.exports.history import check_learns_more
from orchestrator.errors import NotStarted
from orchestrator.reports.forecast import NAME, Forecast, Range, StepForecast, encoded
from pipeline.manifest import Manifest
from pipeline.page import page_of
from pipeline.report import Report
from simulator.embedded import embedded_layout
from tests.cli.shell import VPN, Shell


class Loads(HTMLParser):
    """What a page would load or run."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag in ("script", "link", "img", "iframe", "object", "image"):
            self.found.append(tag)
        self.found += [
            str(value) for name, value in attrs if name in ("src", "href") and not str(value).startswith("#")
        ]


def test_both_sites_in_one_command(shell: Shell) -> None:
    """Law: both exports, the evidence and the page are there; the verdict stands first; the JSON is one result with the
    exit code; a second one resumes, and refuses to write over the evidence."""
    ended = shell("compare", "--out", "kept", "--html", "page.html", "--engine", "duckdb")
    assert ended.code in (0, 4), ended.err
    lines = ended.out.splitlines()
    assert lines[0] == "SIMULATED" and "failing back is" in lines[1]
    folder = shell.folder / "kept"
    assert {path.name for path in folder.iterdir()} == {"ny", "nj", "evidence"}
    for site in ("ny", "nj"):
        assert Manifest.model_validate_json((folder / site / "manifest.json").read_bytes()).site == site
    report = Report.model_validate_json((folder / "evidence" / "report.json").read_bytes())
    assert report.work.engine.startswith("duckdb ") and report.simulated
    page = (shell.folder / "page.html").read_text("utf-8")
    assert all(service.name in page for service in report.services)
    loads = Loads()
    loads.feed(page)
    assert loads.found == [] and "table" in loads.tags
    again = shell("compare", "--out", "kept", "--json")
    assert again.code == 2
    result = shell("compare", "--json").values[-1]["result"]
    assert result["exit_code"] in (0, 4) and {one["name"] for one in result["services"]}


def test_a_pair_that_is_not_there(shell: Shell) -> None:
    """Law: an unknown pair is one sentence with the known ones."""
    ended = shell("compare", "--pair", "away")
    assert ended.code == 2 and "no pair is called 'away'" in ended.err and "the inventory has" in ended.err


def two_pairs(shell: Shell) -> str:
    """The embedded services, each in a pair of its own between the same sites."""
    pair = json.loads(shell.inventory().read_text("utf-8"))["pairs"][0]
    first, *rest = pair["services"]
    pairs = [{**pair, "services": [first]}, {**pair, "name": "other", "services": rest}]
    return str(shell.inventory(embedded_layout(), pairs=pairs))


def test_only_the_services_of_the_pair_are_read(shell: Shell) -> None:
    """Law: of a site that is in two pairs, only the services of the pair that is compared are read."""
    inventory = two_pairs(shell)
    ended = shell("compare", "--inventory", inventory, "--pair", "other", "--out", "kept", "--engine", "duckdb")
    assert ended.code in (0, 4), ended.err
    for site in ("ny", "nj"):
        told = json.loads((shell.folder / "kept" / site / "manifest.json").read_text("utf-8"))
        assert VPN not in [one["name"] for one in told["services"]] != []


def test_a_service_of_another_pair(shell: Shell) -> None:
    """Law: a service that the pair does not have is refused with those that it has, before a site is read."""
    inventory = two_pairs(shell)
    ended = shell("compare", "--inventory", inventory, "--pair", "other", "--vpn", VPN, "--out", "kept")
    assert ended.code == 2 and f"{VPN} is not a service of pair other" in ended.complaint, ended.err
    assert not (shell.folder / "kept").exists()


@pytest.mark.parametrize("command", [("compare",), ("snapshot", "--site", "ny")])
def test_an_export_is_not_taken_to_a_uri(shell: Shell, command: tuple[str, ...]) -> None:
    """Law: a site is read into a directory of this machine; a URI is refused, and is not taken for a name here."""
    ended = shell(*command, "--out", "s3a://exports/kept")
    assert ended.code == 2 and "s3a://exports/kept is not a directory of this machine" in ended.complaint, ended.err
    assert not (shell.folder / "s3a:").exists()


def test_names_never_become_markup(shell: Shell) -> None:
    """Law: whatever a service or an endpoint is called, the page shows it and runs nothing."""
    shell("compare", "--out", "kept")
    data = (shell.folder / "kept" / "evidence" / "report.json").read_text("utf-8")
    report = Report.model_validate_json(data.replace("orders", "<script>alert(1)</script>"))
    loads = Loads()
    loads.feed(page_of(report).decode())
    assert loads.found == []


def forecast(runs: int, ranges: int) -> Forecast:
    steps = [
        StepForecast(
            simulated=True, runbook="a/b", step=f"s{n}", service=None, seconds=Range(n=3, p05=1, p50=2, p95=3)
        )
        for n in range(ranges)
    ]
    return Forecast(made_at="2026-11-20T03:00:00Z", runs=runs, steps=tuple(steps), drains=())


@pytest.mark.parametrize(("runs", "ranges"), [(0, 0), (24, 16), (25, 15)])
def test_less_never_replaces_more(tmp_path: Path, runs: int, ranges: int) -> None:
    """Law: no run, fewer runs or fewer ranges leave what dry runs know as it is (D8)."""
    path = tmp_path / NAME
    path.write_bytes(encoded(forecast(25, 16)))
    with pytest.raises(NotStarted, match="not changed"):
        check_learns_more(path, forecast(runs, ranges))
    check_learns_more(path, forecast(25, 16))
    check_learns_more(tmp_path / "none.json", forecast(1, 0))


def test_learning_from_what_is_no_export(shell: Shell) -> None:
    """Law: files that are no exports teach nothing: exit code 3, and no forecast is written (D8)."""
    (shell.folder / "broken").mkdir()
    (shell.folder / "broken" / "x.jsonl").write_text(json.dumps({"no": "export"}) + "\n")
    ended = shell("pipeline", "history", "broken", "--learn", "--json")
    assert ended.code == 3 and ended.values[-1]["result"]["exit_code"] == 3
    assert not list(shell.folder.rglob(NAME))
