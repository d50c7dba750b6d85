"""One exchange at a time: what goes out, whose cookie it is, and what is never sent twice."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from adapters.http.exchange import Limits, Request
from adapters.http.options import HttpOptions, trust_of
from adapters.http.session import HttpSession
from orchestrator.clock import VirtualClock
from orchestrator.errors import CommandTimedOut, ConnectionLost, Forbidden, Unreachable, UnreadableReply
from simulator.http.server import Incoming, Outgoing
from tests.semp.wire import Handler, Wire

READ = Request("GET", "/SEMP/v2/monitor/a%23b?select=x,y.count", is_read=True)
WRITE = Request("PATCH", "/SEMP/v2/config/", b"{}", "application/json")


class Device:
    """Wants a login once, then knows its cookie until it forgets it."""

    def __init__(self) -> None:
        self.logins = 0
        self.known: set[str] = set()
        self.refuses = False

    def __call__(self, request: Incoming) -> Outgoing:
        cookie = request.headers.get("cookie", "").removeprefix("session=")
        if cookie in self.known:
            return Outgoing(200, b"kept")
        if self.refuses or cookie:
            return Outgoing(401)
        self.logins += 1
        self.known.add(str(self.logins))
        return Outgoing(200, b"new", headers={"Set-Cookie": f"session={self.logins}; Path=/SEMP"})


def session(
    device: Handler,
    proof: str = "Basic YTpi",
    *,
    origin: tuple[str, str, int] = ("http", "127.0.0.1", 8080),
    **more: Any,
) -> tuple[HttpSession, Wire]:
    wire = Wire(device, VirtualClock())
    made = HttpSession(
        "ny1",
        origin,
        proof=lambda: proof,
        trust=trust_of(HttpOptions(scheme="http")),
        limits=Limits(connect_s=1.0, exchange_s=5.0),
        clock=wire.clock,
        transport=wire,
        **more,
    )
    return made, wire


def test_the_target_goes_out_byte_for_byte() -> None:
    """Escapes stay, and commas stay literal: a broker refuses the one and misreads the other."""
    spoken, wire = session(Device())
    spoken.exchange(READ)
    assert wire.sent[0].target == READ.target
    assert "content-type" not in wire.sent[0].headers
    spoken.exchange(WRITE)
    assert (wire.sent[1].headers["content-type"], wire.sent[1].body) == ("application/json", b"{}")


def test_a_transport_of_its_own_needs_no_name() -> None:
    """Nothing is looked up where no connection is made by name: a resolver that does not answer would hold it up."""
    spoken, _ = session(Device(), origin=("http", "ny1.example", 8080))
    asked: list[object] = []
    listening = [True]

    def hear(event: str, question: tuple[object, ...]) -> None:
        if event == "socket.getaddrinfo" and listening:
            asked.append(question)

    sys.addaudithook(hear)  # it cannot be taken away again
    try:
        spoken.exchange(READ)
    finally:
        listening.clear()
    assert not asked


def test_the_cookie_is_kept() -> None:
    """A device has few sessions: ten requests use one of them."""
    device = Device()
    spoken, _ = session(device)
    assert [spoken.exchange(READ).text for _ in range(10)] == ["new"] + ["kept"] * 9
    assert (device.logins, spoken.has_cookie) == (1, True)


def test_a_read_outlives_its_session() -> None:
    """The device has forgotten the cookie: the login alone is tried, once."""
    device = Device()
    spoken, wire = session(device)
    spoken.exchange(READ)
    device.known.clear()
    assert spoken.exchange(READ).text == "new"
    assert len(wire.sent) == 3
    device.known.clear()
    device.refuses = True
    assert spoken.exchange(READ).status == 401
    assert spoken.exchange(READ).status == 401
    assert len(wire.sent) == 6, "a login that was refused is not offered twice for one reading"


def test_a_write_is_never_sent_twice() -> None:
    """Not even when the answer says that it was not obeyed; the next request begins with the login."""
    device = Device()
    spoken, wire = session(device)
    spoken.exchange(READ)
    device.known.clear()
    assert spoken.exchange(WRITE).status == 401
    assert len(wire.sent) == 2
    assert spoken.exchange(READ).text == "new"


def test_a_token_keeps_no_session() -> None:
    """Every request proves itself, and a cookie that comes is left behind."""
    spoken, wire = session(Device(), proof="Bearer t")
    spoken.exchange(READ)
    spoken.exchange(READ)
    assert not spoken.has_cookie
    assert [one.headers.get("cookie") for one in wire.sent] == [None, None]
    assert {one.headers["authorization"] for one in wire.sent} == {"Bearer t"}


def test_what_is_not_allowed_does_not_leave() -> None:
    """The second line of defence of a session that only reads."""
    spoken, wire = session(Device(), allows=lambda request: request.is_read)
    with pytest.raises(Forbidden, match="read-only"):
        spoken.exchange(WRITE)
    assert wire.sent == []


@pytest.mark.parametrize(
    ("failure", "error"),
    [
        (httpx.ConnectError, Unreachable),
        (httpx.ConnectTimeout, Unreachable),
        (httpx.ReadTimeout, CommandTimedOut),
        (httpx.WriteTimeout, CommandTimedOut),
        (httpx.ReadError, ConnectionLost),
        (httpx.RemoteProtocolError, ConnectionLost),
    ],
)
def test_failures_are_ours(failure: type[httpx.HTTPError], error: type[Exception]) -> None:
    """No exception of httpx leaves, and none is tried again here."""
    spoken, wire = session(Device())
    wire.fails = [(True, failure)]
    with pytest.raises(error) as caught:
        spoken.exchange(READ)
    assert isinstance(caught.value.__cause__, failure)
    assert len(wire.sent) == 1


def test_an_impossible_target_is_unreachable() -> None:
    """Nothing can have left."""
    spoken, wire = session(Device())
    with pytest.raises(Unreachable):
        spoken.exchange(Request("GET", "/\u20ac", is_read=True))
    assert wire.sent == []


def test_an_answer_that_does_not_end_in_time_is_over() -> None:
    """Each piece may come in time and the whole never would."""

    class Trickle(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            for _ in range(100):
                clock.advance(1.0)
                yield b"x"

    class Slow(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, stream=Trickle())

    clock = VirtualClock()
    slow = HttpSession(
        "ny1",
        ("http", "127.0.0.1", 1),
        proof=lambda: "Bearer t",
        trust=trust_of(HttpOptions()),
        limits=Limits(1.0, 5.0),
        clock=clock,
        transport=Slow(),
    )
    began = clock.now()
    with pytest.raises(CommandTimedOut):
        slow.exchange(READ)
    assert clock.now() - began == 6.0
    slow.close()


@pytest.mark.parametrize("request_", [READ, WRITE], ids=["read", "change"])
def test_an_answer_that_claims_more_than_is_held(request_: Request) -> None:
    """Law: a length that no answer has is not waited for: the answer is unreadable at once, and the length is shown; a
    change is in doubt then."""

    class Claims(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            return httpx.Response(200, headers={"Content-Length": "99999999999999"}, stream=Never())

    class Never(httpx.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            raise AssertionError("nothing of it is read")

    spoken = HttpSession(
        "ny1",
        ("http", "127.0.0.1", 1),
        proof=lambda: "Bearer t",
        trust=trust_of(HttpOptions()),
        limits=Limits(1.0, 5.0),
        clock=VirtualClock(),
        transport=Claims(),
    )
    with pytest.raises(UnreadableReply, match="99999999999999") as caught:
        spoken.exchange(request_)
    assert "Content-Length: 99999999999999" in caught.value.text
    spoken.close()


def test_redirects_are_not_followed() -> None:
    """The password would go along."""
    spoken, wire = session(lambda request: Outgoing(302, headers={"Location": "http://elsewhere/"}))
    assert spoken.exchange(READ).status == 302
    assert len(wire.sent) == 1
