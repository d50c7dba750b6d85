"""The algorithm of ``bench.reconcile`` as an operator with DuckDB knowledge would type it, in a separate process."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

from bench._text import DRILL, FINGERPRINTS, SEEN


def found(left: Path, right: Path, width: int) -> dict[str, int]:
    """The numbers of missing, extra, duplicate, changed and displaced messages."""
    with duckdb.connect() as connection:
        for number, side in enumerate((left, right)):
            connection.execute(
                f"CREATE VIEW side{number} AS SELECT {number} AS side, service, endpoint, kind, stream, sequence,"
                f" sequence >> {width} AS bucket, message_id, position, digest"
                f" FROM read_parquet('{side}/site=*/**/*.parquet', hive_partitioning = true)"
            )
        connection.execute(FINGERPRINTS.format(width=width))
        row = connection.execute(DRILL).fetchone()
    assert row is not None
    return dict(zip((*SEEN, "displaced"), row, strict=True))


if __name__ == "__main__":
    print(found(Path(sys.argv[1]), Path(sys.argv[2]), 8))
