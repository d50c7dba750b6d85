"""One device's HTTP session: a kept-alive connection, its cookie, and one exchange at a time.

It sends requests byte for byte, and returns the answers as they came. It never follows a redirect (the password would
be sent along), never uses a proxy of the environment, and never repeats a request that may change something. Not shared
between threads.
"""

from __future__ import annotations

import logging
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import httpx

from adapters.http.exchange import Limits, Reply, Request
from adapters.http.translate import FOREIGN, translate
from adapters.http.transport import DialledTransport
from orchestrator.clock import Clock
from orchestrator.errors import AdapterError, CommandTimedOut, Forbidden, Unreachable, UnreadableReply
from orchestrator.family.connect import LookUp
from orchestrator.model.exchanges import Exchange, Witness

Transport = httpx.BaseTransport
BODY_MAX = 64 * 1024 * 1024  # bytes of an answer
_UNAUTHORIZED = 401
# httpx logs the address of every request, and the address of a webhook is a password.
logging.getLogger("httpx").addFilter(lambda record: record.levelno >= logging.WARNING)


class HttpSession:
    """One device, at ``origin`` (scheme, host, port).

    For each request, ``proof`` makes the ``Authorization`` header (empty: no header), or ``auth`` does. ``allows`` is
    called before anything is sent; a request that it refuses is ``Forbidden``. Tests replace ``transport`` and
    ``look_up``. ``witness`` gets each exchange, without the login and the cookie.
    """

    def __init__(
        self,
        device: str,
        origin: tuple[str, str, int],
        *,
        proof: Callable[[], str],
        trust: ssl.SSLContext,
        limits: Limits,
        clock: Clock,
        allows: Callable[[Request], bool] = lambda request: True,
        transport: Transport | None = None,
        look_up: LookUp = socket.getaddrinfo,
        auth: httpx.Auth | None = None,
        witness: Witness | None = None,
    ) -> None:
        self.device = device
        self._origin = origin
        self._proof = proof
        self._limits = limits
        self._clock = clock
        self._allows = allows
        self._socket: socket.socket | None = None
        self._connected_at = 0.0
        self._trust = trust
        self._transport = transport
        self._look_up = look_up
        self._auth = auth
        self._witness = witness
        self._client = self._new_client()

    def _new_client(self) -> httpx.Client:
        limits = self._limits
        return httpx.Client(
            transport=self._transport
            or DialledTransport(
                self._trust, unacknowledged_s=limits.exchange_s, clock=self._clock, look_up=self._look_up
            ),
            auth=self._auth,
            timeout=httpx.Timeout(limits.exchange_s, connect=limits.connect_s),
            trust_env=False,
            follow_redirects=False,
        )

    @property
    def has_cookie(self) -> bool:
        """Does the device keep a session for this program?"""
        return bool(self._client.cookies)

    def exchange(self, request: Request) -> Reply:
        """Send ``request`` once and return the whole answer, whatever its status is.

        If the device no longer knows the cookie, a reading is sent once more with the login only. Raises
        ``Unreachable``, ``HostKeyRejected``, ``AuthenticationFailed``, ``Forbidden``, ``ConnectionLost``,
        ``CommandTimedOut`` or ``UnreadableReply``.
        """
        if not self._allows(request):
            raise Forbidden(
                f"{request.method} {request.target} was not sent: this session is read-only", device=self.device
            )
        had_cookie = self.has_cookie
        reply = self._once(request)
        if reply.status == _UNAUTHORIZED and had_cookie:
            self._client.cookies.clear()  # the device forgot the cookie; the login itself has not been refused yet
            if request.is_read:
                reply = self._once(request)
        return reply

    def close(self) -> None:
        """Close the connection and forget the cookie; never raises. The next exchange starts again."""
        with suppress(*FOREIGN):
            self._client.close()
        self._client = self._new_client()

    def _once(self, request: Request) -> Reply:
        if self._witness is None:
            return self._send(request)
        body = (request.body or b"").decode("utf-8", "replace")
        line = f"{request.method} {request.target} {body}".rstrip()
        heard = Exchange(self.device, line, self._clock.now(), 0.0)
        try:
            reply = self._send(request)
        except AdapterError as error:
            heard = replace(heard, failed=type(error).__name__, why=str(error))
            raise
        else:
            heard = replace(heard, answer=reply.text, status=reply.status, date=reply.headers.get("date", ""))
            return reply
        finally:
            self._witness.heard(replace(heard, answered_at=self._clock.now()))

    def _send(self, request: Request) -> Reply:
        proof = self._proof()
        outgoing = self._built(request, proof)
        asked_at = self._clock.now()
        exchange_s = self._seconds_of(request)
        with self._cut_off(exchange_s) as has_run_out:
            try:
                response = self._client.send(outgoing, stream=True)
                try:
                    body = self._body(response, max(asked_at, self._connected_at) + exchange_s)
                finally:
                    response.close()
            except FOREIGN as error:
                raise translate(error, device=self.device, is_over_time=has_run_out.is_set()) from error
        if proof.startswith("Bearer "):
            # With a token every request proves itself, and there is no session (docs/sources/solace.md, 1.2).
            self._client.cookies.clear()
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Reply(response.status_code, headers, body, asked_at, self._clock.now())

    def _seconds_of(self, request: Request) -> float:
        return self._limits.exchange_s if request.within_s is None else request.within_s

    def _built(self, request: Request, proof: str) -> httpx.Request:
        scheme, host, port = self._origin
        headers = {"Accept-Encoding": "identity", "User-Agent": "failover"}
        if proof:
            headers["Authorization"] = proof
        if request.content_type:
            headers["Content-Type"] = request.content_type
        try:
            url = httpx.URL(scheme=scheme, host=host, port=port).copy_with(raw_path=request.target.encode("ascii"))
            return self._client.build_request(
                request.method,
                url,
                headers=headers,
                content=request.body,
                timeout=httpx.Timeout(self._seconds_of(request), connect=self._limits.connect_s),
                extensions={"trace": self._trace},
            )
        except FOREIGN as error:  # nothing was sent yet
            raise Unreachable(
                f"{request.target!r} is not a valid request target for {self.device}", device=self.device
            ) from error

    def _body(self, response: httpx.Response, deadline: float) -> bytes:
        claimed = response.headers.get("content-length", "")
        if claimed.isascii() and claimed.isdigit() and int(claimed[:20]) > BODY_MAX:  # not waited for: it never comes
            raise UnreadableReply(
                f"the answer of {self.device} has {claimed[:40]} bytes by its header; the limit is "
                f"{BODY_MAX // 1_048_576} MB",
                text=f"HTTP {response.status_code}, Content-Length: {claimed[:40]}",
                device=self.device,
            )
        body = bytearray()
        for chunk in response.iter_raw():
            body += chunk
            if len(body) > BODY_MAX:
                raise UnreadableReply(
                    f"the answer of {self.device} is larger than {BODY_MAX // 1_048_576} MB",
                    text=bytes(body[:1000]).decode("utf-8", "replace"),
                    device=self.device,
                )
            if self._clock.now() > deadline:
                raise CommandTimedOut(f"{self.device} did not finish its answer in time", device=self.device)
        return bytes(body)

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._socket = info["return_value"].get_extra_info("socket")
            self._connected_at = self._clock.now()

    @contextmanager
    def _cut_off(self, exchange_s: float) -> Iterator[threading.Event]:
        """End an exchange that is too slow as a whole, although each piece of the answer comes in time."""
        has_run_out = threading.Event()

        def end() -> None:
            has_run_out.set()
            sock = self._socket
            if sock is not None:
                with suppress(OSError):
                    # Not the method of an SSLSocket, which would end TLS while the other thread is still reading.
                    socket.socket.shutdown(sock, socket.SHUT_RDWR)

        timer = threading.Timer(self._limits.connect_s + exchange_s, end)
        timer.daemon = True
        timer.start()
        try:
            yield has_run_out
        finally:
            timer.cancel()
