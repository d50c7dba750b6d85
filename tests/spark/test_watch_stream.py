"""The watch on Spark: what the plain fold makes, whatever kills it and wherever; nothing lost, nothing twice."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from orchestrator.clock import VirtualClock
from orchestrator.errors import ComputationFailed, DefinitionError, LeaseHeld, OutputLost
from orchestrator.stopping import Stop
from pipeline.places import Place
from pipeline.watch.alerts import Alert, AnyCourse
from pipeline.watch.checkpoint import Batch, Checkpoint, State, checkpoint_at
from pipeline.watch.course import Course
from pipeline.watch.stream import follow
from tests.spark.looking import (
    NIGHT,
    NIGHT_OF_LINKS,
    RULES,
    File,
    Seen,
    brief,
    by_id,
    file_of,
    fold_all,
    night,
    night_of_links,
)

# So much text that a batch has about ten looks of the night, and the whole night about ten batches.
SMALL = 16_000
# So much that the night is two batches or three.
LARGE = 60_000


class Killed(Exception):
    """The end of the process: nothing that it had in memory is used again."""


@dataclass(frozen=True, slots=True)
class Mortal(Checkpoint):
    """Dies at its write number ``dies_at`` from now, right before or right after it."""

    dies_at: int = 0
    is_after: bool = False
    written: list[str] | None = None

    def write(self, folder: Path, name: str, data: bytes) -> None:
        assert self.written is not None
        self.written.append(name)
        is_due = len(self.written) == self.dies_at
        if is_due and not self.is_after:
            raise Killed(name)
        Checkpoint.write(self, folder, name, data)
        if is_due:
            raise Killed(name)


@dataclass
class Watch:
    """A directory of readings and a checkpoint, followed as often as one likes."""

    spark: SparkSession
    folder: Path
    dies_at: int = 0
    is_after: bool = False
    batch_bytes: int = LARGE
    shared: Path | None = None

    @property
    def readings(self) -> Path:
        return self.shared or self.folder / "readings"

    @property
    def checkpoint(self) -> Path:
        return self.folder / "followed"

    def bring(self, files: Sequence[File]) -> None:
        for one in files:
            one.write(self.readings)

    def run(self, *, stop: Stop | None = None) -> list[Batch]:
        """Follow what is there, as a new process would; one that is killed says so."""
        place = Place.of(str(self.readings))
        with checkpoint_at(self.checkpoint, place.for_spark, RULES, None) as held:
            mortal = Mortal(held.path, held.id, held.alerts, self.dies_at, self.is_after, [])
            return list(
                follow(
                    self.spark,
                    place,
                    mortal,
                    RULES,
                    every_s=None,
                    clock=VirtualClock(),
                    stop=stop or Stop(),
                    say=print,
                    batch_bytes=self.batch_bytes,
                )
            )

    def alerts(self) -> list[Alert]:
        """Everything that was written, file after file."""
        files = sorted((self.checkpoint / "alerts").glob("[!.]*"))
        return [json.loads(line) for file in files for line in file.read_text("utf-8").splitlines()]

    def state(self) -> State:
        return Checkpoint(self.checkpoint, "", self.folder).state()


@pytest.fixture
def watch(spark: SparkSession, tmp_path: Path) -> Watch:
    return Watch(spark, tmp_path)


@pytest.fixture(scope="module")
def first(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> tuple[Watch, list[Batch]]:
    """The night, followed once in many batches; and these. Nothing is changed here."""
    watch = Watch(spark, tmp_path_factory.mktemp("night"), batch_bytes=SMALL)
    watch.bring(night())
    return watch, watch.run()


@pytest.fixture
def again(first: tuple[Watch, list[Batch]], tmp_path: Path) -> Watch:
    """The same readings, followed before, with a checkpoint that is this test's own."""
    watch = Watch(first[0].spark, tmp_path, shared=first[0].readings)
    shutil.copytree(first[0].checkpoint, watch.checkpoint)
    return watch


