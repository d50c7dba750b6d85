"""`failover pipeline history`: figures of past runs, held against the runs' own reports and a plain Python oracle."""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from html.parser import HTMLParser
from pathlib import Path
from shutil import copytree
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from orchestrator.clock import VirtualClock
from orchestrator.errors import DefinitionError
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.operations.runtime import Tools
from orchestrator.reports.forecast import Range
from pipeline.engines.duck import Duck
from pipeline.engines.executor import Executor, Script
from pipeline.history.facts import Fact, facts_of_text
from pipeline.history.history import HistoryOutcome, files_of, history_of
from pipeline.history.narrate import lines_of
from pipeline.history.page import page_of
from pipeline.history.reader import as_batch
from pipeline.history.report import Drain, Durations, HistoryReport, Retry
from tests.cli.shell import VPN, Shell
from tests.spark.past import Night, inline, pause, typed
from tests.spark.processes import ROOT
from tests.spark.tables import tables_of_facts


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell with a simulated pair of its own."""
    for name in ("STATE", "JOURNAL", "INVENTORY"):
        monkeypatch.delenv(f"FAILOVER_{name}", raising=False)
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)


def middle(values: Sequence[float]) -> tuple[float, float, float]:
    """Percentiles 5, 50, 95 by the standard library."""
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return cuts[4], cuts[49], cuts[94]


def test_figures_are_those_of_the_runs(outcome: HistoryOutcome, night_of_runs: Night) -> None:
    """Law: phases, outages and endings are percentiles of what each run's own report says."""
    report, runs = outcome.report, night_of_runs.reports
    assert (report.runs, report.unread_files) == (6, 0)
    assert [(one.outcome, one.n) for one in report.endings] == [("done", 6)]
    [outage] = report.outages
    told = [run["lanes"][0]["outage_seconds"] for run in runs]
    assert (outage.p05, outage.p50, outage.p95) == pytest.approx(middle(told), abs=2e-3)
    assert outage.longest == pytest.approx(max(told), abs=2e-3)
    for phase in report.phases:
        took = [step["seconds"] for run in runs for step in run["lanes"][0]["steps"] if step["id"] == phase.step]
        assert phase.n == 6
        assert phase.p50 == pytest.approx(middle(took)[1], abs=2e-3)
    assert [one.step for one in report.phases] == [step["id"] for step in runs[0]["lanes"][0]["steps"]]


def test_a_trend_needs_a_week(duck: Duck) -> None:
    """Law: a line through half a day says nothing of a month; through ten days it has the slope of the figures."""

    def grown(days: float) -> float | None:
        rows = [
            Fact("lane", day * days / 9 * 86_400, False, "r", "a/b", "V", seconds=float(day)) for day in range(10)
        ]
        [row] = tables_of_facts(duck, rows)("outages")
        return None if row["trend"] is None else float(row["trend"])

    assert grown(0.5) is None
    assert grown(9.0) == pytest.approx(30.0)


def test_second_attempts_are_found(outcome: HistoryOutcome) -> None:
    """Law: the one action that was sent twice is counted at its device, and no other."""
    again = {(one.site, one.action): one.again for one in outcome.report.retries if one.again}
    assert again == {("nj", "set_role"): 1}


def test_drains_have_hour_and_size(outcome: HistoryOutcome, night_of_runs: Night) -> None:
    """Law: every wait for a queue with messages in it is in the table, under its hour and its power of ten."""
    told = [(run["lanes"][0]["drained_messages"], run["started_at"]) for run in night_of_runs.reports]
    # These runs are over in seconds, and begin with the hour.
    expected = Counter((int(at[11:13]), 10 ** (len(str(one)) - 1)) for one, at in told if one)
    assert len({hour for hour, _ in expected}) > 1
    assert {(one.hour, one.backlog): one.n for one in outcome.report.drains} == expected


