"""The record of a running collection: which files count, which endpoints are done, where to continue.

The record has one JSON object a line. Each line is on disk before the next message is read. A partly written last line
does not count. Its files are removed, like every other file that no line names.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.errors import DefinitionError, LeaseHeld, OutputLost
from pipeline.manifest import NAME as MANIFEST
from pipeline.manifest import CensusModel, DataFile, EndpointSnapshot, Manifest, UnreadDump
from pipeline.places import MAKE_ROOM, write_whole
from pipeline.rows import Cursor, EndpointKey, Kind

NAME = "_commits.jsonl"
QUARANTINE = "quarantine"
_OURS = ("site=*/**/*.parquet", "site=*/**/.part-*", f"{QUARANTINE}/*", f".{MANIFEST}.*")


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Opening(_Strict):
    """The first line: the site, the run and the dumps (if any) of this collection. A collection whose first line differs
    is not resumed."""

    site: str
    run: str | None = None
    dumps: str | None = None
    started_at: float


class Halfway(_Strict):
    """An endpoint that was partly read."""

    service: str
    name: str
    kind: Kind
    position: int
    message_id: str
    messages: int
    taken_from: float
    censuses: tuple[CensusModel, ...]

    @property
    def key(self) -> EndpointKey:
        """Which one."""
        return EndpointKey(self.service, self.name, self.kind)

    @property
    def cursor(self) -> Cursor:
        """The message after which reading continues."""
        return Cursor(self.position, self.message_id)


class Counted(_Strict):
    """The number of messages of one endpoint found so far."""

    service: str
    name: str
    kind: Kind
    messages: int

    @property
    def key(self) -> EndpointKey:
        """Which one."""
        return EndpointKey(self.service, self.name, self.kind)


class DumpMark(_Strict):
    """How far dumps were read, and what was found up to there. ``done`` dumps were read whole. In the next dump,
    ``found`` records were read up to ``offset``. ``begins``: the oldest entry of each service's log, in microseconds."""

    done: int
    offset: int = 0
    found: int = 0
    endpoints: tuple[Counted, ...] = ()
    begins: dict[str, int] = Field(default_factory=dict)
    left_aside: dict[str, int] = Field(default_factory=dict)
    unread: tuple[UnreadDump, ...] = ()


class Commit(_Strict):
    """The data that one commit made durable. ``halfway``: the endpoint that was partly read at the commit. ``mark``: the
    position in the dumps. ``quarantine``: files with the input that could not be read."""

    files: tuple[DataFile, ...] = ()
    endpoints: tuple[EndpointSnapshot, ...] = ()
    halfway: Halfway | None = None
    mark: DumpMark | None = None
    quarantine: tuple[DataFile, ...] = ()
    next_file: int


