"""A collection that breaks off goes on where it was; the whole is the same, whatever happened on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.clock import VirtualClock
from orchestrator.errors import ConnectionLost, DefinitionError, LeaseHeld, OutputLost
from pipeline.collect import Job, Progress, collect
from pipeline.commits import NAME as RECORD
from pipeline.commits import CommitLog, Opening
from pipeline.layout import check_files, day_of, partition_path
from pipeline.manifest import NAME, Manifest, ServiceSnapshot
from pipeline.parts import Bounds
from pipeline.places import Place, read_manifest
from pipeline.rows import Census, Cursor, EndpointKey, Message, digest_of

DAY = 86_400.0
NOON = 1_800_000_000.0


class Device:
    """Endpoints with messages of several days; breaks at the moments it was told to, counted in messages read.

    ``slow``: the clock, and the seconds by which each message advances it."""

    def __init__(
        self,
        sizes: Sequence[int],
        breaks: Sequence[int] = (),
        *,
        numbered: bool = True,
        slow: tuple[VirtualClock, float] | None = None,
    ) -> None:
        self.keys = [EndpointKey("V", f"q{n}") for n in range(len(sizes))]
        self.sizes = dict(zip(self.keys, sizes, strict=True))
        self.breaks = list(breaks)
        self.numbered = numbered
        self.slow = slow
        self.read = 0

    def endpoints(self) -> list[EndpointKey]:
        return self.keys

    def census(self, key: EndpointKey) -> Census:
        return Census(NOON, messages=self.sizes[key], deleted_total=0)

    def messages(self, key: EndpointKey, after: Cursor | None) -> Iterator[Message]:
        step = 3 if self.numbered else 1
        first = 0 if after is None else after.position // step + 1
        for number in range(first, self.sizes[key]):
            self.read += 1
            if self.slow is not None:
                clock, seconds = self.slow
                clock.sleep(seconds)
            if self.breaks and self.read >= self.breaks[0]:
                self.breaks.pop(0)
                raise ConnectionLost("the session is gone", device="ny1")
            yield Message(
                f"rmid1:0-{key.name}-00000000-{number:08x}",
                NOON + number * DAY / 7,
                digest=digest_of(b"%d" % number),
                position=number * step if self.numbered else None,
            )


class FullDisk(Device):
    """A device that meanwhile fills the disk that its messages go to: what is written into ``file`` has no room."""

    def __init__(self, sizes: Sequence[int], file: Path) -> None:
        super().__init__(sizes)
        self.file = file

    def messages(self, key: EndpointKey, after: Cursor | None) -> Iterator[Message]:
        for number, message in enumerate(super().messages(key, after)):
            if number == 0:
                self.file.parent.mkdir(parents=True)
                self.file.symlink_to("/dev/full")
            yield message


JOB = Job("ny", [ServiceSnapshot(name="V", role="active")], rows_a_commit=20)
TINY = Bounds(rows_buffered=16, files_open=2, rows_a_group=8, rows_a_file=32)


def rows(directory: Path, manifest: Manifest) -> list[tuple[object, ...]]:
    """Everything that the files of the manifest hold, in order."""
    check_files(Place.of(str(directory)), manifest.files)
    found = []
    for file in manifest.files:
        table = pq.ParquetFile(directory / file.path).read()
        found += list(zip(*(table[name].to_pylist() for name in ("endpoint", "position", "message_id")), strict=True))
    return sorted(found)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device here that is always full")
@pytest.mark.parametrize("bounds", [None, TINY])
def test_a_full_disk_leaves_no_half_file(tmp_path: Path, bounds: Bounds | None) -> None:
    """Law: of a collection whose disk is full no half file stays, the error says what to do, and with room again the
    same call goes on to the whole."""
    day = tmp_path / partition_path("ny", "V", day_of(NOON))
    with pytest.raises(OutputLost, match="No space left") as lost:
        collect(FullDisk([4], day / ".part-00001.parquet.unfinished"), tmp_path, JOB, VirtualClock(), bounds=bounds)
    assert list(day.iterdir()) == []
    assert "free space" in lost.value.hint
    assert "run the same command again" in lost.value.hint
    assert len(rows(tmp_path, collect(Device([4]), tmp_path, JOB, VirtualClock(), bounds=bounds))) == 4


@settings(max_examples=25, deadline=None)
@given(
    sizes=st.lists(st.integers(0, 60), min_size=1, max_size=4),
    breaks=st.lists(st.integers(1, 90), max_size=4),
    numbered=st.booleans(),
)
def test_interrupted_anywhere(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], breaks: list[int], numbered: bool
) -> None:
    """However often and wherever the device went away, every message is there exactly once, in its order, and nothing
    that was committed is read again."""
    directory = tmp_path_factory.mktemp("export") / "ny"
    device = Device(sizes, sorted(breaks), numbered=numbered)
    attempts = 0
    while True:
        attempts += 1
        try:
            manifest = collect(device, directory, JOB, VirtualClock(NOON), bounds=TINY)
            break
        except ConnectionLost:
            assert not (directory / NAME).exists()
    step = 3 if numbered else 1
    assert rows(directory, manifest) == [
        (key.name, number * step, f"rmid1:0-{key.name}-00000000-{number:08x}")
        for key in device.keys
        for number in range(device.sizes[key])
    ]
    assert device.read <= sum(sizes) + (attempts - 1) * JOB.rows_a_commit
    assert all(one.is_whole for one in manifest.endpoints)
    named = {directory / file.path for file in manifest.files}
    assert {path for path in directory.rglob("*") if path.is_file()} == {*named, directory / NAME}
    assert read_manifest(Place.of(str(directory)))[0] == manifest


def test_a_slow_device_is_not_read_from_its_beginning_again(tmp_path: Path) -> None:
    """However few messages a commit's time was enough for, they are not read again."""
    clock = VirtualClock(NOON)
    job = Job("ny", JOB.services)
    a_message = job.seconds_a_commit / 10
    device = Device([50], [46], slow=(clock, a_message))
    with pytest.raises(ConnectionLost):
        collect(device, tmp_path, job, clock)
    manifest = collect(device, tmp_path, job, clock)
    assert len(rows(tmp_path, manifest)) == 50
    assert device.read <= 50 + 10


