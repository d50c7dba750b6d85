"""What data that a stranger made found: wrong answers, each with the smallest exports that would bring it about."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from orchestrator.clock import VirtualClock
from orchestrator.errors import DefinitionError
from pipeline.amps.collect import collect_dumps, dumps_of
from pipeline.amps.instance import Instance
from pipeline.ask import Ask
from pipeline.collect import Job
from pipeline.engines.duck import Duck
from pipeline.engines.spark import check_names
from pipeline.manifest import ServiceSnapshot
from pipeline.places import Place
from pipeline.reconcile import reconcile
from pipeline.report import Report
from pipeline.rows import Message
from pipeline.sides import Side
from tests.spark.dumps import NOON_MICROS, Logged, journal_text, write
from tests.spark.oracle import NOON
from tests.spark.pairs import message
from tests.spark.processes import PATIENCE_S, begun
from tests.spark.test_right_answers import ask_about, compare, export, rewrite

LOCAL = "not-replicated"


def one_queue(duck: Duck, folder: Path, left: Sequence[Message], right: Sequence[Message], **ask: object) -> Report:
    return compare(duck, folder, {("a", "q"): left}, {("a", "q"): right}, **ask)


@pytest.mark.parametrize("name", ["Digest", "SEQUENCE", "Endpoint"])
def test_a_column_that_differs_in_capitals_is_refused(tmp_path: Path, name: str) -> None:
    """Law: a reader to whom capital letters are the same would read another column: the file is refused by its name."""
    place = export(tmp_path, "ny", {("a", "q"): [message(number) for number in range(3)]})
    file = rewrite(place, lambda table: table.add_column(0, name, pa.array([b"x"] * 3)))
    with pytest.raises(DefinitionError, match=f"column {name} differs from {name.lower()} only in capital") as caught:
        Side.open(str(place))
    assert str(caught.value.file) == str(file)


@pytest.mark.parametrize("everything_above", [0.5, -1.0])
def test_copies_of_a_local_message_are_counted_nowhere(duck: Duck, tmp_path: Path, everything_above: float) -> None:
    """Law: a message that is not replicated is at one site by design, however many copies of it there are."""
    common = [message(number) for number in range(600)]
    local = message(700, replicated=LOCAL)
    report = one_queue(duck, tmp_path, [*common, local, local, local], common, everything_above=everything_above)
    [endpoint] = report.endpoints
    assert (endpoint.missing.messages, endpoint.duplicates_left, endpoint.left.local) == (0, 0, 3)
    assert report.services[0].verdict == "safe"


def test_a_topic_that_the_other_log_does_not_have_proves_nothing(duck: Duck, tmp_path: Path) -> None:
    """Law: where a log has nothing of a topic it may not be logged there: nothing is proven lost, and it is asked."""
    sides = []
    for site, topics in (("ny", ("orders", "quotes")), ("nj", ("orders",))):
        entries = [
            Logged(100 * n + m, f"7{n}", m, b"%d" % m, topic=topic, at_s=float(m))
            for n, topic in enumerate(topics)
            for m in range(1, 11)
        ]
        write(tmp_path / site / "journal" / "0.txt", journal_text(entries))
        dumps = dumps_of({"orders": Instance.of_dumps(str(tmp_path / site))}, NOON_MICROS / 1e6 + 60)
        job = Job(site, [ServiceSnapshot(name="orders")])
        collect_dumps(dumps, tmp_path / f"export-{site}", job, VirtualClock(NOON))
        sides.append(Side.open(str(tmp_path / f"export-{site}")))
    ask = Ask(active="right", failover_at=NOON_MICROS / 1e6 + 50)
    outcome = reconcile(duck, sides[0], sides[1], ask, VirtualClock(NOON))
    outcome.close()
    [service] = outcome.report.services
    [quotes] = [one for one in outcome.report.endpoints if one.name.startswith("quotes")]
    assert quotes.missing.by_why == {"topic-absent": 10}
    assert (service.rpo.how, service.verdict) == ("unknown", "unknown")
    assert "check that the active site logs the topic" in service.rpo.reasons[0] and "quotes" in service.reasons[0]


@pytest.mark.parametrize("place", [512, 600])
def test_overtaking_by_priority_is_seen_at_the_edge_of_a_bucket(duck: Duck, tmp_path: Path, place: int) -> None:
    """Law: a message of higher priority that overtook others is no break of order, wherever the buckets are cut."""
    plain = [message(number, priority=4) for number in range(1_024)]
    urgent = replace(plain[place], priority=9)
    left = [*plain[:place], urgent, *plain[place + 1 :]]
    rest = [one for one in left if one is not urgent]
    report = one_queue(duck, tmp_path, left, [*rest[:100], urgent, *rest[100:]])
    [endpoint] = report.endpoints
    assert (endpoint.order_breaks, endpoint.order_by_priority) == (0, 1)
    assert report.work.plan == "drill" or place == 600


def test_contents_not_compared_are_counted_alike_by_every_plan(duck: Duck, tmp_path: Path) -> None:
    """Law: copies without a digest are counted as copies, whether they were read in detail or not."""
    blind = [message(5, digest=None), message(5, digest=None)]
    sides = [*map(message, range(5)), *blind]
    told = [
        one_queue(duck, tmp_path / name, sides, sides, everything_above=above).endpoints[0].unverified
        for name, above in (("a", 0.5), ("b", -1.0))
    ]
    assert told == [2, 2]


@pytest.mark.parametrize("path", ["site=ny/_hidden/a.parquet", "site=ny/.a.parquet", "site=ny/a:b.parquet"])
def test_names_that_spark_does_not_read_are_refused(tmp_path: Path, path: str) -> None:
    """Law: a file that Spark would pass over, or whose name it takes apart, is named before anything is read."""
    with pytest.raises(DefinitionError, match="Spark cannot read a file with this name") as caught:
        check_names(Place.of(str(tmp_path)), ["site=ny/_x=1/part.parquet", path])
    assert str(caught.value.file) == str(tmp_path / path)


def test_a_uri_with_settings_is_refused() -> None:
    """Law: what PyArrow would take for a setting and Spark for a part of the name is refused before either reads it."""
    with pytest.raises(DefinitionError, match="settings after its question mark"):
        Place.of("s3://bucket/ny?endpoint_override=localhost:9000")


# Slow enough to be stopped in the middle of a query.
_SLOW = """
import sys
from pathlib import Path
from orchestrator.cli.runs.signals import stopped_in_order
from pipeline.engines.duck import Duck
import typer

