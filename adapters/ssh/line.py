"""The interface below a shell session: it sends and receives bytes, and tells whether it is open.

The product implements it with paramiko (``connect``), the tests with a scripted device. This module knows no prompts
and no commands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Line(Protocol):
    """One open terminal line to a device."""

    @property
    def is_open(self) -> bool:
        """False once either side closed it. True proves nothing: in a partition a dead line looks open."""
        ...

    def send(self, data: bytes) -> None:
        """Send all of ``data``.

        Raises ``Unreachable`` if the line was closed before and nothing was sent, ``ConnectionLost`` if some of it may
        have been sent.
        """
        ...

    def receive(self, within_s: float) -> bytes:
        """The next bytes, or ``b""`` when none came within ``within_s`` seconds (0: only what is here already).

        Raises ``ConnectionLost`` at the end of the stream.
        """
        ...

    def close(self) -> None:
        """End the line; never raises."""
        ...


Connect = Callable[[], Line]
"""Makes a new line. Raises ``Unreachable``, ``AuthenticationFailed`` or ``HostKeyRejected``."""
