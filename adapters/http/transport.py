"""The transport of one session: one connection at a time, made by ``orchestrator.family.connect``.

The transport of httpx looks a name up by itself, without a time limit. Here the library gets addresses, while TLS still
checks the name and the device still gets it. Exceptions are raised as those of httpx.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import httpcore
import httpx

from orchestrator.clock import Clock
from orchestrator.family.connect import Address, LookUp, dial


class DialledTransport(httpx.BaseTransport):
    """``unacknowledged_s``: seconds without an acknowledgement after which a connection ends. In a partition nothing
    else would end it for many minutes."""

    def __init__(self, trust: ssl.SSLContext, *, unacknowledged_s: float, clock: Clock, look_up: LookUp) -> None:
        options: list[tuple[int, int, int]] = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
        user_timeout = getattr(socket, "TCP_USER_TIMEOUT", None)
        if user_timeout is not None:
            options.append((socket.IPPROTO_TCP, user_timeout, max(1, int(unacknowledged_s * 1000))))
        self._pool = httpcore.ConnectionPool(
            ssl_context=trust,
            max_connections=1,
            max_keepalive_connections=1,
            keepalive_expiry=30.0,
            socket_options=options,
            network_backend=_ByAddress(clock, look_up),
        )

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        assert isinstance(request.stream, httpx.SyncByteStream)  # the client is no asynchronous one
        url = httpcore.URL(
            scheme=request.url.raw_scheme,
            host=request.url.raw_host,
            port=request.url.port,
            target=request.url.raw_path,
        )
        with _as_of_httpx():
            answer = self._pool.handle_request(
                httpcore.Request(
                    method=request.method,
                    url=url,
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        return httpx.Response(
            answer.status, headers=answer.headers, stream=_Body(answer), extensions=dict(answer.extensions)
        )

    def close(self) -> None:
        self._pool.close()


class _ByAddress(httpcore.SyncBackend):
    """Connects to the addresses of a name one after the other, instead of to the name."""

    def __init__(self, clock: Clock, look_up: LookUp) -> None:
        self._clock = clock
        self._look_up = look_up

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.NetworkStream:
        assert timeout is not None  # a session has limits
        deadline = self._clock.now() + timeout

        def connect(address: Address, within_s: float) -> httpcore.NetworkStream:
            return super(_ByAddress, self).connect_tcp(*address, within_s, local_address, socket_options)

        try:
            stream = dial(
                host,
                port,
                timeout,
                clock=self._clock,
                connect=connect,
                failures=(httpcore.ConnectError, httpcore.ConnectTimeout),
                look_up=self._look_up,
            )
        except (OSError, UnicodeError) as error:  # from the look-up of the name
            raise httpcore.ConnectError(str(error)) from error
        return _Dialled(stream, self._clock, deadline)


class _Dialled(httpcore.NetworkStream):
    """A connection that was made. TLS gets only the time that is left until ``deadline``; httpcore would give it the
    full time again."""

    def __init__(self, stream: httpcore.NetworkStream, clock: Clock, deadline: float) -> None:
        self._stream = stream
        self._clock = clock
        self._deadline = deadline

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        left = self._deadline - self._clock.now()
        if left <= 0:
            self.close()
            raise httpcore.ConnectTimeout
        return self._stream.start_tls(ssl_context, server_hostname, left)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, timeout)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, timeout)

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _Body(httpx.SyncByteStream):
    """The body of an answer, as it arrives."""

    def __init__(self, answer: httpcore.Response) -> None:
        self._answer = answer

    def __iter__(self) -> Iterator[bytes]:
        with _as_of_httpx():
            yield from self._answer.iter_stream()

    def close(self) -> None:
        with _as_of_httpx():
            self._answer.close()


# Each has a class of the same name in httpx, which the transports of httpx raise.
EXCEPTIONS: tuple[type[Exception], ...] = (
    *(httpcore.ConnectError, httpcore.ReadError, httpcore.WriteError, httpcore.NetworkError, httpcore.ProxyError),
    *(httpcore.ConnectTimeout, httpcore.ReadTimeout, httpcore.WriteTimeout, httpcore.PoolTimeout),
    *(httpcore.TimeoutException, httpcore.UnsupportedProtocol),
    *(httpcore.LocalProtocolError, httpcore.RemoteProtocolError, httpcore.ProtocolError),
)


@contextmanager
def _as_of_httpx() -> Iterator[None]:
    try:
        yield
    except EXCEPTIONS as error:
        raise getattr(httpx, type(error).__name__)(str(error)) from error