def disturbed() -> list[File]:
    """The night with a look that comes late, one that comes far too late, one twice, and one that is not whole."""
    files = night()
    files[20] = replace(files[20], arrives=files[20].arrives + 25)
    files[40] = replace(files[40], arrives=files[40].arrives + 200)
    files.append(replace(files[60], name=f"copy-{files[60].name}", arrives=files[60].arrives + 5))
    files.append(File("half.jsonl", 333.0, f'{files[33].text[:100]}\n{{"links": 1}}\n'))
    return files


def test_the_night_that_is_known(first: tuple[Watch, list[Batch]]) -> None:
    """Law: on Spark, in several batches, the alerts are the known ones and what is remembered is the plain fold's."""
    watch, batches = first
    assert len(batches) > 10  # so that Spark has put its lists of files together once
    assert brief(watch.alerts()) == NIGHT
    assert watch.state().courses == fold_all(night()).courses
    assert [alert for batch in batches for alert in batch.alerts] == watch.alerts()


def test_links_of_amps(watch: Watch) -> None:
    """Law: in two sittings and several batches, readings of AMPS make the known alerts, and what is remembered of them is
    the plain fold's."""
    files = night_of_links()
    for part in (files[:45], files[45:]):
        watch.bring(part)
        watch.run()
    assert brief(watch.alerts()) == NIGHT_OF_LINKS
    known = fold_all(files).courses
    assert watch.state().courses == known
    newest = {key: course.taken[-1].line for key, course in watch.state().courses.items() if course.of == "link"}
    assert newest == {key: course.taken[-1].line for key, course in known.items() if course.of == "link"}


def test_what_comes_late_or_broken(watch: Watch) -> None:
    """Law: late, doubled and unreadable lines are what they are to the plain fold; hidden files are not there."""
    watch.bring(disturbed())
    (watch.readings / ".20261120T030000.000Z-watch-00000000.jsonl.unfinished").write_text('{"half')
    (watch.readings / "notes.txt").write_text("mine")
    watch.run()
    known = fold_all(disturbed())
    assert by_id(watch.alerts()) == by_id(known.alerts)
    kinds = [one["data"]["event"]["kind"] for one in watch.alerts()]
    assert (kinds.count("reading.late"), kinds.count("reading.unusable")) == (3, 2)
    state = watch.state()
    assert state.courses == known.courses
    assert (state.totals.lines, state.totals.unusable, state.totals.alerts) == (known.lines, 2, len(kinds))


def test_it_goes_on_where_it_stopped(watch: Watch) -> None:
    """Law: read in three sittings, the night has the alerts of one; a sitting with nothing new changes nothing. One that
    is stopped before it had read everything says so, and the next one has the rest. Half files of a killed process are
    replaced, and another's left alone."""
    files = night()
    watch.bring(files[:31])
    stop = Stop()
    stop.set()
    with pytest.raises(ComputationFailed, match="stopped before it had read everything"):
        watch.run(stop=stop)
    watch.run()
    for folder, name in (("state", "0000000001.json"), ("alerts", "alerts-x.jsonl")):
        (watch.checkpoint / folder).mkdir(exist_ok=True)
        (watch.checkpoint / folder / f".{name}.unfinished").write_text("half")
    for part in (files[31:35], files[35:]):
        watch.bring(part)
        watch.run()
    before = (watch.alerts(), watch.state())
    assert [batch.lines for batch in watch.run()] == [0]
    assert (watch.alerts(), watch.state()) == before
    assert brief(watch.alerts()) == NIGHT
    assert [path.name for path in watch.checkpoint.rglob("*.unfinished")] == [".alerts-x.jsonl.unfinished"]


# Writes: the alerts of a batch, then the state after it. `test_a_file_that_is_gone` has the moment before the first.
@pytest.mark.parametrize(
    ("dies_at", "is_after", "name"), [(1, True, "alerts-"), (2, True, "0000000000"), (4, False, "0000000001")]
)
def test_killed_while_it_writes(watch: Watch, dies_at: int, is_after: bool, name: str) -> None:
    """Law: killed after the alerts of a batch, and before or after the state of one, and started again, it has written
    every alert exactly once."""
    watch.bring(disturbed())
    watch.dies_at, watch.is_after = dies_at, is_after
    with pytest.raises(Killed, match=f"^{name}"):
        watch.run()
    watch.dies_at = 0
    watch.run()
    known = fold_all(disturbed())
    assert by_id(watch.alerts()) == by_id(known.alerts)
    assert watch.state().courses == known.courses


