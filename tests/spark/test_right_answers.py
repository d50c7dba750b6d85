"""What a report may not say: classes of wrong answers, each with the smallest exports that would bring it about."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.clock import VirtualClock
from orchestrator.errors import ComputationFailed, DefinitionError
from orchestrator.model.findings import Level
from pipeline.ask import Ask
from pipeline.collect import Job, collect
from pipeline.engines.duck import Duck
from pipeline.engines.executor import Executor
from pipeline.manifest import NAME, Manifest, ServiceSnapshot
from pipeline.reconcile import reconcile
from pipeline.report import Report
from pipeline.rows import Census, Cursor, EndpointKey, Message
from pipeline.sides import Side
from tests.spark.oracle import NOON
from tests.spark.pairs import (
    CLOCKS,
    COPIES,
    EXPIRIES,
    ODD,
    Endpoints,
    absent_endpoint,
    copies,
    dead_letters,
    expiring,
    late_replication,
    message,
    odd_names,
    one_copy_elsewhere,
    other_clock,
    overtaken,
)

FAILOVER = NOON - 500


class Held:
    """One site's endpoints as a ``Source``."""

    def __init__(self, endpoints: dict[EndpointKey, Sequence[Message]]) -> None:
        self._endpoints = endpoints

    def endpoints(self) -> list[EndpointKey]:
        return list(self._endpoints)

    def census(self, key: EndpointKey) -> Census:
        return Census(NOON, len(self._endpoints[key]))

    def messages(self, key: EndpointKey, after: Cursor | None) -> Iterator[Message]:
        return iter(self._endpoints[key])


def export(folder: Path, site: str, endpoints: Endpoints, *, role: Literal["active", "standby"] = "standby") -> Path:
    """One site's export; endpoints by service and name."""
    keys = {EndpointKey(*key): some for key, some in endpoints.items()}
    names = sorted({key.service for key in keys})
    told = [ServiceSnapshot(name=name, role=role, was_interrupted=False) for name in names]
    collect(Held(keys), folder / site, Job(site, told, failover_at=FAILOVER), VirtualClock(NOON))
    return folder / site


def compare(engine: Executor, folder: Path, left: Endpoints, right: Endpoints, **ask: Any) -> Report:
    """Left gave up, right serves."""
    return ask_about(engine, export(folder, "ny", left), export(folder, "nj", right, role="active"), **ask)


def ask_about(engine: Executor, left: Path, right: Path, **ask: Any) -> Report:
    outcome = reconcile(engine, Side.open(str(left)), Side.open(str(right)), Ask(**ask), VirtualClock(NOON))
    outcome.close()
    return outcome.report


def test_a_service_of_any_name(duck: Duck, tmp_path: Path) -> None:
    """Law: whatever a service is called, all of its messages are read, and what one site lacks is missing (D1)."""
    report = compare(duck, tmp_path, *odd_names())
    assert {one.name for one in report.services} == {*ODD}
    assert {(one.left.messages, one.right.messages, one.missing.messages) for one in report.endpoints} == {
        (30, 28, 2)
    }


def test_rows_that_are_not_read_are_no_verdict(duck: Duck, tmp_path: Path) -> None:
    """Law: unless as many rows are read as the manifest tells, nothing is judged (D1)."""
    left = export(tmp_path, "ny", {("a", "q"): [message(number) for number in range(9)]})
    right = export(tmp_path, "nj", {("a", "q"): [message(number) for number in range(9)]})
    sides = [Side.open(str(side)) for side in (left, right)]
    [file] = sides[0].manifest.files
    more = sides[0].manifest.model_copy(update={"files": (file.model_copy(update={"rows": 10}),)})
    with pytest.raises(ComputationFailed, match="9 of 10 messages of ny were read, so no verdict is possible"):
        reconcile(duck, replace(sides[0], manifest=more), sides[1], Ask(), VirtualClock(NOON))


