"""How many neighbouring numbers make one bucket of fingerprints.

About 256 messages: few, so that little is read around a difference; where there are very many messages more, so that
the table of buckets stays small. How far apart the numbers of one endpoint are is judged by a sample. A sample that
misleads costs time; it never changes what is found.
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
# A side is cut into about so many buckets at most, as long as its numbers are as far apart as those of the sample.
BUCKETS_LOG2 = 17
_SAMPLE = 8_192
_WIDTH_LOG2_MAX = 48


def numbers_log2(left: Side, right: Side) -> int:
    """So many bits of a number are left out to tell its bucket; reads the first rows of each side's largest file."""
    gaps = [gap for side in (left, right) for gap in _gaps(side)]
    apart = median(gaps) if gaps else 1
    most = max(1, left.manifest.messages, right.manifest.messages)
    wanted = max(MESSAGES_A_BUCKET_LOG2, ceil(log2(most)) - BUCKETS_LOG2)
    return min(_WIDTH_LOG2_MAX, wanted + round(log2(apart)))


def _gaps(side: Side) -> Iterator[int]:
    """From one number to the next of the same stream in the same endpoint."""
    if not side.manifest.files:
        return
    largest = max(side.manifest.files, key=lambda file: file.rows)
    with side.place.child(largest.path).open_input() as stream:
        parquet = pq.ParquetFile(stream)
        batches = parquet.iter_batches(batch_size=_SAMPLE, columns=["endpoint", "kind", "stream", "sequence"])
        first = next(batches, None)  # a file without rows has none
        rows = [] if first is None else sorted(zip(*first.to_pydict().values(), strict=True))
    for before, after in pairwise(rows):
        if before[:3] == after[:3] and after[2] != OPAQUE and after[3] > before[3]:
            yield after[3] - before[3]
