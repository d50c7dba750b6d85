"""`failover runs export --parquet`: the very records of the journal, as Parquet."""

from __future__ import annotations

import json

import pyarrow.parquet as pq

from pipeline.runs import SCHEMA
from tests.cli.shell import Shell


def test_every_record_of_every_run(shell: Shell) -> None:
    """Each run has a file of its own, private, with the same records as its JSON export; a second export replaces the
    first; kinds and steps are columns."""
    assert shell.move().code == 0
    shell.clock.sleep(1)
    shell.move()
    for _ in range(2):
        ended = shell("runs", "export", "--all", "--parquet", "out")
        assert ended.code == 0, ended.err
    files = sorted((shell.folder / "out").rglob("*.parquet"))
    assert len(files) == 2
    for file in files:
        assert file.stat().st_mode & 0o077 == 0
        table = pq.ParquetFile(file).read()
        assert table.schema.equals(SCHEMA)
        name = file.parent.name.removeprefix("run=")
        lines = [json.loads(line) for line in shell("runs", "export", name).out.splitlines()]
        rows = table.to_pylist()
        stored = ("seq", "event", "hash", "lane")
        assert [(row["stored_at"], *[row[name] for name in stored]) for row in rows] == [
            (line["at"], *[line[name] for name in stored]) for line in lines
        ]
        assert [row["signature"] and json.loads(row["signature"]) for row in rows] == [
            line.get("signature") for line in lines
        ]
        assert rows[0]["kind"] == "run.created"
        assert {row["simulated"] for row in rows} == {True}
        assert all(abs(row["at"].timestamp() - line["at"]) < 1e-5 for row, line in zip(rows, lines, strict=True))
    assert len(list((shell.folder / "out").rglob("*"))) == 4


def test_contradictions_are_refused(shell: Shell) -> None:
    """One run or all, JSON Lines or Parquet: what contradicts itself is said, and nothing is written."""
    assert shell.move().code == 0
    for words in (
        ("--parquet", "out", "-o", "run.jsonl"),
        ("--all",),
        ("last", "--all", "--parquet", "out"),
    ):
        assert shell("runs", "export", *words).code == 2
    assert not (shell.folder / "out").exists()
    assert shell("runs", "export", "last", "--parquet", "out").code == 0
