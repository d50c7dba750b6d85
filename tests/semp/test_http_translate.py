"""The boundary to httpx: every exception of its has its place, and a doubt is never taken for a no."""

from __future__ import annotations

import ssl

import httpx
import pytest

from adapters.http.translate import FOREIGN, MAPPING, translate
from orchestrator.characters import printable
from orchestrator.errors import (
    CommandTimedOut,
    ConnectionLost,
    HostKeyRejected,
    NotObeyed,
    Unreachable,
    UnreadableReply,
)

NEVER_LEFT = {
    httpx.InvalidURL,
    httpx.UnsupportedProtocol,
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
}


def classes() -> list[type[Exception]]:
    """Every exception class that httpx has."""
    return [one for one in vars(httpx).values() if isinstance(one, type) and issubclass(one, Exception)]


def made(kind: type[Exception]) -> Exception:
    """One of that class, whatever it wants to be made with."""
    if issubclass(kind, httpx.HTTPStatusError):
        request = httpx.Request("GET", "http://a")
        return kind("told", request=request, response=httpx.Response(500, request=request))
    return (
        kind()
        if kind in (httpx.StreamConsumed, httpx.StreamClosed, httpx.ResponseNotRead, httpx.RequestNotRead)
        else kind("told")
    )


@pytest.mark.parametrize("kind", classes(), ids=lambda kind: kind.__name__)
def test_every_exception_of_httpx_is_mapped(kind: type[Exception]) -> None:
    """A class that httpx grows must be given its place here before it can surprise an operator."""
    assert kind in MAPPING
    error = translate(made(kind), device="ny1")
    assert isinstance(made(kind), FOREIGN)
    assert type(error) is MAPPING[kind]
    assert (error.device, "ny1" in str(error)) == ("ny1", True)


def test_only_what_cannot_have_left_says_so() -> None:
    """Everything else may have been obeyed: a write that ended so is in doubt."""
    assert {kind for kind, ours in MAPPING.items() if issubclass(ours, NotObeyed)} == NEVER_LEFT


def test_an_unknown_class_counts_by_its_parent() -> None:
    """A class of a later httpx is at least a broken connection, and never a no."""

    class Novel(httpx.TransportError):
        pass

    class Stranger(Exception):
        pass

    assert type(translate(Novel("?"), device="a")) is ConnectionLost
    assert type(translate(Stranger("?"), device="a")) is ConnectionLost


def test_a_certificate_nobody_trusts_is_no_connection_error() -> None:
    """The device is not the one we mean, and the sentence says what to do about it."""
    cause = ssl.SSLCertVerificationError(1, "certificate verify failed")
    cause.verify_message = "self-signed certificate"
    error = httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED]")
    error.__cause__ = OSError("inner")
    error.__cause__.__cause__ = cause
    found = translate(error, device="ny1")
    assert type(found) is HostKeyRejected
    assert "self-signed certificate" in str(found)
    assert "ca_file" in found.hint


def test_the_innermost_word_is_told() -> None:
    """httpx wraps what the system said; the operator gets the system's word."""
    error = httpx.ConnectError("All connection attempts failed")
    error.__cause__ = ConnectionRefusedError(111, "Connection refused")
    assert str(translate(error, device="ny1")) == "ny1 cannot be reached over HTTP: Connection refused"


def test_an_exchange_we_cut_off_is_over_time() -> None:
    """Whatever exception our own cut causes; but a connection that was never made stays unreachable."""
    assert type(translate(httpx.ReadError("x"), device="a", is_over_time=True)) is CommandTimedOut
    assert type(translate(httpx.ConnectError("x"), device="a", is_over_time=True)) is Unreachable


def test_texts_of_strangers_are_tamed() -> None:
    """No control character of a device reaches a terminal, and nothing endless."""
    assert printable("a\x1b[2J\r\nb") == "a [2J b"
    assert len(printable("x" * 1000)) == 300
    found = translate(httpx.DecodingError("bad\x07"), device="a")
    assert isinstance(found, UnreadableReply)
    assert "\x07" not in str(found)
