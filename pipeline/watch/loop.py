"""Follows kept looks in this process only: a listing of a directory, a fold, a transaction.

Each look has some hundred bytes and arrives every few seconds, so one process can read the looks of many sites in one
directory. Spark does the same for a directory that is too large for one process (``pipeline.watch.stream``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from orchestrator.clock import Clock
from orchestrator.errors import ComputationFailed, DefinitionError
from orchestrator.stopping import Stop
from pipeline.watch.arrivals import Rules
from pipeline.watch.checkpoint import BATCH_BYTES, REMEMBERED_S, SILENT_S, Batch, State, in_order
from pipeline.watch.fold import fold
from pipeline.watch.kept import Kept

_ENDING = ".jsonl"
_HINT = "fix the cause and start again; the watch continues where it stopped"


@dataclass(frozen=True, slots=True)
class _File:
    """The file of one look. ``written_at``: seconds since the epoch."""

    path: Path
    written_at: float
    size: int


@dataclass(frozen=True, slots=True)
class _Line:
    """One line of a kept look, as ``pipeline.watch.fold.Row``."""

    name: str
    written_at: float
    number: int
    text: str
    site: str | None
    service: str | None


def follow_here(
    readings: Path,
    kept: Kept,
    rules: Rules,
    *,
    every_s: float | None,
    clock: Clock,
    stop: Stop,
    say: Callable[[str], None],
    batch_bytes: int = BATCH_BYTES,
) -> Iterator[Batch]:
    """Yield each batch after it is written, with the same results as ``pipeline.watch.stream.follow``."""
    state = kept.state()
    yield Batch(state.batch, 0, [], [], state)
    known, heard_at, is_silent = kept.names(), clock.now(), False
    while not stop.is_set():
        for files in _batches(_new(readings, known, kept.newest()), batch_bytes):
            batch = _read(files, state, kept, rules)
            if batch is not None:
                state = batch.state
                yield batch
            known |= {file.path.name for file in files}
            heard_at, is_silent = clock.now(), False
            if stop.is_set():
                break
        else:
            if every_s is None:
                return
            if not is_silent and clock.now() - heard_at > SILENT_S:
                is_silent = True
                say(f"no new readings in {readings} for {SILENT_S:.0f}s; check that `failover watch` still runs")
            stop.wait(every_s)
    if every_s is None:
        raise ComputationFailed(
            "the watch stopped before it had read everything", hint="start it again; it continues where it stopped"
        )


def _new(readings: Path, known: set[str], newest: float) -> list[_File]:
    """The looks that were not read yet, in the order of writing. Looks that are older than the youngest read look by
    ``REMEMBERED_S`` are left out, because their names may have been forgotten."""
    found = []
    try:
        with os.scandir(readings) as entries:
            for entry in entries:
                hidden = entry.name.startswith((".", "_"))
                if hidden or not entry.name.endswith(_ENDING) or entry.name in known or not entry.is_file():
                    continue
                told = entry.stat()
                if told.st_mtime >= newest - REMEMBERED_S:
                    found.append(_File(Path(entry.path), told.st_mtime, told.st_size))
    except OSError as error:
        raise DefinitionError(
            f"this directory cannot be read: {error.strerror}", file=readings, hint="fix the cause and start again"
        ) from error
    return sorted(found, key=lambda one: (one.written_at, one.path.name))


def _batches(files: Sequence[_File], batch_bytes: int) -> Iterator[list[_File]]:
    """Split the files into batches of at most ``batch_bytes`` (at least one file). The limit bounds the memory for a
    batch and its alerts."""
    batch: list[_File] = []
    size = 0
    for file in files:
        if batch and size + file.size > batch_bytes:
            yield batch
            batch, size = [], 0
        batch.append(file)
        size += file.size
    if batch:
        yield batch


def _read(files: Sequence[_File], before: State, kept: Kept, rules: Rules) -> Batch | None:
    """Read and commit one batch. Files that were removed in the meantime are ignored. None if no file is left."""
    there: dict[str, float] = {}
    lines: list[_Line] = []
    for file in files:
        text = _text(file.path)
        if text is not None:
            there[file.path.name] = file.written_at
            lines += _lines(file, text)
    if not there:
        return None
    lines.sort(key=lambda one: (one.site or "", one.service or "", one.written_at, one.name, one.number))
    folded = list(fold(lines, before.courses, rules))
    alerts = sorted(chain.from_iterable(one.alerts for one in folded), key=in_order)
    state = before.after(before.batch + 1, folded, len(alerts))
    kept.commit(state, alerts, there)
    kept.forget(kept.newest() - REMEMBERED_S)
    touched = sorted(chain.from_iterable(one.courses for one in folded))
    return Batch(state.batch, len(lines), alerts, touched, state)


def _text(path: Path) -> str | None:
    try:
        return path.read_bytes().decode("utf-8", "replace")
    except FileNotFoundError:
        return None
    except OSError as error:
        why = "permission denied" if isinstance(error, PermissionError) else error.strerror
        raise DefinitionError(f"this file cannot be read: {why}", file=path, hint=_HINT) from error


def _lines(file: _File, text: str) -> Iterator[_Line]:
    for number, line in enumerate(text.split("\n")):
        if line:
            yield _Line(file.path.name, file.written_at, number, line, *_whose(line))


def _whose(line: str) -> tuple[str | None, str | None]:
    """Site and service of a line; None if the line is not JSON with these fields."""
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return None, None
    if not isinstance(told, dict):
        return None, None
    site, service = told.get("site"), told.get("service")
    return site if isinstance(site, str) else None, service if isinstance(service, str) else None
