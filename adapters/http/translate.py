"""The boundary to httpx: only this module turns the exceptions of httpx into errors of this program.

The mapping is a table, and a test fails if httpx has an exception class that is not in it. Each entry tells whether the
request can have been sent. If that is not certain, it may have been sent. No sentence made here contains a credential:
httpx's texts contain none, and no header is added.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterator, Mapping

import httpx

from orchestrator.characters import printable
from orchestrator.errors import (
    AdapterError,
    CommandTimedOut,
    ConnectionLost,
    HostKeyRejected,
    Unreachable,
    UnreadableReply,
)

# The exceptions that httpx may raise, and those that its transports let through.
FOREIGN: tuple[type[Exception], ...] = (
    httpx.HTTPError,
    httpx.InvalidURL,
    httpx.CookieConflict,
    httpx.StreamError,
    OSError,
    ValueError,
)

MAPPING: Mapping[type[Exception], type[AdapterError]] = {
    # Before anything of the request can have been sent.
    httpx.InvalidURL: Unreachable,
    httpx.UnsupportedProtocol: Unreachable,
    httpx.ConnectError: Unreachable,
    httpx.ConnectTimeout: Unreachable,
    httpx.PoolTimeout: Unreachable,
    httpx.ProxyError: Unreachable,
    # No complete answer in time.
    httpx.TimeoutException: CommandTimedOut,
    httpx.ReadTimeout: CommandTimedOut,
    httpx.WriteTimeout: CommandTimedOut,
    # The session broke, or the two sides no longer understand each other.
    httpx.HTTPError: ConnectionLost,
    httpx.RequestError: ConnectionLost,
    httpx.TransportError: ConnectionLost,
    httpx.NetworkError: ConnectionLost,
    httpx.ReadError: ConnectionLost,
    httpx.WriteError: ConnectionLost,
    httpx.CloseError: ConnectionLost,
    httpx.ProtocolError: ConnectionLost,
    httpx.LocalProtocolError: ConnectionLost,
    httpx.RemoteProtocolError: ConnectionLost,
    httpx.StreamError: ConnectionLost,
    httpx.StreamConsumed: ConnectionLost,
    httpx.StreamClosed: ConnectionLost,
    httpx.ResponseNotRead: ConnectionLost,
    httpx.RequestNotRead: ConnectionLost,
    # The device answered, and the answer cannot be used.
    httpx.DecodingError: UnreadableReply,
    httpx.TooManyRedirects: UnreadableReply,
    httpx.HTTPStatusError: UnreadableReply,
    httpx.CookieConflict: UnreadableReply,
}


def translate(error: Exception, *, device: str, is_over_time: bool = False) -> AdapterError:
    """The error of this program for ``error``. ``is_over_time``: this program ended the exchange because its time was
    over."""
    why = _words(error)
    untrusted = next((one for one in _causes(error) if isinstance(one, ssl.SSLCertVerificationError)), None)
    if untrusted is not None:
        return HostKeyRejected(
            f"the certificate of {device} is not trusted: {untrusted.verify_message}",
            device=device,
            hint="set ca_file to the CA that signed the certificate; the certificate must contain the device's address",
        )
    kind = _kind(error)
    if kind is Unreachable:
        return Unreachable(f"{device} cannot be reached over HTTP: {why}", device=device)
    if is_over_time or kind is CommandTimedOut:
        return CommandTimedOut(f"{device} did not answer in time", device=device)
    if kind is UnreadableReply:
        return UnreadableReply(f"the answer of {device} cannot be read: {why}", text=why, device=device)
    return ConnectionLost(f"the connection to {device} was lost: {why}", device=device)


def _kind(error: Exception) -> type[AdapterError]:
    return next((MAPPING[known] for known in type(error).__mro__ if known in MAPPING), ConnectionLost)


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def _words(error: Exception) -> str:
    """The text of the innermost cause, on one line: httpx wraps the texts of the operating system and of OpenSSL."""
    for cause in reversed(list(_causes(error))):
        reason = getattr(cause, "reason", None)  # an error that OpenSSL did not raise has none
        if isinstance(cause, ssl.SSLError) and reason:
            return f"TLS: {reason.replace('_', ' ').lower()}"
        if isinstance(cause, OSError) and cause.strerror:
            return printable(cause.strerror)
    if isinstance(error, httpx.TimeoutException):
        return "no answer in time"
    return printable(str(error)) or type(error).__name__
