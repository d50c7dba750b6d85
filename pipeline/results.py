"""Writes results atomically: a partial result never looks like a complete result.

On this machine a result is written to a hidden directory beside its place and moved there at the end. After an error,
the hidden directory is removed. If the process was killed, the next process that writes there removes it. A URI has no
atomic move, so the report is written last: a directory without a report is not a result.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import ComputationFailed, DefinitionError, FailoverError, OutputLost
from pipeline.jvm import jvm_pid
from pipeline.leavings import make, remove, sweep
from pipeline.places import Place

REPORT = "report.json"
_ELSEWHERE = "free space on the disk, or give another directory with --out"
# The system's error messages when a file cannot grow.
_FULL = re.compile("No space left on device|File too large|Disk quota exceeded", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Result:
    """A result that is being written."""

    place: Place

    def table(self, name: str) -> Place:
        """The place of a table with this name."""
        return self.place.child(name)

    def document(self, name: str, data: bytes) -> None:
        """Write one document. The report must be written last."""
        self.place.child(name).write(data)


def check_free(name: str) -> Place:
    """The place ``name``, if it has no result yet and one can be written. Raises ``DefinitionError`` otherwise."""
    place = Place.of(name)
    if not place.is_local:
        if place.child(REPORT).exists():
            raise DefinitionError(f"{name} already holds a result", hint="choose another place")
        return place
    if place.exists() and not _is_empty_directory(place.local):
        raise DefinitionError(f"{name} exists already", hint="choose another directory")
    place.check_can_be_made()
    return place


@contextmanager
def result_at(name: str) -> Iterator[Result]:
    """A result at ``name``, which must not exist yet. Raises ``DefinitionError``, ``OutputLost``."""
    place = check_free(name)
    if not place.is_local:
        yield Result(place)
        return
    target = place.local
    sweep(target.parent, ".*.unfinished")
    beside = target.with_name(f".{target.name}.{os.getpid()}.unfinished")
    growing = beside / target.name
    try:
        _make(growing)
        yield Result(Place.of(str(growing)))
        _move(growing, target)
    except (OutputLost, ComputationFailed) as error:
        lost = _of_target(error, growing, target)
        if lost is None:
            raise
        raise lost from error
    finally:
        remove(beside)


def _is_empty_directory(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())


def _make(growing: Path) -> None:
    try:
        growing.parent.parent.mkdir(parents=True, exist_ok=True)
        make(growing.parent, jvm_pid())
        growing.mkdir()
    except OSError as error:
        raise OutputLost(f"{growing} could not be made: {error.strerror}", hint=_ELSEWHERE) from error


def _move(growing: Path, target: Path) -> None:
    try:
        growing.replace(target)
    except OSError as error:
        raise OutputLost(f"{target} could not be written: {error.strerror}", hint=_ELSEWHERE) from error


def _of_target(error: FailoverError, growing: Path, target: Path) -> OutputLost | None:
    """``error`` with the path and hint of the result; None if it does not concern the result. Users do not know the
    hidden directory, and an engine's message about a full disk has no hint, or the hint for the scratch space."""
    if str(growing) in str(error) and isinstance(error, OutputLost):
        return OutputLost(str(error).replace(str(growing), str(target)), hint=error.hint or _ELSEWHERE)
    full = _FULL.search(f"{error} {error.__cause__}")
    if full is not None and str(growing) in f"{error} {error.__cause__}":
        return OutputLost(f"{target} could not be written: {full[0]}", hint=_ELSEWHERE)
    return None