def test_dead_letters_are_no_loss(duck: Duck, tmp_path: Path) -> None:
    """Law: messages that the serving site moved to another endpoint are matched by their ids, as many as were moved, and
    are not lost; one that is nowhere is (D3)."""
    report = compare(duck, tmp_path, *dead_letters())
    dead, orders = report.endpoints
    assert (dead.extra.by_why, orders.missing.by_why) == ({"dead-lettered": 6}, {"dead-lettered": 6, "none": 1})
    [service] = report.services
    assert (service.rpo.how, service.rpo.low, service.rpo.high) == ("proven", 1, 1)
    assert {one.elsewhere for one in report.samples if one.why == "dead-lettered"} == {"orders", "#DEAD_MSG_QUEUE"}


def test_one_copy_elsewhere_explains_one_loss(duck: Duck, tmp_path: Path) -> None:
    """Law: a message that two queues lack, and one copy of which is elsewhere, was lost once (D3)."""
    report = compare(duck, tmp_path, *one_copy_elsewhere())
    whys = [endpoint.missing.by_why for endpoint in report.endpoints]
    assert whys == [{"moved": 1}, {"none": 1}, {}]


@pytest.mark.parametrize(("expires_at", "why", "rpo"), EXPIRIES)
def test_what_may_have_expired_bounds_the_loss(
    duck: Duck, tmp_path: Path, expires_at: float | None, why: str, rpo: tuple[str, int, int]
) -> None:
    """Law: a loss is proven only of a message that cannot have expired; one of which that is not told may have (D3)."""
    report = compare(duck, tmp_path, *expiring(expires_at))
    [endpoint], [service] = report.endpoints, report.services
    assert endpoint.missing.by_why == {why: 1}
    assert (service.rpo.how, service.rpo.low, service.rpo.high) == rpo


@pytest.mark.parametrize(("left", "right"), COPIES)
def test_copies_of_other_content(duck: Duck, tmp_path: Path, left: str, right: str) -> None:
    """Law: copies are compared with all that is in them, in any order: what differs is told, and never safe (D4)."""
    report = compare(duck, tmp_path, *copies(left, right))
    [endpoint], [service] = report.endpoints, report.services
    is_same = sorted(left) == sorted(right)
    assert (endpoint.changed, endpoint.has_same_messages, service.verdict) == (
        (0, True, "safe") if is_same else (1, False, "not-safe")
    )


@pytest.mark.parametrize("seconds", CLOCKS)
def test_a_wrong_clock_is_seen_in_the_data(duck: Duck, tmp_path: Path, seconds: float) -> None:
    """Law: where every message that both have was spooled so much later at one site, ages prove nothing (D5)."""
    report = compare(duck, tmp_path, *other_clock(seconds))
    [service] = report.services
    assert service.clocks is not None
    assert (service.clocks.least_s, service.clocks.middle_s, service.clocks.greatest_s) == (seconds,) * 3
    assert (service.verdict, service.rpo.how) == ("unknown", "unknown")
    [finding] = [one for one in report.findings if one.code == "clocks-apart"]
    assert finding.level == Level.UNKNOWN and "300.0 s" in finding.message


def test_late_replication_is_no_wrong_clock(duck: Duck, tmp_path: Path) -> None:
    """Law: a queue that fell behind makes some messages later, and says nothing of a clock (D5)."""
    report = compare(duck, tmp_path, *late_replication())
    [service] = report.services
    assert service.clocks is not None and service.clocks.greatest_s == pytest.approx(19.9)
    assert service.verdict == "safe" and not [one for one in report.findings if one.code == "clocks-apart"]


def test_a_message_overtaken_by_priority_is_in_order(duck: Duck, tmp_path: Path) -> None:
    """Law: a message of another priority that overtook one is told apart from a break of order."""
    [endpoint] = compare(duck, tmp_path, *overtaken()).endpoints
    assert (endpoint.order_breaks, endpoint.order_by_priority) == (0, 1)
    [endpoint] = compare(duck, tmp_path / "b", *overtaken(has_priorities=False)).endpoints
    assert (endpoint.order_breaks, endpoint.order_by_priority) == (1, 0)


