"""A collection is killed at each of its steps, by a death of the whole process, and gone on with: nothing shows of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from pipeline.manifest import NAME, Manifest
from pipeline.places import Place, read_manifest
from tests.snapshot import test_collect, test_dumps
from tests.snapshot.killed import DUMPED, READ, SIZES, STEPS

pytestmark = pytest.mark.realtime
ROOT = Path(__file__).parents[2]


def killed_everywhere(what: str, folder: Path) -> tuple[Counter[str], list[tuple[Path, Manifest]]]:
    """Which steps it was killed at, how often; and each export, with its manifest."""
    command = [sys.executable, "-m", "tests.snapshot.killed", what, str(folder)]
    # It forks, and the memory allocator of PyArrow must not have a thread of its own then.
    alone = {**os.environ, "JE_ARROW_MALLOC_CONF": "background_thread:false"}
    done = subprocess.run(command, cwd=ROOT, env=alone, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    firsts: dict[str, str] = {}
    for name, step in (line.split() for line in done.stdout.splitlines()):
        firsts.setdefault(name, step)
    exports = [folder / name for name in firsts]
    return Counter(firsts.values()), [(one, read_manifest(Place.of(str(one)))[0]) for one in exports]


def files_in(export: Path) -> set[str]:
    """Every file there is, whatever it is called."""
    return {str(path.relative_to(export)) for path in export.rglob("*") if path.is_file()}


def test_killed_while_a_device_is_read(tmp_path: Path) -> None:
    """Law: killed at any step and once more, and gone on with, every message is there exactly once; and no file but
    those of an export that nobody killed."""
    steps, exports = killed_everywhere("endpoints", tmp_path)
    assert steps.keys() == STEPS
    assert steps[READ] == sum(SIZES)
    expected = [
        (f"q{queue}", number * 3, f"rmid1:0-q{queue}-00000000-{number:08x}")
        for queue, size in enumerate(SIZES)
        for number in range(size)
    ]
    for export, manifest in exports:
        assert test_collect.rows(export, manifest) == expected, export
        assert files_in(export) == {NAME, *[file.path for file in manifest.files]}
        assert all(one.is_whole for one in manifest.endpoints)


def test_killed_while_dumps_are_read(tmp_path: Path) -> None:
    """Law: the same of dumps; what could not be read of them is counted and kept once, whenever it was killed."""
    sizes, records = DUMPED
    expected = test_dumps.dumped(tmp_path / "dumps", list(sizes), records)
    first = tmp_path / "dumps" / "journal" / "0.txt"
    first.write_bytes(
        first.read_bytes().replace(b"client seq                    :   ", b"client seq                    : x", 1)
    )
    lost = [row for row in expected if row[2] != "77|1"]
    assert len(lost) == len(expected) - 1
    steps, exports = killed_everywhere("dumps", tmp_path)
    assert len(exports) == steps.total() > 40
    for export, manifest in exports:
        assert test_dumps.rows(export, manifest) == lost, export
        assert manifest.dumps is not None
        assert [(Path(one.file).name, one.pieces) for one in manifest.dumps.unread] == [("0.txt", 2)]
        assert len(test_dumps.aside(export, manifest)) == 2
        named = {NAME, *[file.path for file in (*manifest.files, *manifest.dumps.quarantine)]}
        assert files_in(export) == named
