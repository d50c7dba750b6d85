"""`--readings`: each look of `failover watch` and `failover check` is kept, whole or not at all, and stops nothing."""

from __future__ import annotations

import resource
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.solace.reading_models import QueueDepth, ReplicationStatus
from orchestrator.cli.pairs.store_samples import SampleStore
from orchestrator.clock import iso
from orchestrator.errors import DefinitionError, OutputLost
from orchestrator.journal.samples import KEPT_S, ReadingSample, SampleFolder, decode_sample, samples_of
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Role
from simulator.embedded import embedded_inventory
from tests.cli.shell import VPN, Ended, Shell

AT = 1_800_000_000.125
QUEUE = QueueDepth(messages=5, usage_mb=0.5, quota_mb=100.0)
ANSWERS: Mapping[str, Mapping[str, Reading | Failure]] = {
    "replication_queue": {VPN: QUEUE},
    "replication": {VPN: ReplicationStatus(role=Role.ACTIVE)},
}


def watch(shell: Shell, *more: str, seconds: float = 7.0) -> Ended:
    """Watch the embedded pair for so long, then Ctrl-C."""
    shell.clock.stop_in(seconds)  # type: ignore[attr-defined]  # the fixture's
    return shell("watch", "--all", "--interval", "3s", "--json", *more)


