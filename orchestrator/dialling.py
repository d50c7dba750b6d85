"""Connections to devices whose names have several addresses, in a bounded time whichever of them are dead.

The system tries the addresses of a name one after the other, with the whole time for each. Here they share it, so that
each is tried, and a name of four dead addresses takes no longer than a device that is dead. Only the look-up of a name
is out of our hands. Must never read or send anything.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence

LookUp = Callable[..., Sequence[object]]
Connect = Callable[..., socket.socket]


def share_of(within_s: float, host: str, port: int, *, look_up: LookUp = socket.getaddrinfo) -> float:
    """Seconds for each address of ``host``, so that all of them together have ``within_s``.

    A name that cannot be looked up has them all: whoever connects finds that out, and says so.
    """
    try:
        addresses = look_up(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return within_s
    return within_s / max(1, len(addresses))


def dial(
    host: str,
    port: int,
    within_s: float,
    *,
    look_up: LookUp = socket.getaddrinfo,
    connect: Connect = socket.create_connection,
) -> socket.socket:
    """A connection. Raises ``OSError``, or ``UnicodeError`` for what can be no name."""
    return connect((host, port), timeout=share_of(within_s, host, port, look_up=look_up))
