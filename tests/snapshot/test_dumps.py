"""Dumps of AMPS as an export: every message and record exactly once, whatever breaks off; what cannot be read is kept."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.clock import VirtualClock
from orchestrator.errors import ConnectionLost, DefinitionError
from pipeline.amps.collect import NO_TIME, UNKNOWN, Progress, collect_dumps, dumps_of
from pipeline.amps.files import CUT_OFF
from pipeline.amps.instance import Instance
from pipeline.collect import Job
from pipeline.layout import check_files
from pipeline.manifest import Manifest, ServiceSnapshot
from pipeline.parts import Bounds
from pipeline.places import Place
from pipeline.rows import digest_of
from tests.spark.dumps import NOON_MICROS, Kept, Logged, journal_text, sow_text, write

NOON = NOON_MICROS / 1e6
JOB = Job("ny", [ServiceSnapshot(name="orders")], rows_a_commit=7, rows_a_report=1)
TINY = Bounds(rows_buffered=16, files_open=2, rows_a_group=8, rows_a_file=32)

Row = tuple[str, str, str, int]  # kind, endpoint, message id, position


def dumped(folder: Path, sizes: list[int], records: int) -> list[Row]:
    """An instance with a journal of each size, two topics and days in each, and a SOW. Returns what an export has."""
    expected: list[Row] = []
    number = 0
    for file, size in enumerate(sizes):
        entries = []
        for _ in range(size):
            number += 1
            topic, kind = ("orders", "jobs")[number % 2], ("publish", "sow_delete", "queue_ack")[number % 3]
            data = b"x\n___________________________\nentry : 1\n" + b"%d" % number
            entries.append(Logged(number, "77", number, data, topic=topic, type=kind, at_s=number * 20_000.0))
            if kind != "queue_ack":
                expected.append(("topic", f"{topic} (json)", f"77|{number}", number))
        write(folder / "journal" / f"{file}.txt", journal_text(entries))
    kept = [Kept(2**63 + 2 * key, key, b"{}", at_s=float(key)) for key in range(records)]
    write(folder / "sow" / "orders.json.txt", sow_text(kept))
    expected += [("sow", "orders (json)", str(one.key), one.key >> 1) for one in kept]
    return sorted(expected)


def rows(directory: Path, manifest: Manifest) -> list[Row]:
    """Everything that the files of the manifest hold."""
    check_files(Place.of(str(directory)), manifest.files)
    found: list[Row] = []
    for file in manifest.files:
        table = pq.ParquetFile(directory / file.path).read()
        columns = (table[name].to_pylist() for name in ("kind", "endpoint", "message_id", "position"))
        found += list(zip(*columns, strict=True))
    return sorted(found)


def aside(directory: Path, manifest: Manifest) -> list[dict[str, object]]:
    """The table of what could not be read."""
    assert manifest.dumps is not None
    tables = [pq.ParquetFile(directory / file.path).read() for file in manifest.dumps.quarantine]
    return [row for table in tables for row in table.to_pylist()]


def collected(folder: Path, out: Path, job: Job = JOB) -> Manifest:
    dumps = dumps_of({"orders": Instance.of_dumps(str(folder))}, NOON)
    return collect_dumps(dumps, out, job, VirtualClock(NOON), bounds=TINY)


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 40), min_size=1, max_size=4),
    records=st.integers(0, 30),
    breaks=st.lists(st.integers(1, 60), max_size=5),
    packed=st.booleans(),
)
def test_interrupted_anywhere(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], records: int, breaks: list[int], packed: bool
) -> None:
    """However often and wherever a collection breaks off, in a packed dump too: every message and record is there
    exactly once, with its own place, and no stray file; entries that are no messages are counted once."""
    folder = tmp_path_factory.mktemp("dumps")
    expected = dumped(folder, sizes, records)
    if packed:
        first = folder / "journal" / "0.txt"
        write(folder / "journal" / "0.txt.gz", gzip.compress(first.read_bytes()))
        first.unlink()
    out = folder / "export"
    dumps = dumps_of({"orders": Instance.of_dumps(str(folder))}, NOON)
    waiting = sorted(breaks)
    seen = 0

    def observe(progress: Progress) -> None:
        nonlocal seen
        seen += 1
        if waiting and not progress.has_ended and seen >= waiting[0]:
            waiting.pop(0)
            raise ConnectionLost("somebody pulled a plug", device="here")

    while True:
        try:
            manifest = collect_dumps(dumps, out, JOB, VirtualClock(NOON), observe=observe, bounds=TINY)
            break
        except ConnectionLost:
            assert not (out / "manifest.json").exists()
    assert rows(out, manifest) == expected
    read = manifest.dumps
    assert read is not None
    assert (read.dumps, read.unread, read.quarantine) == (len(sizes) + 1, (), ())
    assert read.left_aside == ({"queue_ack": sum(sizes) // 3 + (sum(sizes) % 3 == 2)} if sum(sizes) > 1 else {})
    counts = Counter((kind, endpoint) for kind, endpoint, _, _ in expected)
    assert {(one.kind, one.name): one.messages for one in manifest.endpoints} == {
        ("sow", "orders (json)"): 0,
        **counts,
    }
    named = {out / file.path for file in manifest.files}
    assert {path for path in out.rglob("*") if path.is_file()} == {*named, out / "manifest.json"}


def test_what_the_columns_hold(tmp_path: Path) -> None:
    """Time, size and digest are those of the dump; what no dump tells is empty, and the manifest says so; a log says
    where it begins, a SOW does not."""
    dumped(tmp_path, [4], 1)
    out = tmp_path / "export"
    manifest = collected(tmp_path, out)
    assert (manifest.unknown, manifest.services[0].role) == (UNKNOWN, None)
    table = [row for f in manifest.files for row in pq.ParquetFile(out / f.path).read().to_pylist()]
    for column in UNKNOWN:
        assert {row[column] for row in table} == {None}
    by_id = {row["message_id"]: row for row in table}
    message, record = by_id["77|3"], by_id[str(2**63)]
    data = b"x\n___________________________\nentry : 1\n3"
    assert (message["size"], message["digest"]) == (len(data), digest_of(data))
    assert message["spooled_at"].timestamp() == NOON + 60_000
    assert (record["size"], record["digest"], record["stream"]) == (2, digest_of(b"{}"), "#")
    begins = {one.kind: one.begins_at for one in manifest.endpoints}
    assert begins == {"topic": NOON + 20_000, "sow": None}
    assert {(one.taken_from, one.taken_to, one.is_whole) for one in manifest.endpoints} == {(NOON, NOON, None)}


def test_what_cannot_be_read_is_kept_and_counted(tmp_path: Path) -> None:
    """A damaged entry, one without a time, a record with a local time, a dump that was cut off: each is in quarantine
    with its file and offset, the manifest counts them, and no endpoint that they may be of passes for whole."""
    dumped(tmp_path, [9, 4], 3)
    first, second = (tmp_path / "journal" / f"{n}.txt" for n in (0, 1))
    text = first.read_bytes()
    damaged = text.replace(b"client seq                    :                              6", b"client seq : five", 1)
    assert damaged != text
    first.write_bytes(damaged)
    cut = second.read_bytes()
    second.write_bytes(cut[: cut.rindex(b"entry   ") + 200])
    sow = tmp_path / "sow" / "orders.json.txt"
    sow.write_bytes(sow.read_bytes().replace(b"Z\n", b"\n", 1))
    out = tmp_path / "export"
    manifest = collected(tmp_path, out)
    found = {(Path(str(row["file"])).name, row["reason"]): row for row in aside(out, manifest)}
    assert set(found) == {
        ("0.txt", "client seq is not a number: 'five'"),
        ("1.txt", "this line is not a field"),
        ("1.txt", CUT_OFF),
        ("0.txt", "the dump reports 9 records, but 8 were read"),
        ("orders.json.txt", NO_TIME),
    }
    piece = found["0.txt", "client seq is not a number: 'five'"]
    assert damaged[int(str(piece["offset"])) :].startswith(b"entry  ")
    assert bytes(piece["excerpt"]).startswith(b"entry  ")  # type: ignore[call-overload]
    assert found["1.txt", CUT_OFF]["offset"] is None
    assert manifest.dumps is not None
    assert {Path(one.file).name: one.pieces for one in manifest.dumps.unread} == {
        "0.txt": 2,
        "1.txt": 2,
        "orders.json.txt": 1,
    }
    assert [one.is_whole for one in manifest.endpoints] == [False, False, False]
    # Of 9 + 4 entries four are no messages, and two cannot be read; of 3 records one cannot.
    assert manifest.messages == 13 - 4 - 2 + 2


def test_a_packed_dump_that_is_damaged(tmp_path: Path) -> None:
    """What can be unpacked is read; that the rest cannot is in quarantine, and nothing fails."""
    dumped(tmp_path, [200], 0)
    first = tmp_path / "journal" / "0.txt"
    packed = gzip.compress(first.read_bytes())
    write(tmp_path / "journal" / "0.txt.gz", packed[: len(packed) // 2])
    first.unlink()
    manifest = collected(tmp_path, tmp_path / "export")
    reasons = [str(row["reason"]) for row in aside(tmp_path / "export", manifest)]
    assert any(one.startswith("the compressed text is damaged from this position on") for one in reasons)
    assert CUT_OFF in reasons
    assert 0 < manifest.messages < 134


def test_dumps_that_change_meanwhile(tmp_path: Path) -> None:
    """A collection that broke off does not go on with other dumps than it began with."""
    dumped(tmp_path, [30], 0)
    dumps = dumps_of({"orders": Instance.of_dumps(str(tmp_path))})
    out = tmp_path / "export"

    def stop(_: Progress) -> None:
        raise ConnectionLost("somebody pulled a plug", device="here")

    with pytest.raises(ConnectionLost):
        collect_dumps(dumps, out, JOB, VirtualClock(NOON), observe=stop)
    os.utime(tmp_path / "journal" / "0.txt", (NOON, NOON))
    with pytest.raises(DefinitionError, match="an unfinished collection of other dumps"):
        collect_dumps(dumps_of({"orders": Instance.of_dumps(str(tmp_path))}), out, JOB, VirtualClock(NOON))


def test_when_a_dump_was_made(tmp_path: Path) -> None:
    """Unless it is told, the time of the newest journal's file is taken for the log's, and each SOW's own for it."""
    dumped(tmp_path, [3, 3], 1)
    for number, name in enumerate(("journal/0.txt", "journal/1.txt", "sow/orders.json.txt")):
        os.utime(tmp_path / name, (NOON + number, NOON + number))
    dumps = dumps_of({"orders": Instance.of_dumps(str(tmp_path))})
    manifest = collect_dumps(dumps, tmp_path / "export", JOB, VirtualClock(NOON + 60))
    assert {one.kind: one.taken_from for one in manifest.endpoints} == {"topic": NOON + 1, "sow": NOON + 2}


def test_the_manifest_is_documented() -> None:
    """A manifest of dumps is read again as it was written."""
    manifest = Manifest(
        site="ny", started_at=NOON, finished_at=NOON, services=(), endpoints=(), files=(), unknown=UNKNOWN
    )
    assert Manifest.model_validate(json.loads(manifest.encoded())) == manifest