def test_forecast_is_of_all_and_of_each(outcome: HistoryOutcome) -> None:
    """Law: a service has a range of its own; a service never seen has that of all of its pair; real runs and services
    of the same name on other devices have none."""
    forecast, step = outcome.forecast, "drain"
    [here] = {one.place for one in forecast.steps}
    assert here is not None
    own = forecast.seconds("solace/controlled", step, VPN, place=here, simulated=True)
    assert own is not None and own.n == 6
    assert forecast.seconds("solace/controlled", step, "Never_Seen", place=here, simulated=True) == own
    assert forecast.seconds("solace/controlled", step, VPN, place=here, simulated=False) is None
    assert forecast.seconds("solace/controlled", step, VPN, place="@elsewhere", simulated=True) is None
    assert isinstance(forecast.drain_rate("Never_Seen", place=here, simulated=True), Range)
    assert forecast.drain_rate(VPN, place="@elsewhere", simulated=True) is None


def test_predictions_are_judged_by_earlier_runs_alone(outcome: HistoryOutcome, night_of_runs: Night) -> None:
    """Law: each run is held against the runs before it, never against itself or later ones."""
    off = {one.step: (one.n, one.off) for one in outcome.report.prediction_errors}
    for step in ("drain", "demote"):
        took = [
            next(one["seconds"] for one in run["lanes"][0]["steps"] if one["id"] == step)
            for run in sorted(night_of_runs.reports, key=lambda run: run["started_at"])
        ]
        expected = [abs(took[place] - statistics.median(took[:place])) for place in range(3, 6)]
        number, median = off[step]
        assert number == 3
        assert median == pytest.approx(statistics.median(expected), abs=2e-3)


def damage(night: Night, records: Path) -> list[Path]:
    """The exports of the night, of which three and two more cannot be read; the three."""
    copytree(night.records, records)
    first, second, third, *_ = sorted(records.iterdir())
    (records / "run=cut").mkdir()
    (records / "run=cut" / "records.parquet").write_bytes(b"PAR1")
    first.write_text(first.read_text("utf-8").replace("demote", "promote"), encoding="utf-8")
    second.write_text("".join(second.read_text("utf-8").splitlines(keepends=True)[:-1]), encoding="utf-8")
    third.write_bytes(b"")
    (records / "noise.json").write_bytes(b"\xff\xfe")
    return [first, second, third]


def test_what_cannot_be_read_is_counted(duck: Duck, night_of_runs: Night, tmp_path: Path) -> None:
    """Law: an edited, a cut and an empty export are named with a reason, and do not stop the others."""
    records = tmp_path / "records"
    first, second, third = damage(night_of_runs, records)
    report = history_of(duck, files_of([str(records)]), VirtualClock()).report
    assert (report.runs, report.unread_files) == (3, 5)
    why = {Path(one.file).name: one.why for one in report.unread}
    assert "was changed after it was written" in why[first.name]
    assert "cut off" in why[second.name]
    assert "empty" in why[third.name]
    assert why["noise.json"] == "this file is not text"
    assert why["records.parquet"].startswith("this file is not a complete Parquet file")
    assert set(why) == {first.name, second.name, third.name, "noise.json", "records.parquet"}


def test_checks_show_drift(duck: Duck, shell: Shell, tmp_path: Path) -> None:
    """Law: a check that changed between two looks is told with its first and last state, and when."""
    kept = tmp_path / "checks.jsonl"
    for number in range(3):
        if number == 2:
            shell.disturb("at 0s: bridge down")
        pause(shell.tools(), 60.0)
        with kept.open("a", encoding="utf-8") as file:
            file.write(shell("check", "--json").out)
    report = history_of(duck, files_of([str(kept)]), VirtualClock()).report
    assert (report.runs, report.checks) == (0, 3)
    bridge = next(one for one in report.drift if (one.service, one.check) == (VPN, "bridge"))
    assert (bridge.first, bridge.last, bridge.changes, bridge.n) == ("ok", "error", 1, 3)
    assert bridge.changed_at == json.loads(kept.read_text("utf-8").splitlines()[-1])["at"]