def test_killed_before_spark_heard_of_it(again: Watch) -> None:
    """Law: a batch that was written, its state as well, and that Spark does not know of as done, is not made again."""
    before = again.alerts()
    last = max((again.checkpoint / "spark" / "commits").glob("[0-9]*"), key=lambda path: int(path.name))
    last.unlink()
    last.with_name(f".{last.name}.crc").unlink(missing_ok=True)
    assert [batch.lines for batch in again.run()] == [0]
    assert again.alerts() == before


def test_it_goes_on_until_it_is_stopped(watch: Watch) -> None:
    """Law: without an end of its own it takes what comes while it runs, and ends when somebody asks, with all written."""
    files = night()
    watch.bring(files[:40])
    place, stop = Place.of(str(watch.readings)), Stop()
    with checkpoint_at(watch.checkpoint, place.for_spark, RULES, None) as held:
        following = follow(watch.spark, place, held, RULES, every_s=0.1, clock=VirtualClock(), stop=stop, say=print)
        lines = 0
        for batch in following:
            lines += batch.lines
            if lines == 40 * 3:
                watch.bring(files[40:])
            if lines == len(files) * 3:
                stop.set()
    assert brief(watch.alerts()) == NIGHT
    assert list(watch.spark.streams.active) == []


def test_a_file_that_is_gone(watch: Watch) -> None:
    """Law: a look that was counted on and cannot be read is named, never passed over; once it is back, all goes on."""
    watch.bring(night())
    watch.dies_at = 1
    with pytest.raises(Killed):
        watch.run()
    watch.dies_at = 0
    gone = watch.readings / night()[3].name
    gone.rename(watch.folder / gone.name)
    with pytest.raises(DefinitionError, match="can no longer be read") as caught:
        watch.run()
    assert caught.value.file == gone
    assert watch.alerts() == []
    (watch.folder / gone.name).rename(gone)
    watch.run()
    assert brief(watch.alerts()) == NIGHT
    assert (by_id(watch.alerts()), watch.state().courses) == (
        by_id(fold_all(night()).alerts),
        fold_all(night()).courses,
    )


def test_silence_is_told(watch: Watch) -> None:
    """Law: when nobody keeps readings any more, that is said once."""
    watch.bring(night()[:3])

    class Hasty(VirtualClock):
        """A minute passes between two looks at it."""

        def now(self) -> float:
            self.advance(60)
            return super().now()

    told: list[str] = []
    stop = Stop()

    def say(text: str) -> None:
        told.append(text)
        stop.set()

    place = Place.of(str(watch.readings))
    with checkpoint_at(watch.checkpoint, place.for_spark, RULES, None) as held:
        list(follow(watch.spark, place, held, RULES, every_s=0.1, clock=Hasty(), stop=stop, say=say))
    [words] = told
    assert words.startswith(f"no new readings in {watch.readings} for 120s")


def test_a_checkpoint_that_is_not_whole(again: Watch) -> None:
    """Law: where Spark's part of a checkpoint is gone and ours is not, nothing is counted twice: it is refused."""
    before = again.alerts()
    shutil.rmtree(again.checkpoint / "spark")
    with pytest.raises(DefinitionError, match="is not complete: batch 0 follows batch"):
        again.run()
    assert again.alerts() == before