def test_an_endpoint_that_is_not_there_consumed_nothing(duck: Duck, tmp_path: Path) -> None:
    """Law: messages of an endpoint that the serving site does not have were not consumed there: they are lost."""
    report = compare(duck, tmp_path, *absent_endpoint())
    [service] = report.services
    assert report.endpoints[0].missing.by_why == {"none": 10}
    assert (service.rpo.how, service.rpo.low) == ("proven", 10)


def flip(data: bytes) -> bytes:
    middle = len(data) // 3
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (flip, "its SHA-256 differs from the SHA-256 in the manifest"),
        (lambda data: data[: len(data) // 2], "not a complete Parquet file"),
        (lambda data: b"", "not a complete Parquet file"),
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, change: Callable[[bytes], bytes], words: str) -> None:
    """Law: one flipped bit, a cut file, an empty one: named before anything is compared (D6)."""
    place = export(tmp_path, "ny", {("a", "q"): [message(number) for number in range(500)]})
    [file] = place.rglob("*.parquet")
    file.write_bytes(change(file.read_bytes()))
    with pytest.raises(DefinitionError, match=words) as caught:
        Side.open(str(place))
    assert str(caught.value.file) == str(file)


def test_a_damaged_file_without_a_digest_is_named(engine: Executor, tmp_path: Path) -> None:
    """Law: in an export of 0.1.0, which has no digests, a page that cannot be read is named by file and column (D6)."""
    left = export(tmp_path, "ny", {("a", "q"): [message(number) for number in range(3_000)]})
    right = export(tmp_path, "nj", {("a", "q"): [message(number) for number in range(3_000)]})
    [file] = left.rglob("*.parquet")
    column = pq.read_metadata(file).row_group(0).column(4)
    data = bytearray(file.read_bytes())
    data[column.data_page_offset : column.data_page_offset + 8] = b"\xff" * 8
    file.write_bytes(data)
    edit(left, lambda told: [one.pop("sha256") for one in told["files"]])
    with pytest.raises(DefinitionError, match="column sequence cannot be read") as caught:
        ask_about(engine, left, right)
    assert str(caught.value.file) == str(file)


def edit(place: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    told = json.loads((place / NAME).read_text())
    change(told)
    (place / NAME).write_text(json.dumps(told))


def rewrite(place: Path, change: Callable[[pa.Table], pa.Table], *, service: str = "a", **how: Any) -> Path:
    """The one file of a service, as another writer would have it."""
    [file] = place.rglob(f"service={service}/**/*.parquet")
    pq.write_table(change(pq.ParquetFile(file).read()), file, **how)
    edit(place, lambda told: [one.pop("sha256", None) for one in told["files"]])
    return file


@pytest.mark.parametrize("column", ["sequence", "message_id", "endpoint", "position", "spooled_at"])
def test_empty_values_without_statistics_are_named(tmp_path: Path, column: str) -> None:
    """Law: a column that may have no empty values is checked, also where the file tells nothing of it (D7)."""
    place = export(tmp_path, "ny", {("a", "q"): [message(number) for number in range(50)]})

    def emptied(table: pa.Table) -> pa.Table:
        index = table.schema.get_field_index(column)
        values = pa.array([None, *table[column].to_pylist()[1:]], table.schema.field(column).type)
        return table.set_column(index, column, values)

    file = rewrite(place, emptied, write_statistics=False)
    with pytest.raises(DefinitionError, match=f"column {column} has empty values") as caught:
        Side.open(str(place))
    assert str(caught.value.file) == str(file)


def without_optional(table: pa.Table) -> pa.Table:
    return table.drop_columns(["redeliveries", "expires_at", "dmq_eligible", "priority", "size"])


def with_others(table: pa.Table) -> pa.Table:
    more = pa.array(["elsewhere"] * len(table))
    return table.append_column("service", more).append_column("colour", more)


def test_absent_columns_that_may_be_empty_are_unknown(duck: Duck, tmp_path: Path) -> None:
    """Law: an export of an older release, in which a column is not there that may be empty, is read (D11)."""
    messages = [message(number) for number in range(50)]
    left, right = (export(tmp_path, site, {("a", "q"): messages}) for site in ("ny", "nj"))
    rewrite(left, without_optional)
    report = ask_about(duck, left, right)
    assert report.services[0].verdict == "safe"
    assert "files-not-compared" in {one.code for one in report.findings}
    rewrite(right, lambda table: table.drop_columns(["position"]))
    with pytest.raises(DefinitionError, match="column position is missing"):
        Side.open(str(right))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda told: told.update(format=2), "has format 2, but this release does not support it"),
        (
            lambda told: told.update(features=["deltas"]),
            "has the feature deltas, but this release does not support it",
        ),
        (lambda told: told["files"].append(told["files"][0]), "is listed twice"),
        (lambda told: told["endpoints"].append(told["endpoints"][0]), "endpoint a/queue/q is listed twice"),
        (lambda told: told["files"][0].update(path="../x.parquet"), "not inside the export"),
        (lambda told: told["files"][0].update(path="away.parquet", service="a"), "the file does not exist"),
    ],
)
def test_manifests_of_other_releases_and_broken_ones(
    tmp_path: Path, change: Callable[[dict[str, Any]], Any], words: str
) -> None:
    """Law: what a reader must know and does not is refused with the file; so is a manifest that contradicts itself."""
    place = export(tmp_path, "ny", {("a", "q"): [message(1)]})
    edit(place, change)
    with pytest.raises(DefinitionError, match=words):
        Side.open(str(place))