def test_parquet_tells_the_same(duck: Duck, night_of_runs: Night, outcome: HistoryOutcome, tmp_path: Path) -> None:
    """Law: what `runs export --all --parquet` wrote proves itself, and gives the very figures of the JSON Lines."""
    tools = Tools(night_of_runs.folder, VirtualClock(), SecretStore(None), Registry(), inline)
    typed(tools, "runs", "export", "--all", "--parquet", str(tmp_path / "exported"))
    found = history_of(duck, files_of([str(tmp_path / "exported")]), VirtualClock())
    expected = outcome.report.model_copy(update={"engine": duck.name})
    assert (found.report, found.forecast) == (expected, outcome.forecast)
    found.close()
    [file, *_] = sorted((tmp_path / "exported").rglob("*.parquet"))
    table = pq.ParquetFile(file).read()
    for changed, words in (
        (
            table.set_column(3, "stored_at", pc.add(table["stored_at"], 1e-6)),
            "record 1 was changed after it was written",
        ),
        (table.slice(0, len(table) - 1), "cut off"),
        (table.drop_columns(["hash"]), "column hash is missing"),
        (table.set_column(3, "stored_at", table["seq"]), "column stored_at has the type int64, but must have double"),
    ):
        pq.write_table(changed, file)
        [one] = history_of(duck, files_of([str(file)]), VirtualClock()).report.unread
        assert one.file == str(file) and words in one.why


def test_each_run_counts_once(duck: Duck, night_of_runs: Night, outcome: HistoryOutcome, tmp_path: Path) -> None:
    """Law: copies of exports change no figure, and are told; a run that is in one file as far as its question, and in
    another to its end, counts as it ended. Looks that are kept twice count once."""
    records = tmp_path / "records"
    copytree(night_of_runs.records, records)
    for file in sorted(records.iterdir())[:2]:
        (records / f"copy-{file.name}").write_bytes(file.read_bytes())
    report = history_of(duck, files_of([str(records)]), VirtualClock()).report
    assert report == outcome.report.model_copy(update={"repeated_files": 2, "engine": duck.name})
    check_once(duck)


def check_once(engine: Executor) -> None:
    """A run in two files counts as it ended; steps and looks that are there twice count once."""
    facts = [
        *[
            Fact("run", 1.0, False, "r", "a/b", state=s, amount=n, file=f)
            for f, n, s in (("x", 9.0, "done"), ("y", 5.0, ""))
        ],
        *[Fact("step", 1.0, False, "r", "a/b", "V", name="s", state="done", file=f) for f in ("x", "y", "y")],
        *[Fact("check", 1.0, False, site="ny", name="c", state="ok", file=f) for f in ("x", "y")],
        *[Fact("unread", state="why", file=f) for f in ("u", "v")],
    ]
    engine.given("facts_read", pa.Table.from_batches([as_batch(facts)]))
    Script("history", engine).view("facts")
    once = engine.rows("SELECT * FROM facts")
    left = sorted((row["kind"], row["file"] if row["kind"] != "check" else "", row["state"]) for row in once)
    assert left == [
        ("check", "", "ok"),
        ("run", "x", "done"),
        ("step", "x", "done"),
        ("unread", "u", "why"),
        ("unread", "v", "why"),
    ]


def test_nothing_there(tmp_path: Path) -> None:
    """Law: no export and no such directory are each one sentence."""
    with pytest.raises(DefinitionError, match="no export"):
        files_of([str(tmp_path)])
    with pytest.raises(DefinitionError, match="does not exist"):
        files_of([str(tmp_path / "nowhere")])


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.add(tag)


def report_of(
    *, outages: tuple[Durations, ...], phases: tuple[Durations, ...], retries: tuple[Retry, ...] = ()
) -> HistoryReport:
    return HistoryReport(
        made_at="now",
        runs=3,
        checks=0,
        unread_files=0,
        unread=(),
        endings=(),
        outages=outages,
        phases=phases,
        drains=(),
        retries=retries,
        failures=(),
        drift=(),
        prediction_errors=(),
    )


