"""Connections of HTTP: by address, in the name that was meant."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import httpcore
import pytest

from adapters.http.exchange import Limits, Request
from adapters.http.options import HttpOptions, trust_of
from adapters.http.session import HttpSession
from adapters.http.transport import EXCEPTIONS
from orchestrator.clock import Clock, SystemClock, VirtualClock
from orchestrator.errors import ConnectionLost, Unreachable
from orchestrator.family.connect import LookUp
from simulator.http.certificates import Authority
from simulator.http.server import HttpServer, Incoming, Outgoing

pytestmark = pytest.mark.realtime

READ = Request("GET", "/about", is_read=True)


class Resolver:
    """Knows one name; keeps what it was asked."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses
        self.asked: list[object] = []

    def __call__(self, host: str, port: int, **more: object) -> list[tuple[object, ...]]:
        self.asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in self.addresses]


@pytest.fixture
def server() -> Iterator[HttpServer]:
    """Answers with the name by which it was asked; ``/drop`` is not answered."""

    def answer(request: Incoming) -> Outgoing:
        return Outgoing(200, request.headers["host"].encode(), mishap="drop" if request.target == "/drop" else None)

    made = HttpServer(answer)
    made.start()
    yield made
    made.stop()


def session(
    port: int,
    look_up: LookUp,
    *,
    connect_s: float = 20.0,
    clock: Clock | None = None,
    origin: tuple[str, str, int] | None = None,
    trust: ssl.SSLContext | None = None,
) -> HttpSession:
    return HttpSession(
        "ny1",
        origin or ("http", "ny1.example", port),
        proof=lambda: "Bearer t",
        trust=trust or trust_of(HttpOptions(scheme="http")),
        limits=Limits(connect_s=connect_s, exchange_s=20.0),
        clock=clock or SystemClock(),
        look_up=look_up,
    )


def test_a_name_is_looked_up_once_for_a_connection(server: HttpServer) -> None:
    """Not for each exchange, and not by the library a second time, which does not know the name; the device is told
    the name, not the address. A new connection asks anew: the device may have moved."""
    port, resolver = server.address[1], Resolver("127.0.0.1")
    with closing(session(port, resolver)) as spoken:
        assert [spoken.exchange(READ).text for _ in range(3)] == [f"ny1.example:{port}"] * 3
        assert resolver.asked == ["ny1.example"]
        spoken.close()
        assert spoken.exchange(READ).status == 200
    assert resolver.asked == ["ny1.example"] * 2


def test_an_address_that_refuses_is_left_for_the_next(server: HttpServer) -> None:
    """The server listens at one address of the two."""
    with closing(session(server.address[1], Resolver("127.0.0.2", "127.0.0.1"))) as spoken:
        assert spoken.exchange(READ).status == 200


def test_the_time_of_an_answer_begins_with_its_connection() -> None:
    """A name that took fifteen seconds to look up, and an answer that took ten, are both within twenty."""
    clock = VirtualClock()

    def look_up(host: str, port: int, **more: object) -> list[tuple[object, ...]]:
        clock.advance(15.0)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    def answer(request: Incoming) -> Outgoing:
        clock.advance(10.0)
        return Outgoing(200, b"late, and in time")

    made = HttpServer(answer)
    made.start()
    try:
        with closing(session(made.address[1], look_up, clock=clock)) as spoken:
            assert spoken.exchange(READ).text == "late, and in time"
    finally:
        made.stop()


@pytest.mark.parametrize(("takes_s", "is_reached"), [(19.0, True), (20.0, False)])
def test_tls_shares_the_time_of_a_connection(tmp_path: Path, takes_s: float, is_reached: bool) -> None:
    """It has what the look-up and the dialling left, and not as much once more; where that is nothing, no one waits."""
    authority, clock = Authority.at(tmp_path), VirtualClock()

    def look_up(host: str, port: int, **more: object) -> list[tuple[object, ...]]:
        clock.advance(takes_s)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    made = HttpServer(lambda request: Outgoing(200), tls=authority.server_context("127.0.0.1"))
    made.start()
    trust = trust_of(HttpOptions(ca_file=str(authority.ca_file)))
    origin = ("https", "127.0.0.1", made.address[1])
    try:
        with closing(session(made.address[1], look_up, clock=clock, origin=origin, trust=trust)) as spoken:
            if is_reached:
                assert spoken.exchange(READ).status == 200
            else:
                with pytest.raises(Unreachable, match="no answer in time"):
                    spoken.exchange(READ)
    finally:
        made.stop()


def test_nobody_at_any_address(server: HttpServer) -> None:
    """Unreachable: nothing can have left."""
    with (
        closing(session(server.address[1], Resolver("127.0.0.2", "127.0.0.3"))) as spoken,
        pytest.raises(Unreachable, match="Connection refused"),
    ):
        spoken.exchange(READ)


def test_a_connection_that_breaks(server: HttpServer) -> None:
    """The library's own exceptions stay inside, and what was sent may have been obeyed."""
    with closing(session(server.address[1], Resolver("127.0.0.1"))) as spoken, pytest.raises(ConnectionLost):
        spoken.exchange(Request("GET", "/drop", is_read=True))


def test_a_resolver_that_never_answers() -> None:
    """Unreachable within the time of a connection; the sentence names the host and the resolver."""

    def look_up(*question: object, **more: object) -> list[tuple[object, ...]]:
        threading.Event().wait()
        raise AssertionError("nobody sets it")

    with (
        closing(session(1, look_up, connect_s=0.05)) as spoken,
        pytest.raises(Unreachable, match=r"resolver did not answer .* ny1\.example"),
    ):
        spoken.exchange(READ)


def test_a_name_that_is_none() -> None:
    """What the resolver says of it stands in the sentence."""

    def look_up(*question: object, **more: object) -> list[tuple[object, ...]]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with (
        closing(session(1, look_up)) as spoken,
        pytest.raises(Unreachable, match="Name or service not known"),
    ):
        spoken.exchange(READ)


def test_all_exceptions_of_the_library_are_known() -> None:
    """One that it grows would leave as it is. ``ConnectionNotAvailable`` stays within its pool."""
    public = {getattr(httpcore, name) for name in httpcore.__all__}
    found = {one for one in public if isinstance(one, type) and issubclass(one, Exception)}
    assert found == {*EXCEPTIONS, httpcore.ConnectionNotAvailable}
