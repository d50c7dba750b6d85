"""The allowed values of columns whose other values would overflow a sum or are not a date.

The footer of a file has the extremes of each column. If it has none, the column is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.moments import BEGIN_S, END_S
from pipeline.rows import SIZE_MAX

_A_SECOND: Mapping[str, int] = {"ms": 1_000, "us": 1_000_000}


@dataclass(frozen=True, slots=True)
class Beyond:
    """A value that no message can have. A time is in the unit of its column. ``allowed``: a sentence for the operator."""

    column: str
    value: int
    allowed: str


def beyond(parquet: pq.ParquetFile) -> Beyond | None:
    """The first ``Beyond`` value of a file whose columns have the right types; None if there is none."""
    for column, allowed in _ALLOWED.items():
        index = parquet.schema_arrow.get_field_index(column)
        if index < 0:
            continue
        least, most = _bounds(parquet.schema_arrow.field(index).type)
        for value in _extremes(parquet, column):
            if not least <= value <= most:
                return Beyond(column, value, allowed)
    return None


_ALLOWED: Mapping[str, str] = {
    "size": f"a size must be 0 to {SIZE_MAX:,} bytes",
    "spooled_at": "a time must be between the years 1 and 9999",
}


def _bounds(kind: pa.DataType) -> tuple[int, int]:
    if pa.types.is_timestamp(kind):
        return BEGIN_S * _A_SECOND[kind.unit], END_S * _A_SECOND[kind.unit] - 1
    return 0, SIZE_MAX


def _extremes(parquet: pq.ParquetFile, column: str) -> Iterator[int]:
    """Lowest and highest value of each group of rows, as stored; nothing for a group without values."""
    metadata = parquet.metadata
    place = [metadata.schema.column(number).path for number in range(metadata.num_columns)].index(column)
    for number in range(metadata.num_row_groups):
        known = metadata.row_group(number).column(place).statistics
        if known is not None and known.has_min_max:
            yield from (known.min_raw, known.max_raw)
        elif known is None or not known.has_null_count or known.null_count < metadata.row_group(number).num_rows:
            yield from _read_extremes(parquet, number, column)


def _read_extremes(parquet: pq.ParquetFile, group: int, column: str) -> Iterator[int]:
    from pyarrow.compute import min_max

    for batch in parquet.iter_batches(row_groups=[group], columns=[column]):
        found = min_max(batch.column(0).cast(pa.int64())).as_py()
        yield from (value for value in found.values() if value is not None)
