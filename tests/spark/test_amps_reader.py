"""Dumps as Spark tables: every record of every file, and a row in quarantine for whatever could not be read."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from orchestrator.errors import ComputationFailed, DefinitionError
from pipeline.amps.files import CUT_OFF, OTHER_TOTAL
from pipeline.engines.executor import Executor, Row
from pipeline.faults import spark_faults
from pipeline.places import Place
from pipeline.rows import digest_of
from tests.spark.dumps import Kept, Logged, journal_text, sow_text, write


def test_files_together_and_packed(engine: Executor, tmp_path: Path) -> None:
    """Several dumps, one packed, are one table; a payload over several lines is one value; nothing is set aside."""
    plain = journal_text(Logged(n, "9", n, b'{\n"id":%d\n}' % n) for n in range(3))
    packed = gzip.compress(journal_text([Logged(3, "9", 3, b"]\nentry : 4\n")]), mtime=0)
    names = [write(tmp_path / "a b.txt", plain), write(tmp_path / "second.txt.gz", packed)]
    rows = read(engine, "journal", *names)
    found = {row["txid"]: row for row in readable(rows)}
    assert sorted(found) == [0, 1, 2, 3]
    assert bytes(found[1]["digest"]) == digest_of(b'{\n"id":1\n}')
    assert bytes(found[3]["digest"]) == digest_of(b"]\nentry : 4\n")
    assert {row["file"] for row in found.values()} == set(names)
    assert quarantine(rows) == []


def test_what_cannot_be_read_is_in_quarantine(engine: Executor, tmp_path: Path) -> None:
    """A corrupt record is a row with file, offset and bytes, the dump's own total is checked, and the rest is read."""
    text = sow_text([Kept(1, 1, b"one"), Kept(2, 2, b"two"), Kept(3, 3, b"three")])
    broken = text.replace(b"data size         = 3\n    expiration        = 0", b"data size         = 9\n", 1)
    name = write(tmp_path / "orders.json.txt", broken)
    cut = write(tmp_path / "cut.json.txt", text[: text.index(b"three")])
    rows = read(engine, "sow", name, cut)
    assert sorted((row["file"], row["sow_key"]) for row in readable(rows)) == sorted(
        [(name, "2"), (name, "3"), (cut, "1"), (cut, "2")]
    )
    kept = {(row["file"], row["place"]): row for row in quarantine(rows)}
    assert kept[name, 0]["reason"] == "a value does not end after its 9 bytes"
    assert broken.startswith(bytes(kept[name, 0]["excerpt"]))
    assert kept[name, None]["reason"] == OTHER_TOTAL.format(told=3, found=2)
    assert kept[cut, None]["reason"] == CUT_OFF
    assert kept[cut, text.index(b"key                   = 3")]["reason"] == "the file ends inside a value of 5 bytes"
    assert len(kept) == 4


def test_no_dump_and_a_dump_that_is_away(engine: Executor, tmp_path: Path) -> None:
    """No file at all is an empty table; a file that went away is one sentence with its name."""
    assert read(engine, "sow") == []
    with pytest.raises((DefinitionError, ComputationFailed), match=r"away\.txt") as caught, spark_faults():
        read(engine, "journal", str(tmp_path / "away.txt"))
    assert "\n" not in str(caught.value)


def test_a_packed_dump_that_is_damaged(engine: Executor, tmp_path: Path) -> None:
    """What can be unpacked of it is read, and where that ends is in quarantine, as in a snapshot of the same dump."""
    packed = gzip.compress(journal_text(Logged(n, "9", n, b"%0100d" % (7**n)) for n in range(50)), mtime=0)
    name = write(tmp_path / "torn.txt.gz", packed[: len(packed) // 2])
    rows = read(engine, "journal", name)
    found = sorted(row["txid"] for row in readable(rows))
    assert found == list(range(len(found))) and 0 < len(found) < 50
    damaged, cut = sorted(quarantine(rows), key=lambda row: row["place"] is None)
    assert (damaged["file"], damaged["reason"]) == (
        name,
        "the compressed text is damaged from this position on: "
        "Compressed file ended before the end-of-stream marker was reached",
    )
    assert damaged["place"] > 0 and (cut["place"], cut["reason"]) == (None, CUT_OFF)


def read(engine: Executor, what: str, *names: str) -> list[Row]:
    engine.read("dump", what, [Place.of(name) for name in names], {})
    return engine.rows("SELECT * FROM dump")


def readable(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["reason"] is None]


def quarantine(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row["reason"] is not None]