duck = Duck(Path(sys.argv[1]), threads=1)
try:
    with stopped_in_order():
        print("computing", flush=True)
        duck.rows("SELECT count(*) FROM range(1000000000000) WHERE hash(range) % 7 = 1")
except typer.Exit as ended:
    sys.exit(ended.exit_code)
"""


@pytest.mark.realtime
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_query_of_duckdb(tmp_path: Path, number: signal.Signals) -> None:
    """Law: Ctrl-C and SIGTERM in the middle of a query are told as such, with the exit code of the signal."""
    with begun([sys.executable, "-c", _SLOW, str(tmp_path)], {}) as process:
        assert process.stdout is not None and process.stdout.readline() == "computing\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.5)  # by then it computes
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 128 + number, err
    assert f"stopped by {number.name}; " in err and "Traceback" not in err


@pytest.mark.parametrize("told", [True, False], ids=["statistics", "no statistics"])
@pytest.mark.parametrize("column, value", [("size", 2**63 - 1), ("size", 2**32), ("size", -1), ("spooled_at", 2**62)])
def test_values_that_no_message_has_are_refused(tmp_path: Path, column: str, value: int, told: bool) -> None:
    """Law: a size or a moment that no message can have is refused with file, column and value before an engine reads it,
    so no sum overflows in either; also where the file tells no bounds of its columns."""
    place = export(tmp_path, "ny", {("a", "q"): [message(number) for number in range(50)]})
    file = rewrite(place, lambda table: one_value(table, column, value), write_statistics=told)
    with pytest.raises(
        DefinitionError, match=f"column {column} has the value {value}, which is not possible"
    ) as caught:
        Side.open(str(place))
    assert str(caught.value.file) == str(file)


def test_the_largest_messages_are_summed_exactly(duck: Duck, tmp_path: Path) -> None:
    """Law: the largest size that a message can have is taken, and sums of it are exact."""
    sides = [export(tmp_path, site, {("a", "q"): [message(n) for n in range(50)]}) for site in ("ny", "nj")]
    for place in sides:
        rewrite(place, lambda table: one_value(table, "size", 2**32 - 1))
    [endpoint] = ask_about(duck, *sides).endpoints
    expected = 2**32 - 1 + sum(message(n).size or 0 for n in range(1, 50))
    assert (endpoint.left.bytes, endpoint.right.bytes) == (expected, expected)


def one_value(table: pa.Table, column: str, value: int) -> pa.Table:
    """The table with ``value`` (of a moment: microseconds) in the first row of ``column``."""
    index = table.schema.get_field_index(column)
    kind = table.schema.field(column).type
    rest = table[column].combine_chunks().cast(pa.int64()).to_pylist()[1:]
    return table.set_column(index, table.schema.field(column), pa.array([value, *rest], pa.int64()).cast(kind))
