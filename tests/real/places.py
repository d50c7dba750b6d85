"""Where the server of a site runs: on the loopback interface, or in a network namespace."""

from __future__ import annotations

import socket
import time
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.network.spaces import Spaces


def wait_for(happened: Any, longest_s: float = 60.0) -> None:
    """Wait until it is so, and not for ever."""
    end = time.monotonic() + longest_s
    while not happened():
        if time.monotonic() > end:
            pytest.fail("it never happened")
        time.sleep(0.02)


def free_ports(number: int) -> list[int]:
    """Ports of this machine that nothing listens at."""
    with_each = [socket.socket() for _ in range(number)]
    try:
        for one in with_each:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in with_each]
    finally:
        for one in with_each:
            one.close()


@dataclass
class Place:
    """A site. ``spaces``: its server is in the one of its name."""

    name: str
    spaces: Spaces | None = field(default=None, kw_only=True)

    def inside(self) -> AbstractContextManager[None]:
        """This thread is where the server is: with what it starts, and with the sessions that it opens."""
        return nullcontext() if self.spaces is None else self.spaces.inside(self.name)

    @property
    def listens_at(self) -> str:
        """The address of the server."""
        return "127.0.0.1" if self.spaces is None else "0.0.0.0"
