"""Connections are bounded in time, however many addresses a name has."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest

from orchestrator.dialling import dial, share_of


class Network:
    """Names with so many ``addresses``, which keeps what it was asked to connect to."""

    def __init__(self, addresses: int) -> None:
        self.addresses = addresses
        self.connects: list[tuple[object, float]] = []

    def look_up(self, host: str, port: int, **more: object) -> list[object]:
        assert more == {"type": socket.SOCK_STREAM}  # else each address comes once for each kind of socket
        return [(host, port)] * self.addresses

    def connect(self, address: object, *, timeout: float) -> socket.socket:
        self.connects.append((address, timeout))
        raise TimeoutError("timed out")


@pytest.mark.parametrize(("addresses", "each_s"), [(1, 10.0), (4, 2.5), (0, 10.0)])
def test_addresses_share_the_time(addresses: int, each_s: float) -> None:
    """The system gives each address of a name the time it is told, so all of them together have what was meant."""
    network = Network(addresses)
    with pytest.raises(TimeoutError):
        dial("ny1.example", 22, 10.0, look_up=network.look_up, connect=network.connect)
    assert network.connects == [(("ny1.example", 22), each_s)]


@pytest.mark.parametrize("error", [socket.gaierror("no such name"), UnicodeError("label too long")])
def test_a_name_that_is_none(error: Exception) -> None:
    """That it cannot be looked up is found out, and told, by whoever connects."""

    def fails(*question: object, **more: object) -> list[object]:
        raise error

    assert share_of(10.0, "nowhere.example", 22, look_up=fails) == 10.0


@pytest.mark.realtime
def test_a_connection() -> None:
    """The control: somebody who listens is reached."""
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as server,
        closing(dial("127.0.0.1", server.getsockname()[1], 20.0)) as made,
    ):
        assert made.getpeername() == server.getsockname()
