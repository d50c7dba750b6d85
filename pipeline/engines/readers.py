"""Python readers for both engines: they read files in formats that the engines cannot read, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa


def schema_of(what: str) -> pa.Schema:
    """The columns of ``journal``, ``sow`` (dumps of AMPS) or ``facts`` (records of runs, kept checks)."""
    if what == "facts":
        from pipeline.history.reader import SCHEMA

        return SCHEMA
    from pipeline.amps.reader import schema_of as of_dumps

    return of_dumps(what)


def batches_of(what: str, address: str, settings: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """The rows in one file. Raises ``OSError``."""
    if what == "facts":
        from pipeline.history.reader import batch_of

        yield batch_of(address)
        return
    from pipeline.amps.reader import batches_of as of_dump

    yield from of_dump(what, address, settings)
