"""The tables that a comparison writes, read back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.engines.executor import Executor, Row, Script
from pipeline.history.facts import Fact
from pipeline.history.history import prepare
from pipeline.history.reader import as_batch
from pipeline.places import Place


class Writes(Protocol):
    """An outcome that can be written."""

    @property
    def write(self) -> Callable[[Place], None]:
        """Write its tables into a directory."""
        ...


def tables_of(outcome: Writes, folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Every table of ``outcome``, by name, by way of files in ``folder``."""
    place = folder / uuid4().hex
    place.mkdir()
    outcome.write(Place.of(str(place)))
    return {path.name: pq.read_table(path).to_pylist() for path in place.iterdir()}


def rows_of(outcome: Writes, folder: Path) -> dict[str, list[str]]:
    """The same in no order, each row as a text."""
    return {name: sorted(map(str, rows)) for name, rows in tables_of(outcome, folder).items()}


def tables_of_facts(engine: Executor, facts: Sequence[Fact]) -> Callable[[str], list[Row]]:
    """What makes any table of the history of these facts, by the name of its section."""
    engine.given("facts", pa.Table.from_batches([as_batch(facts)]))
    values = prepare(Script("history", engine))
    return lambda section: Script("history", engine).rows(section, **values)
