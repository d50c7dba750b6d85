"""Decides how many neighbouring numbers make one bucket of fingerprints.

A bucket has about 256 messages, so a closer check of a difference reads few others. With very many messages, a bucket
has more, so the table of buckets stays small. A sample gives the distance between the numbers of one endpoint. A
misleading sample costs time, but never changes the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import ceil, log2
from statistics import median

import pyarrow.parquet as pq

from pipeline.rows import OPAQUE
from pipeline.sides import Side

MESSAGES_A_BUCKET_LOG2 = 8
# A side has about this many buckets at most, if the distance between its numbers is like that of the sample.
BUCKETS_LOG2 = 17
_SAMPLE = 8_192
_WIDTH_LOG2_MAX = 48


def numbers_log2(left: Side, right: Side) -> int:
    """How many low bits of a number are dropped to get its bucket. Reads the first rows of each side's largest file."""
    gaps = [gap for side in (left, right) for gap in _gaps(side)]
    apart = median(gaps) if gaps else 1
    most = max(1, left.manifest.messages, right.manifest.messages)
    wanted = max(MESSAGES_A_BUCKET_LOG2, ceil(log2(most)) - BUCKETS_LOG2)
    return min(_WIDTH_LOG2_MAX, wanted + round(log2(apart)))


def _gaps(side: Side) -> Iterator[int]:
    """The distances between consecutive numbers of the same stream in the same endpoint."""
    if not side.manifest.files:
        return
    largest = max(side.manifest.files, key=lambda file: file.rows)
    with side.place.child(largest.path).open_input() as stream:
        parquet = pq.ParquetFile(stream)
        batches = parquet.iter_batches(batch_size=_SAMPLE, columns=["endpoint", "kind", "stream", "sequence"])
        first = next(batches, None)  # a file without rows has no batch
        rows = [] if first is None else sorted(zip(*first.to_pydict().values(), strict=True))
    for before, after in pairwise(rows):
        if before[:3] == after[:3] and after[2] != OPAQUE and after[3] > before[3]:
            yield after[3] - before[3]
