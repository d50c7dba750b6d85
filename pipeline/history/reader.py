"""Exported runs and kept checks as Arrow batches of facts, for any engine."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from orchestrator.errors import DefinitionError
from pipeline.history.facts import Fact, facts_of_lines, facts_of_text, unread
from pipeline.places import Place
from pipeline.runs import read_run

PARQUET = ".parquet"
_TYPES = {"simulated": pa.bool_(), "at": pa.float64(), "seconds": pa.float64(), "amount": pa.float64()}
_NAMES = {"at": "moment_s"}
SCHEMA = pa.schema([pa.field(_NAMES.get(name, name), _TYPES.get(name, pa.string())) for name in Fact._fields])


def batch_of(address: str) -> pa.RecordBatch:
    """The facts in one file. An unusable file gives one fact with the reason."""
    return as_batch(_read(address))


def as_batch(facts: Sequence[Fact]) -> pa.RecordBatch:
    """The facts as a table."""
    columns = list(zip(*facts, strict=True)) or [()] * len(SCHEMA)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, SCHEMA, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=SCHEMA)


def _read(address: str) -> list[Fact]:
    place = Place.of(address)
    try:
        if address.endswith(PARQUET):
            return facts_of_lines(address, read_run(place))
        return facts_of_text(address, place.read().decode("utf-8"))
    except DefinitionError as error:
        return [unread(address, str(error).removeprefix(f"{address}: "))]
    except UnicodeDecodeError:
        return [unread(address, "this file is not text")]
