"""Writes results so that nobody ever takes half of one for a whole.

On this machine a result grows in a hidden directory beside its place and is moved there at the end; when it breaks
off, that directory is removed, and that of a killed process by the next one that writes there. At a URI, where nothing
can be moved at once, the report is written last: a directory without one is no result.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import DefinitionError, OutputLost
from pipeline.jvm import jvm_pid
from pipeline.leavings import make, remove, sweep
from pipeline.places import Place

REPORT = "report.json"


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
        raise OutputLost(f"{growing} could not be made: {error.strerror}") from error


def _move(growing: Path, target: Path) -> None:
    try:
        growing.replace(target)
    except OSError as error:
        raise OutputLost(f"{target} could not be written: {error.strerror}") from error