def test_bounds_are_kept(tmp_path: Path) -> None:
    """Files are partitioned by site, service and day and no larger than told; few are open at once; it is said how far
    it is, and that it ended."""
    told: list[Progress] = []
    manifest = collect(Device([200]), tmp_path / "ny", JOB, VirtualClock(NOON), observe=told.append, bounds=TINY)
    assert all(file.rows <= TINY.rows_a_file for file in manifest.files)
    assert {file.path.split("/part-")[0] for file in manifest.files} >= {"site=ny/service=V/day=2027-01-15"}
    assert len({file.path.rpartition("/")[0] for file in manifest.files}) > 25
    assert (told[-1].endpoint, told[-1].messages, told[-1].endpoints) == (None, 200, 1)


def test_what_a_crash_left_is_swept_away(tmp_path: Path) -> None:
    """Half a file, a whole one that was never named, and a torn last line of the record are gone; the rest counts."""
    device = Device([50], [45])
    with pytest.raises(ConnectionLost):
        collect(device, tmp_path, JOB, VirtualClock(NOON), bounds=TINY)
    folder = tmp_path / "site=ny" / "service=V" / "day=2027-01-15"
    (folder / "part-00099.parquet").write_bytes(b"PAR1 half")
    (folder / ".part-00098.parquet.unfinished").write_bytes(b"PAR1")
    with (tmp_path / RECORD).open("ab") as record:
        record.write(b'{"files": [')
    manifest = collect(device, tmp_path, JOB, VirtualClock(NOON), bounds=TINY)
    assert len(rows(tmp_path, manifest)) == 50
    assert not (folder / "part-00099.parquet").exists()
    assert not (folder / ".part-00098.parquet.unfinished").exists()


def test_directories_that_are_not_ours(tmp_path: Path) -> None:
    """A finished export is not collected into, nor another site's, nor one that another process is at."""
    with pytest.raises(ConnectionLost):
        collect(Device([5], [3]), tmp_path / "a", JOB, VirtualClock(NOON))
    with pytest.raises(DefinitionError, match="has an unfinished collection of site ny"):
        collect(Device([5]), tmp_path / "a", Job("nj", ()), VirtualClock(NOON))
    held = CommitLog(tmp_path / "a", Opening(site="ny", started_at=NOON))
    with pytest.raises(LeaseHeld, match="another process"):
        collect(Device([5]), tmp_path / "a", JOB, VirtualClock(NOON))
    held.close()
    collect(Device([5]), tmp_path / "a", JOB, VirtualClock(NOON))
    with pytest.raises(DefinitionError, match="already has a finished export"):
        collect(Device([5]), tmp_path / "a", JOB, VirtualClock(NOON))


def test_an_export_that_ends_just_before_the_record_is_opened(tmp_path: Path) -> None:
    """Law: who looked before another process ended its export, and opens the record after that, begins no other one in
    its place: that would remove every file of the one that ended."""
    manifest = collect(Device([5]), tmp_path, JOB, VirtualClock(NOON))
    with pytest.raises(DefinitionError, match="already has a finished export"):
        CommitLog(tmp_path, Opening(site="ny", started_at=NOON))
    assert not (tmp_path / RECORD).exists()
    assert len(rows(tmp_path, manifest)) == manifest.messages


@pytest.mark.parametrize("line", [b"[" * 100_000, b"9" * 5_000, b"\xff", b"null", b"{}", b'{"next_file": "x"}'])
def test_a_record_that_is_none(tmp_path: Path, line: bytes) -> None:
    """Law: a line of the record that no collection wrote is one sentence, with file and line."""
    opening = Opening(site="ny", started_at=NOON)
    CommitLog(tmp_path, opening).close()
    with (tmp_path / RECORD).open("ab") as record:
        record.write(line + b"\n")
    with pytest.raises(DefinitionError, match="not a line of a collection's record"):
        CommitLog(tmp_path, opening)
