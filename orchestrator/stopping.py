"""A request to stop that a signal handler may make.

``threading.Event`` does not do: Python runs a handler between two instructions of the main thread. Where these are in the
middle of ``Event.wait``, that thread holds the event's lock, and ``Event.set`` in the handler waits for it for ever.
``queue.SimpleQueue.put`` is reentrant (Python documentation, queue, SimpleQueue.put).
"""

from __future__ import annotations

import queue
from contextlib import suppress


class Stop:
    """Set once, permanently. One thread waits for it."""

    def __init__(self) -> None:
        self._is_set = False
        self._woken: queue.SimpleQueue[None] = queue.SimpleQueue()

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        """Ask to stop, from any thread or a signal handler."""
        self._is_set = True
        self._woken.put(None)

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, at most ``timeout`` seconds; whether it is set."""
        if not self._is_set:
            with suppress(queue.Empty):
                self._woken.get(timeout=timeout)
        return self._is_set
