"""Writes results so that no one ever takes half of one for a whole.

On this machine a result grows in a hidden directory beside its place and is moved there at the end; when it breaks
off, that directory is removed, and that of a killed process by the next one that writes there. At a URI, where nothing
can be moved at once, the report is written last: a directory without one is no result.
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
_ELSEWHERE = "make room on its disk, or give another directory with --out"
# How the system says that a file cannot grow.
_FULL = re.compile("No space left on device|File too large|Disk quota exceeded", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Result:
    """A result that is being written."""

    place: Place

    def table(self, name: str) -> Place:
        """Where a table of this name goes."""
        return self.place.child(name)

    def document(self, name: str, data: bytes) -> None:
        """One document. The report comes last."""
        self.place.child(name).write(data)


def check_free(name: str) -> Place:
    """The place ``name``, at which there is no result yet, and could be one. Raises ``DefinitionError``."""
    place = Place.of(name)
    if not place.is_local:
        if place.child(REPORT).exists():
            raise DefinitionError(f"{name} holds a result already", hint="choose another place")
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
    """``error`` as one of the result, None where it is none: no one knows the hidden directory in which it grew, and
    what an engine says of a full disk there names no remedy, or that of the scratch space."""
    if str(growing) in str(error) and isinstance(error, OutputLost):
        return OutputLost(str(error).replace(str(growing), str(target)), hint=error.hint or _ELSEWHERE)
    full = _FULL.search(f"{error} {error.__cause__}")
    if full is not None and str(growing) in f"{error} {error.__cause__}":
        return OutputLost(f"{target} could not be written: {full[0]}", hint=_ELSEWHERE)
    return None
