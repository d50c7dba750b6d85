"""Commands that go on until somebody stops them: Ctrl-C and SIGTERM are their ordinary end."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def until_stopped() -> Iterator[None]:
    """Do the block until it ends, or until Ctrl-C or SIGTERM ends it, which is no error."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _stop)
    try:
        yield
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, before)


def _stop(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
