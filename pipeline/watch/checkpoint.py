"""The data that a watch stores between two batches and across kills: a separate directory, of this machine.

::

    CHECKPOINT/watch.json                 the directory of readings, the rules, and an id
    CHECKPOINT/lock                       the lock of the process that watches
    CHECKPOINT/lock-of-spark              the identity of its JVM (``alone``)
    CHECKPOINT/spark/…                    Spark's own files: the files of each batch, and the finished batches
    CHECKPOINT/state/0000000012.json      the courses of all services after batch 12
    CHECKPOINT/alerts/…                   one file of alerts for each batch, unless alerts go to another directory

The number of the batch makes each batch count exactly once. Spark gives an unfinished batch the same files again. Its
alerts are written first, in a file named by its number, then its state, each atomically by a rename. After a kill before
the state, the batch is made again from the former state, and overwrites the same alerts. After a kill after the state,
the state exists and the batch is not made again. The state is in small files, not in Spark's state store: that store
drops late readings silently, its Python interface needs more libraries, and alerts would still have to be written
exactly once.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import chain
from json import dumps, loads
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from orchestrator.errors import DefinitionError, LeaseHeld, OutputLost
from orchestrator.files import write_private
from orchestrator.model.runbook import format_duration
from pipeline.watch.alerts import Alert, AnyCourse
from pipeline.watch.arrivals import Rules
from pipeline.watch.fold import Folded, Key

AGAIN = "use another directory; the watch then starts with all readings that exist"
# The maximum text in a batch (at least one file). It limits the memory for the batch and its alerts.
BATCH_BYTES = 16 << 20
# Names of files that are older than the newest file by this time are forgotten, and such files are no longer read.
# This is four times orchestrator.journal.samples.KEPT_S, so such files are already deleted.
REMEMBERED_S = 28 * 86_400.0
# The operator is informed if there are no readings for this long, in seconds.
SILENT_S = 120.0


@dataclass(slots=True)
class Totals:
    """The counts since the start."""

    lines: int = 0
    unusable: int = 0
    others: int = 0
    alerts: int = 0


@dataclass(slots=True)
class State:
    """All courses after batch number ``batch``; -1 before the first batch."""

    batch: int = -1
    totals: Totals = field(default_factory=Totals)
    courses: dict[Key, AnyCourse] = field(default_factory=dict)

    def after(self, batch: int, folded: Iterable[Folded], alerts: int) -> State:
        """The state after one more batch."""
        totals = Totals(self.totals.lines, self.totals.unusable, self.totals.others, self.totals.alerts + alerts)
        courses = dict(self.courses)
        for one in folded:
            totals.lines += one.lines
            totals.unusable += one.unusable
            totals.others += one.others
            courses |= one.courses
        return State(batch, totals, courses)


@dataclass(frozen=True, slots=True)
class Batch:
    """The outcome of one batch. ``touched``: the services with readings in the batch."""

    number: int
    lines: int
    alerts: list[Alert]
    touched: list[Key]
    state: State


def in_order(alert: Alert) -> tuple[str, str, str]:
    """The sort key for alerts of a batch. Alerts of one queue at one time keep their order."""
    data: dict[str, Any] = alert["data"]
    return alert["time"], data["site"] or "", data["service"] or ""


@dataclass(frozen=True, slots=True)
class _Stored:
    """The stored form of a state: JSON has no keys of two parts."""

    format: Literal[1]
    batch: int
    totals: Totals
    courses: list[tuple[str, str, Annotated[AnyCourse, Field(discriminator="of")]]]


_STORED = TypeAdapter(_Stored)
By = Literal["spark", "loop"]


def encode_state(state: State) -> bytes:
    """A state in its stored form."""
    courses = [(*key, course) for key, course in sorted(state.courses.items())]
    return _STORED.dump_json(_Stored(1, state.batch, state.totals, courses))


def decode_state(data: bytes) -> State:
    """The state in ``data``. Raises ``ValidationError``."""
    stored = _STORED.validate_json(data)
    return State(stored.batch, stored.totals, {(site, service): one for site, service, one in stored.courses})


class _About(BaseModel):
    """``watch.json``. ``by``: Spark or the loop, because they store their progress in different ways."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: Literal[1] = 1
    by: By = "spark"
    id: str
    readings: str
    rules: Rules


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A checkpoint that this process has locked."""

    path: Path
    id: str
    alerts: Path

    @property
    def for_spark(self) -> str:
        """The directory of Spark's part."""
        return f"file:{self.path / 'spark'}"

    def state(self) -> State:
        """The newest state. Raises ``DefinitionError`` when it cannot be read."""
        newest = max(self._states(), default=None)
        if newest is None:
            return State()
        try:
            return decode_state(newest.read_bytes())
        except (OSError, ValidationError) as error:
            raise DefinitionError("the state of a watch cannot be read", file=newest, hint=AGAIN) from error

    def files_of(self, batch: int) -> list[Path]:
        """The files of this machine that Spark's own list assigns to ``batch``, the newest batch.

        Spark 4 writes ``offsets/N``: a version, settings, then for each source a line with the end of the batch in its
        list. It also writes ``sources/0/K``: a version, then a line for each file. Sometimes it writes ``K.compact``,
        which contains all earlier lines too.
        """
        begins, ends = (self._list_end(number) for number in (batch - 1, batch))
        found = []
        for number in range(begins + 1, ends + 1):
            names = (self.path / "spark" / "sources" / "0" / f"{number}{end}" for end in ("", ".compact"))
            listed = next(name for name in names if name.exists())
            entries = [loads(line) for line in listed.read_text("utf-8").splitlines()[1:]]
            found += [urlsplit(entry["path"]) for entry in entries if entry["batchId"] == number]
        return [Path(unquote(one.path)) for one in found if one.scheme == "file"]

    def _list_end(self, batch: int) -> int:
        file = self.path / "spark" / "offsets" / str(batch)
        return int(loads(file.read_text("utf-8").splitlines()[-1])["logOffset"]) if batch >= 0 else -1

    def commit(self, state: State, alerts: Iterable[Alert]) -> None:
        """Write the alerts of a batch, then the state after it. Raises ``OutputLost``."""
        self.write_alerts(state.batch, alerts)
        self.write(self.path / "state", f"{state.batch:010}.json", encode_state(state))
        for old in self._states()[:-2]:
            old.unlink(missing_ok=True)

    def write_alerts(self, batch: int, alerts: Iterable[Alert]) -> None:
        """Write the alerts of a batch, if there are any. Overwrites an existing file of them. Raises ``OutputLost``."""
        lines = [dumps(alert, separators=(",", ":"), ensure_ascii=False) for alert in alerts]
        if lines:
            data = "".join(f"{line}\n" for line in lines).encode("utf-8", "backslashreplace")
            self.write(self.alerts, f"alerts-{self.id}-{batch:010}.jsonl", data)

    def _states(self) -> list[Path]:
        return sorted((self.path / "state").glob("[0-9]*.json"))

    def write(self, folder: Path, name: str, data: bytes) -> None:
        """Write one file, all or nothing. Raises ``OutputLost``."""
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            write_private(folder, name, data)
        except OSError as error:
            raise OutputLost(
                f"{folder / name} could not be written: {error.strerror}",
                hint="fix the cause and start again; the watch continues where it stopped and repeats no alerts",
            ) from error