def test_what_a_later_release_adds_is_passed_over(tmp_path: Path) -> None:
    """Law: more than a reader knows, and need not know, does no harm."""
    place = export(tmp_path, "ny", {("a", "q"): [message(1)]})
    before = Manifest.model_validate_json((place / NAME).read_bytes())
    edit(place, lambda told: (told.update(weather="fine"), told["files"][0].update(colour="red")))
    assert Side.open(str(place)).manifest == before


def test_a_file_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    """Law: a copy of a file under another name would count every message twice."""
    place = export(tmp_path, "ny", {("a", "q"): [message(1)]})
    [file] = place.rglob("*.parquet")
    shutil.copy(file, file.with_name("part-00002.parquet"))

    def add(told: dict[str, Any]) -> None:
        one = told["files"][0]
        told["files"].append({**one, "path": one["path"].replace("00001", "00002")})

    edit(place, add)
    with pytest.raises(DefinitionError, match=r"the same as .*part-00001"):
        Side.open(str(place))


def test_places_are_told_to_workers_from_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, duck: Duck
) -> None:
    """Law: whoever works in another directory finds what was named from here (D8)."""
    from pipeline.amps.instance import Instance
    from tests.spark.dumps import Logged, journal_text, write

    monkeypatch.chdir(tmp_path)
    for site in ("ny", "nj"):
        write(Path(site) / "journal" / "0.txt", journal_text([Logged(1, "1", 1, b"x")]))
    places = [place for site in ("ny", "nj") for place in Instance.of_journals(site).journals]
    monkeypatch.chdir("/")
    duck.read("dump", "journal", places, {})
    assert [row["reason"] for row in duck.rows("SELECT reason FROM dump")] == [None, None]


def test_columns_of_other_writers_change_nothing(duck: Duck, tmp_path: Path) -> None:
    """Law: a newer file with more columns, one of them called like a directory, is read as it is meant."""
    messages = [message(number) for number in range(20)]
    left, right = (export(tmp_path, site, {("a", "q"): messages}) for site in ("ny", "nj"))
    rewrite(left, with_others)
    report = ask_about(duck, left, right)
    assert [(one.service, one.left.messages) for one in report.endpoints] == [("a", 20)]
    assert report.services[0].verdict == "safe"
