"""`failover runs report --html`: the file works by itself in a real browser, and finds what was changed in it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from orchestrator.model.places import pair_place
from orchestrator.reports.forecast import DrainForecast, Forecast, Range, StepForecast, encoded
from simulator.embedded import embedded_inventory, embedded_layout
from simulator.solace.layout import VpnLayout
from tests.cli.browser import a_browser, opened, pictures_folder
from tests.cli.shell import VPN, XIDS, Shell

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ALERT = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with a_browser() as found:
        yield found


def report_of(shell: Shell, name: str = "report.html") -> Path:
    path = shell.folder / name
    assert shell("runs", "report", "last", "--html", str(path)).code == 0
    return path


def edited(path: Path, old: bytes, new: bytes) -> Path:
    """A copy of the file, with one text replaced once."""
    data = path.read_bytes()
    assert old in data and old != new
    copy = path.with_name(f"edited-{path.name}")
    copy.write_bytes(data.replace(old, new, 1))
    return copy


def a_bad_run(shell: Shell) -> None:
    """Three services: one is escalated after its bridge was lost, one is refused, one is done."""
    ended = shell(
        *("controlled", "--all", "--yes", "--xa", shell.decisions, "--on-bridge-loss", "escalate"),
        *("--fault", "demote Risk_VPN: refuse 10h", "--fault", f"drain {VPN}: bridge down 10h"),
    )
    assert ended.code == 9


@pytest.mark.realtime
def test_the_file_checks_itself_and_asks_nobody(shell: Shell, browser: Browser) -> None:
    """Law: no error in the console, no request but for the file, in light and dark, wide and narrow, nothing sticks out;
    it prints; bad news stand before the figures; SIMULATED stands first."""
    a_bad_run(shell)
    path = report_of(shell)
    pictures = pictures_folder(shell.folder)
    for is_dark in (False, True):
        for width in (1280, 390):
            with opened(browser, path, width=width, is_dark=is_dark) as found:
                assert found.verdict == "right"
                assert (found.console, found.requests) == ([], [path.as_uri()])
                assert found.page.evaluate("document.documentElement.scrollWidth") == width
                name = f"report-{'dark' if is_dark else 'light'}-{width}.png"
                found.page.screenshot(path=pictures / name, full_page=True)
                seen = found.page.inner_text("#report")
                assert seen.index("SIMULATED") < seen.index("LEFT AT ny") < seen.index("records checked")
                assert seen.index("records checked") < seen.index("Duration") < seen.index("Timeline")
                colour = found.page.evaluate("getComputedStyle(document.body).backgroundColor")
                assert (sum(map(int, re.findall(r"\d+", colour))) < 200) is is_dark
    with opened(browser, path, width=794) as found:
        found.page.emulate_media(media="print")
        assert found.verdict == "right"
        spans = found.page.evaluate(
            "[...document.querySelectorAll('.axis text')].map(one => one.getBoundingClientRect())"
            ".map(one => [one.left, one.right])"
        )
        assert len(spans) > 2 and all(end < start for (_, end), (start, _) in pairwise(spans)), (
            "marks of the axis overlap"
        )
    with opened(browser, path) as found:
        assert found.verdict == "right"
        printed = found.page.pdf(path=pictures / "report.pdf", prefer_css_page_size=True)
        assert printed.startswith(b"%PDF") and len(printed) > 20_000


@pytest.mark.realtime
def test_a_changed_byte_is_found(shell: Shell, browser: Browser) -> None:
    """Law: one byte of a record, of its hash, of what stands beside it, or of the report itself: the page says CHANGED,
    and which record it is. Control: the same file unchanged is right."""
    assert shell.move().code == 0
    path = report_of(shell)
    with opened(browser, path) as found:
        assert found.verdict == "right"
    records = path.read_text(encoding="utf-8").split('id="records">')[1].split("</script>")[0].splitlines()
    middle = next(line for line in records if "action.intended" in line)
    seq = json.loads(middle)["seq"]
    for old, new, said in (
        (
            middle,
            middle.replace("standby", "standbx", 1),
            f"record {seq} of {len(records)}: its hash does not match its content",
        ),
        (middle, middle.replace(f'"seq": {seq}', f'"seq": {seq + 1}'), f"record {seq + 1} is here instead"),
        (middle, middle.replace('{"run"', '{ "run"', 1), "A byte that the hash chain does not cover was changed"),
        (middle + "\n", "", f"record {seq} of {len(records) - 1}: record {seq + 1} is here instead"),
        (middle, middle[:-1] + "]", "it cannot be read"),
        (
            'class="badge done">done',
            'class="badge done">gone',
            "The report or its title was changed",
        ),
        (": done</title>", ": gone</title>", "The report or its title was changed"),
    ):
        with opened(browser, edited(path, old.encode(), new.encode())) as found:
            assert found.verdict == "wrong", said
            assert said in found.page.inner_text("#check")
            assert "CHANGED" in found.page.inner_text("#check")


@pytest.mark.realtime
def test_a_script_in_a_reason_is_text(shell: Shell, browser: Browser) -> None:
    """Law: a reason and a name that are scripts are shown as they were typed, and do nothing."""
    decisions = shell.write(
        "attack.yaml",
        json.dumps({"decisions": [{"xid": xid, "choice": "commit", "reason": ALERT} for xid in XIDS]}),
    )
    assert shell("controlled", "--vpn", VPN, "--yes", "--xa", str(decisions)).code == 0
    with opened(browser, report_of(shell)) as found:
        assert found.verdict == "right"
        assert ALERT in found.page.inner_text("#decisions")
        assert found.page.locator("#report script").count() == 0


@pytest.mark.realtime
def test_the_saved_records_are_an_export(shell: Shell, browser: Browser) -> None:
    """Law: what the button saves is what `failover runs verify --file` checks."""
    assert shell.move().code == 0
    with opened(browser, report_of(shell)) as found:
        assert found.verdict == "right"
        with found.page.expect_download() as download:
            found.page.click("#save")
        saved = shell.folder / "saved.jsonl"
        download.value.save_as(saved)
    assert shell("runs", "verify", "--file", str(saved)).code == 0


@pytest.mark.realtime
def test_many_services_can_be_found(shell: Shell, browser: Browser) -> None:
    """Law: of many services each has a row, those that are not done first; the filter and the box leave the wanted."""
    names = [f"V{number:02}" for number in range(24)]
    layout = replace(embedded_layout(), vpns=tuple(VpnLayout(name, backlog=20) for name in names))
    inventory = str(shell.inventory(layout, services=names))
    assert shell("controlled", "-i", inventory, "--all", "--yes", "--fault", "demote V07: refuse 10h").code == 3
    with opened(browser, report_of(shell)) as found:
        assert found.verdict == "right"
        rows = found.page.locator("details.service")
        assert rows.count() == 24
        assert rows.first.get_attribute("data-name") == "V07"
        assert found.page.locator("details.service[open]").count() == 0
        found.page.fill("#filter", "v1")
        assert found.page.inner_text("#shown") == "10 of 24"
        found.page.fill("#filter", "")
        found.page.check("#only")
        assert found.page.inner_text("#shown") == "1 of 24"


def test_documents_by_the_name_of_their_file(shell: Shell) -> None:
    """Law: the same story as HTML, Markdown and JSON; for its owner only; another name is refused with what to do."""
    a_bad_run(shell)
    names = [str(shell.folder / f"report.{suffix}") for suffix in ("html", "md", "json")]
    ended = shell("runs", "report", "last", *(f"--output={name}" for name in names))
    assert ended.code == 0
    for name in names:
        assert Path(name).stat().st_mode & 0o777 == 0o600
        text = Path(name).read_text(encoding="utf-8")
        for word in (
            "SIMULATED",
            "LEFT AT ny",
            "0021ABC4-00-01",
            "the order was cancelled",
            "replication state standby",
        ):
            assert word.lower().replace("_", "") in text.lower().replace("\\", "").replace("_", ""), (name, word)
    story = json.loads(Path(names[2]).read_text(encoding="utf-8"))
    assert story["format"] == "failover run story 1"
    assert [one["service"] for one in story["services"]] == [VPN, "Risk_VPN", "Settlement_VPN"]
    assert story["report"]["exit_code"] == 9
    refused = shell("runs", "report", "last", "-o", str(shell.folder / "report.doc"))
    assert (refused.code, "cannot tell the file format" in refused.complaint, ".md" in refused.hint) == (
        2,
        True,
        True,
    )
    both = shell("runs", "report", "last", "--json", "--html", names[0])
    assert both.code == 2


def test_what_was_expected_is_recorded_with_the_run(shell: Shell) -> None:
    """Law: the forecast that is there when a run is made is what the report compares with, whatever is learned later; a
    forecast that cannot be read stops no run."""
    shell.state.mkdir(mode=0o700, exist_ok=True)
    step = Range(n=9, p05=0.5, p50=1.0, p95=2.0)
    here = pair_place(list(embedded_inventory(shell.world_file).sites.values()))
    forecast = Forecast(
        made_at="2026-01-01T00:00:00Z",
        runs=9,
        steps=(
            StepForecast(
                simulated=True, place=here, runbook="solace/controlled", step="demote", service=None, seconds=step
            ),
            StepForecast(
                simulated=False, place=here, runbook="solace/controlled", step="activate", service=None, seconds=step
            ),
        ),
        drains=(
            DrainForecast(simulated=True, place=here, service=None, rate=Range(n=9, p05=500, p50=1000, p95=2000)),
        ),
    )
    kept = shell.state / "forecast.json"
    kept.write_bytes(encoded(forecast))
    assert shell.move("--idempotency-key", "k").code == 0
    kept.write_text("{", encoding="utf-8")
    assert shell("controlled", "--vpn", "Risk_VPN", "--yes").code == 0
    assert shell("runs", "report", shell("runs", "list", "--json").values[1]["run"], "-o", "first.json").code == 0
    first = json.loads(Path("first.json").read_text(encoding="utf-8"))
    steps = {one["id"]: one["predicted"] for one in first["services"][0]["steps"]}
    assert steps["demote"]["n"] == 9 and steps["activate"] is None
    assert steps["drain"]["rate"] == 1000
    assert shell("runs", "report", "last", "-o", "second.json").code == 0
    second = json.loads(Path("second.json").read_text(encoding="utf-8"))
    assert all(one["predicted"] is None for one in second["services"][0]["steps"])
    # A key stands for what was asked, and a forecast was not.
    assert shell.move("--idempotency-key", "k").code == 0


def test_templates_are_loaded_by_this_command_alone() -> None:
    """Law: no other command pays for the templates."""
    code = "import sys; import orchestrator.cli.main, orchestrator.cli.render.records; print('jinja2' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