@contextmanager
def checkpoint_at(
    path: Path, readings: str, rules: Rules, out: Path | None, by: By = "spark"
) -> Iterator[Checkpoint]:
    """The checkpoint in ``path``, locked until the end of the block. ``by`` starts it if it does not exist.

    Raises ``DefinitionError`` for a checkpoint of other readings or rules, ``LeaseHeld`` when another process holds it,
    and ``OutputLost``.
    """
    path = path.absolute()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise OutputLost(f"the checkpoint {path} cannot be used: {error.strerror}") from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LeaseHeld(f"another process uses the checkpoint {path}") from error
        except OSError as error:
            raise OutputLost(f"the checkpoint {path} cannot be locked: {error.strerror}") from error
        about = _about(path, readings, rules, by)
        alerts = path / "alerts" if out is None else out.absolute()
        _sweep(path, alerts, about.id)
        yield Checkpoint(path, about.id, alerts)
    finally:
        os.close(lock)


def _sweep(path: Path, alerts: Path, name: str) -> None:
    """Remove files of a killed process. No other process writes files of these names while this process has the lock."""
    unfinished = (path.glob(".*.unfinished"), (path / "state").glob(".*.unfinished"))
    for file in chain(*unfinished, alerts.glob(f".alerts-{name}-*.unfinished")):
        with suppress(OSError):
            file.unlink()


def begun_by(path: Path) -> By | None:
    """The kind of process that started the checkpoint in ``path``; None if there is no readable checkpoint."""
    try:
        return _About.model_validate_json((path / "watch.json").read_bytes()).by
    except (OSError, ValidationError):
        return None


def _about(path: Path, readings: str, rules: Rules, by: By) -> _About:
    file = path / "watch.json"
    try:
        known = _About.model_validate_json(file.read_bytes()) if file.exists() else None
        if known is None:
            if any(entry.name != "lock" and not entry.name.startswith(".") for entry in path.iterdir()):
                raise DefinitionError(f"{path} is not empty, but it is not a checkpoint of a watch")
            known = _About(by=by, id=secrets.token_hex(4), readings=readings, rules=rules)
            write_private(path, file.name, known.model_dump_json().encode())
    except ValidationError as error:
        raise DefinitionError("this directory is not a checkpoint of a watch", file=file, hint=AGAIN) from error
    except OSError as error:
        raise OutputLost(f"the checkpoint {path} cannot be used: {error.strerror}") from error
    if known.by != by:
        words = {"spark": "--engine spark", "loop": "no --engine"}
        raise DefinitionError(f"the checkpoint {path} was started with {words[known.by]}", hint=AGAIN)
    if known.readings != readings:
        raise DefinitionError(f"the checkpoint {path} belongs to the readings in {known.readings}", hint=AGAIN)
    if known.rules != rules:
        raise DefinitionError(f"the checkpoint {path} was started with {_words(known.rules)}", hint=AGAIN)
    return known


def _words(rules: Rules) -> str:
    told: Mapping[str, float] = {
        "--window": rules.window_s,
        "--stall": rules.stall_s,
        "--late": rules.late_s,
        "--full-within": rules.full_within_s,
    }
    return " ".join(f"{name} {format_duration(seconds)}" for name, seconds in told.items())
