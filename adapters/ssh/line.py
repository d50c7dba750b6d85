"""The narrow seam under a shell session: bytes out, bytes in, closed or not.

paramiko is behind it in the product (``connect``); a scripted device is behind it in the tests. Nothing here knows
prompts or commands.
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

        Raises ``Unreachable`` when the line was closed before, so that nothing left; ``ConnectionLost`` when some of
        it may have left.
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