@pytest.mark.parametrize("damaged", ["metadata", "commits", "offsets"])
def test_what_spark_keeps_is_damaged(again: Watch, damaged: str) -> None:
    """Law: whichever of Spark's own files is torn, it is said what to do, and no alert is written twice or lost."""
    before = again.alerts()
    place = again.checkpoint / "spark" / damaged
    numbered = list(place.glob("[0-9]*")) if place.is_dir() else [place]
    for file in numbered:
        file.write_text("torn")
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    with pytest.raises(ComputationFailed) as caught:
        again.run()
    assert f"{again.checkpoint / 'spark'} is damaged: use another directory" in caught.value.hint
    assert again.alerts() == before


# The checkpoint itself: nothing of this needs Spark


def test_one_process_at_a_time(tmp_path: Path) -> None:
    """Law: a checkpoint that another process holds is refused, and free again when that one ends."""
    held = checkpoint_at(tmp_path / "c", "file:/r", RULES, None)
    held.__enter__()
    with pytest.raises(LeaseHeld), checkpoint_at(tmp_path / "c", "file:/r", RULES, None):
        pass
    held.__exit__(None, None, None)
    with checkpoint_at(tmp_path / "c", "file:/r", RULES, None):
        pass


def test_other_readings_or_rules(tmp_path: Path) -> None:
    """Law: a checkpoint belongs to its readings and rules; with others it is refused, and says with which it began."""
    with checkpoint_at(tmp_path / "c", "file:/r", RULES, None):
        pass
    for readings, rules, words in (
        ("file:/x", RULES, "belongs to the readings in file:/r"),
        ("file:/r", replace(RULES, stall_s=60.0), "--window 5m --stall 2m --late 30s --full-within 10m"),
    ):
        with pytest.raises(DefinitionError, match=words), checkpoint_at(tmp_path / "c", readings, rules, None):
            pass


def test_a_directory_of_somebody_else(tmp_path: Path) -> None:
    """Law: a directory that holds other things is not taken for a checkpoint, nor is a damaged one."""
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(DefinitionError, match="is not a checkpoint"), checkpoint_at(tmp_path, "file:/r", RULES, None):
        pass
    (tmp_path / "watch.json").write_text("{}")
    with pytest.raises(DefinitionError, match="not a checkpoint"), checkpoint_at(tmp_path, "file:/r", RULES, None):
        pass


def test_what_is_kept_is_private_and_small(tmp_path: Path) -> None:
    """Law: states and alerts are for nobody else to read; only the last two states stay; alerts go where asked."""
    courses: dict[tuple[str, str], AnyCourse] = {("ny", "Trading_VPN"): Course(newest=5.0)}
    with checkpoint_at(tmp_path / "c", "file:/r", RULES, tmp_path / "out") as held:
        for number in range(5):
            held.commit(State(number, courses=courses), [{"id": number}])
        assert held.state() == State(4, courses=courses)
    states = sorted((tmp_path / "c" / "state").iterdir())
    alerts = sorted((tmp_path / "out").iterdir())
    assert [path.name for path in states] == ["0000000003.json", "0000000004.json"]
    assert len(alerts) == 5
    assert {path.stat().st_mode & 0o777 for path in (*states, *alerts)} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "c", tmp_path / "out")} == {0o700}


def test_two_checkpoints_share_a_place_for_alerts(tmp_path: Path) -> None:
    """Law: alerts of another watch are never written over."""
    for name in ("a", "b"):
        with checkpoint_at(tmp_path / name, "file:/r", RULES, tmp_path / "out") as held:
            held.commit(State(0), [{"id": name}])
    assert len(list((tmp_path / "out").iterdir())) == 2


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    """Law: a checkpoint or place for alerts that cannot be made is one sentence."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OutputLost), checkpoint_at(tmp_path / "file", "file:/r", RULES, None):
        pass
    with checkpoint_at(tmp_path / "c", "file:/r", RULES, tmp_path / "file") as held:
        with pytest.raises(OutputLost, match="could not be written"):
            held.commit(State(0), [{"id": "x"}])
        assert held.state() == State()


def test_control_one_look_makes_a_difference() -> None:
    """Negative control: the comparison with the plain fold sees a single reading."""
    files = night()
    files[33] = file_of([Seen(330.0, 3_999)])
    assert brief(fold_all(files).alerts) != NIGHT
