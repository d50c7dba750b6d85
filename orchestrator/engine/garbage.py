"""Python's garbage collector while a run is led.

It searches for unreachable objects after so many new ones (by default 700). With a thousand lanes each search is long,
and no lane advances during it.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_NEW_OBJECTS = 100_000


@contextmanager
def few_collections() -> Iterator[None]:
    """It searches less often in the block."""
    before = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
