"""Python's garbage collector while a run is led.

The collector searches for unreachable objects after a number of new objects (by default 700). With a thousand lanes each
search is long, and no lane advances during the search.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_NEW_OBJECTS = 100_000


@contextmanager
def few_collections() -> Iterator[None]:
    """The collector searches less often inside this block."""
    before = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