def files(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


def lines(folder: Path) -> list[ReadingSample]:
    """Every kept line, in the order of the files' names."""
    return [decode_sample(line) for file in files(folder) for line in file.read_text("utf-8").splitlines()]


def folder_at(path: Path) -> SampleFolder:
    return SampleFolder(path, "watch", lambda data: data)


def keep(folder: SampleFolder, at: float = AT) -> Path:
    return folder.keep("ny", ANSWERS, [VPN], at, simulated=True)


@contextmanager
def disk_of(size: int) -> Iterator[None]:
    """No file may grow beyond ``size`` bytes, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_each_look_is_one_file(shell: Shell) -> None:
    """Law: a watch keeps what it shows, a file a look with a line for each service, for nobody else to read."""
    folder = shell.folder / "kept" / "readings"
    ended = watch(shell, "--readings", str(folder))
    shown = [value for value in ended.values if "percent_full" in value]
    kept = lines(folder)
    assert len(files(folder)) == 3
    assert len(shown) == len(kept) == 9
    for line, value in zip(kept, shown, strict=True):
        queue = line.readings["replication_queue"]
        assert isinstance(queue, QueueDepth)
        assert (line.service, line.site, queue.messages) == (
            value["service"],
            value["site"],
            value["messages"],
        )
        assert iso(line.at) == value["at"]
        assert (line.by, line.simulated, line.failures) == ("watch", True, {})
    assert {file.stat().st_mode & 0o777 for file in files(folder)} == {0o600}
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_check_keeps_both_sites(shell: Shell) -> None:
    """Law: a check keeps a look for each site, with what its course over time can tell and nothing else of it."""
    folder = shell.folder / "readings"
    code = shell("check", "--readings", str(folder)).code
    assert code == shell("check").code
    kept = lines(folder)
    assert sorted({(line.site, line.by) for line in kept}) == [("nj", "check"), ("ny", "check")]
    statuses = {line.site: line.readings.get("replication") for line in kept if line.service == VPN}
    roles = {site: one.role for site, one in statuses.items() if isinstance(one, ReplicationStatus)}
    assert roles == {"ny": Role.ACTIVE, "nj": Role.STANDBY}
    assert set(kept[0].readings) == {"replication", "replication_queue"}


def test_the_last_check_reads_nothing(shell: Shell) -> None:
    """Law: --last asks no device, so there is nothing to keep, and that is said."""
    ended = shell("check", "--last", "--readings", "readings")
    assert ended.code == 2
    assert not (shell.folder / "readings").exists()


def test_what_was_not_had_is_a_failure(tmp_path: Path) -> None:
    """Law: a reading that failed is there with its reason, and never as a value; secrets in it are replaced."""
    answers = {**ANSWERS, "replication_queue": {VPN: Failure(kind="Unreachable", text="no answer to hunter2")}}
    folder = SampleFolder(tmp_path, "watch", lambda data: {"replication_queue": "no answer to ***"})
    folder.keep("ny", answers, [VPN], AT, simulated=False)
    [line] = lines(tmp_path)
    assert "replication_queue" not in line.readings
    assert line.failures == {"replication_queue": "no answer to ***"}
    assert line.readings["replication"] == ReplicationStatus(role=Role.ACTIVE)


def test_a_place_that_cannot_be_written_stops_nothing(shell: Shell) -> None:
    """Law: it is said once, with what to do, and the watch and the check go on as without it."""
    place = shell.write("readings", "a file, not a directory")
    ended = watch(shell, "--readings", str(place))
    assert ended.code == 0
    assert len([value for value in ended.values if "percent_full" in value]) == 9
    assert ended.complaint.startswith(f"the readings cannot be saved: {place} cannot be written: ")
    checked = shell("check", "--readings", str(place))
    assert checked.code == shell("check").code
    assert checked.complaint == ended.complaint


def test_it_is_said_when_readings_are_kept_again(shell: Shell) -> None:
    """Law: the same cause is said once however often it comes; the end of it is said too."""
    place = shell.write("readings", "in the way")
    samples = SampleStore(shell.tools(), embedded_inventory(shell.world_file), place, "watch")
    for _ in range(3):
        samples.keep("ny", ANSWERS, [VPN], AT, simulated=True, mate="nj")
    place.unlink()
    for _ in range(2):
        samples.keep("ny", ANSWERS, [VPN], AT, simulated=True, mate="nj")
    told = shell.capture.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in told] == ["failover", "  what to do", "the readings can be kept again"]
    assert len(files(place)) == 2


def test_a_full_disk_leaves_no_half_file(tmp_path: Path) -> None:
    """Law: what could not be written whole is not there at all, not even hidden."""
    folder = folder_at(tmp_path)
    with disk_of(100), pytest.raises(OutputLost, match="the readings cannot be saved"):
        keep(folder)
    assert files(tmp_path) == []
    keep(folder)
    assert len(lines(tmp_path)) == 1


def test_old_looks_are_removed_and_nothing_else(tmp_path: Path) -> None:
    """Law: only looks older than the stated age go, and what killed processes left of such; once an hour."""
    old = keep(folder_at(tmp_path), AT - KEPT_S - 1)
    left = tmp_path / f".{old.name}.unfinished"
    left.write_text("half")
    young = keep(folder_at(tmp_path), AT - KEPT_S + 1)
    others = [tmp_path / name for name in ("notes.txt", "20200101T000000.000Z.jsonl", f"{old.name}.bak")]
    for other in others:
        other.write_text("mine")
    folder = folder_at(tmp_path)
    now = keep(folder)
    assert files(tmp_path) == sorted([young, now, *others])
    later = keep(folder, AT + 10)
    assert young in files(tmp_path)
    last = keep(folder, AT + 3_600)
    assert files(tmp_path) == sorted([now, later, last, *others])


numbers = st.none() | st.floats(0, 1e9, allow_nan=False)


@given(
    messages=st.none() | st.integers(0, 10**12),
    usage=numbers,
    quota=numbers,
    ms=st.integers(0, 4_000_000_000_000),
    service=st.text(min_size=1).filter(lambda text: text.isprintable()),
    why=st.none() | st.text(),
)
def test_a_line_reads_back_as_it_was(
    messages: int | None, usage: float | None, quota: float | None, ms: int, service: str, why: str | None
) -> None:
    """Law: what was kept is what is read, to the millisecond; unknown stays unknown, and a line is one line."""
    queue = QueueDepth(messages=messages, usage_mb=usage, quota_mb=quota)
    status = ReplicationStatus() if why is None else Failure(kind="Unreachable", text=why)
    answers: Mapping[str, Mapping[str, Reading | Failure]] = {
        "replication_queue": {service: queue},
        "replication": {service: status},
    }
    [line] = samples_of("x", "watch", ms / 1000, "ny", answers, [service], simulated=False)
    data = line.encoded()
    assert data.count(b"\n") == 1
    read = decode_sample(data)
    assert read.model_copy(update={"at": line.at}) == line
    assert read.at == pytest.approx(ms / 1000, abs=0.0015)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ('"format":2', "format: Input should be 1"),
        ('"at":"yesterday"', "at: "),
        ('"at":"2026-11-20T03:00:00"', "a time needs a time zone"),
        ('"at":1800000000', "a time must be a text"),
        ('"replication_queue":{"kind":"replication_queue","messages":-1}', "replication_queue.messages: "),
        (
            '"replication_queue":{"kind":"replication_queue","usage_mb":NaN}',
            "replication_queue: every value must be a finite number",
        ),
        ('"more":1', "more: Extra inputs are not permitted"),
    ],
)
def test_a_line_that_is_none(change: str, words: str) -> None:
    """Law: what is no line of a look is refused with the field and what is wrong with it; never half understood."""
    [line] = samples_of("x", "watch", AT, "ny", ANSWERS, [VPN], simulated=False)
    text = line.encoded().decode()
    name = change.split(":")[0]
    kept = [part for part in text[1:-2].split(",") if not part.startswith(name)]
    if name == '"replication_queue"':
        kept = [part for part in kept if not part.startswith(('"messages', '"usage', '"quota', '"rejects'))]
    with pytest.raises(DefinitionError, match=words):
        decode_sample("{" + ",".join([*kept, change]) + "}")