def test_each_table_says_what_its_figures_are() -> None:
    """Law: no table leans on one that is left out, as that of outages is where activity never moved."""
    step = Durations(simulated=True, runbook="r", step="s", n=5, p05=1, p50=2, p95=3, longest=4, trend=None)
    assert list(lines_of(report_of(outages=(), phases=(step,)))) == [
        "3 runs and 0 checks, computed on spark",
        "",
        "Steps, without the time that operators took to answer, in seconds: "
        "the middle value (value 95 of 100; longest value; number of values)",
        "  SIMULATED r s: 2.0 (3.0; 4.0; 5)",
    ]


def test_the_page_is_one_file_without_scripts() -> None:
    """Law: whatever names hold, the page has no script, and loads nothing."""
    name = "<script src='http://x/'>&"
    span = Durations(simulated=True, runbook=name, n=3, p05=1, p50=2, p95=3, longest=4, trend=None)
    retry = Retry(simulated=False, site=name, device=name, action=name, n=2, again=1, doubtful=0, refused=0)
    report = report_of(outages=(span,), phases=(span.model_copy(update={"step": name}),), retries=(retry,))
    page, reader = page_of(report).decode(), _Tags()
    reader.feed(page)
    assert "script" not in reader.tags and {"svg", "path", "table"} <= reader.tags
    assert "<script" not in page and "SIMULATED" in page


def test_long_names_are_told_apart_on_the_page(outcome: HistoryOutcome) -> None:
    """Law: however long a name is, the picture says that it is simulated, and its hour and backlog; the table has it
    whole, with every figure of the picture."""
    name = "TRADING_AND_SETTLEMENT_EMEA_WEST" * 2
    slow, fast = (
        Drain(simulated=True, service=name, hour=hour, backlog=10**7, n=3, p05=1, p50=2, p95=4_000)
        for hour in (3, 14)
    )
    page = page_of(outcome.report.model_copy(update={"drains": (slow, fast)})).decode()
    shown = [text for text in re.findall(r"<text[^>]*>([^<]*)<", page) if "from" in text]
    for hour, text in zip(("03h", "14h"), shown, strict=True):
        assert text.startswith("SIMULATED TRADING") and "…" in text and text.endswith(f"{hour}, from 10,000,000")
        whole = f"<td>SIMULATED {name}, {hour}, from 10,000,000</td><td>1</td><td>2</td><td>4,000</td><td>3</td>"
        assert whole in page


# A process to which the library is not installed.
_BARE = """
import sys
sys.modules["altair"] = None
from pipeline.history.page import page_of
from pipeline.history.report import HistoryReport
sys.stdout.buffer.write(page_of(HistoryReport.model_validate_json(sys.stdin.read())))
"""


@pytest.mark.realtime
def test_the_page_is_whole_without_pictures(outcome: HistoryOutcome) -> None:
    """Law: without the extra ``charts`` every figure is there, in tables."""
    told = outcome.report.model_dump_json()
    command = [sys.executable, "-P", "-c", _BARE]
    done = subprocess.run(
        command, input=told, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True
    )
    page = done.stdout
    assert "<svg" not in page and "<svg" in page_of(outcome.report).decode()
    report = outcome.report
    middles = [f"{one.p50:.1f}" for one in (*report.outages, *report.phases)]
    assert middles and all(f"<td>{one}</td>" in page for one in middles)
    assert report.drains and all(f"<td>{one.p50:,.0f}</td>" in page for one in report.drains)


def test_a_file_that_is_neither(tmp_path: Path) -> None:
    """Law: valid JSON that is neither an export nor a check is unread, with a reason."""
    for text in ("[]", "1", '{"seq": 1}', '{"pairs": [], "at": "x"}\n{"run": "r"}', "null"):
        [fact] = facts_of_text("x.jsonl", text)
        assert fact.kind == "unread" and fact.state