class CommitLog:
    """The record of one directory. It locks the directory against every other process until it is closed."""

    def __init__(self, directory: Path, opening: Opening) -> None:
        """Start a collection in ``directory``, or continue with the one that is there.

        Raises ``LeaseHeld`` when another process collects into it, ``DefinitionError`` when the directory holds another
        collection, or an export that has ended.
        """
        self._directory = directory
        self._stream = _held(directory / NAME)
        try:
            lines = _whole_lines(self._stream)
            self.opening = _opening(lines, opening, directory) if lines else opening
            self.commits = _commits(lines[1:], directory / NAME)
            if not lines:
                self._begin(opening)
        except BaseException:
            self._stream.close()
            raise

    @property
    def files(self) -> list[DataFile]:
        """Every file that counts."""
        return [file for commit in self.commits for file in commit.files]

    @property
    def endpoints(self) -> list[EndpointSnapshot]:
        """Every endpoint that was read completely."""
        return [endpoint for commit in self.commits for endpoint in commit.endpoints]

    @property
    def halfway(self) -> Halfway | None:
        """The endpoint to continue with first."""
        return self.commits[-1].halfway if self.commits else None

    @property
    def mark(self) -> DumpMark | None:
        """The position in the dumps to continue from."""
        return self.commits[-1].mark if self.commits else None

    @property
    def quarantine(self) -> list[DataFile]:
        """Every file with input that could not be read."""
        return [file for commit in self.commits for file in commit.quarantine]

    @property
    def next_file(self) -> int:
        """The number of the next file."""
        return self.commits[-1].next_file if self.commits else 1

    def commit(self, commit: Commit) -> None:
        """Write the commit to disk. Raises ``OutputLost``."""
        self._append(commit)
        self.commits.append(commit)

    def sweep(self) -> int:
        """Remove every data file that no line names, and a partly written manifest. Returns the number of removed
        files."""
        named = {self._directory / file.path for file in (*self.files, *self.quarantine)}
        strays = {path for pattern in _OURS for path in self._directory.glob(pattern)} - named
        for path in strays:
            path.unlink()
        return len(strays)

    def end(self, manifest: Manifest) -> Manifest:
        """Write the manifest, which contains all facts of this record, and remove the record. Raises ``OutputLost``."""
        try:
            write_whole(self._directory / MANIFEST, manifest.encoded())
        except OSError as error:
            raise _lost(self._directory / MANIFEST, error) from error
        (self._directory / NAME).unlink(missing_ok=True)  # another process may have removed it
        return manifest

    def _begin(self, opening: Opening) -> None:
        """Start the record. The manifest is searched only now: before we held the lock, another process could end its
        export."""
        if (self._directory / MANIFEST).exists():
            (self._directory / NAME).unlink(missing_ok=True)
            raise _finished(self._directory)
        self._append(opening)

    def close(self) -> None:
        """Release the directory for other processes."""
        with suppress(OSError):  # closing tries a failed append again; the first failure was reported
            self._stream.close()

    def _append(self, line: BaseModel) -> None:
        try:
            self._stream.write(line.model_dump_json(exclude_none=True).encode() + b"\n")
            self._stream.flush()
            os.fsync(self._stream.fileno())
        except OSError as error:
            raise _lost(self._directory / NAME, error) from error


@contextmanager
def collecting(directory: Path, opening: Opening) -> Iterator[CommitLog]:
    """The record of a collection into ``directory``, started or resumed. Files that no line names are removed.
    A collection that was killed after it wrote its manifest, but before it removed its record, is ended again.

    Raises ``DefinitionError`` when the directory holds an export that has ended, and the errors of ``CommitLog``.
    """
    if (directory / MANIFEST).exists() and not (directory / NAME).exists():
        raise _finished(directory)
    with closing(CommitLog(directory, opening)) as log:
        log.sweep()
        yield log


def _lost(path: Path, error: OSError) -> OutputLost:
    return OutputLost(f"{path} could not be written: {error.strerror}", hint=MAKE_ROOM)


def _finished(directory: Path) -> DefinitionError:
    return DefinitionError(f"{directory} already has a finished export", hint="collect into a new directory")


def _held(path: Path) -> BinaryIO:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = path.open("a+b")
    except OSError as error:
        raise _lost(path, error) from error
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        stream.close()
        raise LeaseHeld(f"another process is collecting into {path.parent}") from error
    except OSError as error:
        stream.close()
        raise OutputLost(f"{path} cannot be locked: {error.strerror}") from error
    return stream


def _whole_lines(stream: BinaryIO) -> list[bytes]:
    """The lines that were written completely. Anything after them is cut off."""
    stream.seek(0)
    data = stream.read()
    end = data.rfind(b"\n") + 1
    stream.truncate(end)
    stream.seek(end)
    return data[:end].splitlines()


def _opening(lines: Sequence[bytes], wanted: Opening, directory: Path) -> Opening:
    try:
        found = Opening.model_validate_json(lines[0])
    except ValidationError as error:
        raise DefinitionError("this file is not the record of a collection", file=directory / NAME, line=1) from error
    if (found.site, found.run) != (wanted.site, wanted.run):
        raise DefinitionError(
            f"{directory} has an unfinished collection of site {found.site}, run {found.run or 'none'}",
            hint="choose another directory, or finish that collection",
        )
    if found.dumps != wanted.dumps:
        raise DefinitionError(
            f"{directory} has an unfinished collection of other dumps, or the dumps have changed since it started",
            hint="choose another directory",
        )
    return found


def _commits(lines: Sequence[bytes], file: Path) -> list[Commit]:
    found = []
    for number, line in enumerate(lines, start=2):
        try:
            found.append(Commit.model_validate(json.loads(line)))
        except (ValueError, RecursionError) as error:  # a ValidationError is a ValueError
            raise DefinitionError(
                "this line is not a line of a collection's record", file=file, line=number
            ) from error
    return found
