"""Posts the events of a run to a webhook: one request each, over a separate connection.

The address of a webhook may be a password in itself. No text made here has more of the address than the host. Redirects
are not followed, and no proxy of the environment is used, so the address goes nowhere else.
"""

from __future__ import annotations

import ssl
import threading
from collections.abc import Mapping
from contextlib import closing
from urllib.parse import urlsplit

import httpx

from adapters.http.exchange import Limits, Request
from adapters.http.options import HttpOptions, trust_of
from adapters.http.session import HttpSession
from adapters.http.translate import FOREIGN, translate
from orchestrator.clock import Clock
from orchestrator.errors import Unreachable

_PORTS = {"https": 443, "http": 80}


class WebhookPoster:
    """Sends signed events. Safe to use from several threads."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._trusts: dict[str | None, ssl.SSLContext] = {}

    def post(
        self, url: str, body: bytes, headers: Mapping[str, str], *, timeout_s: float, ca_file: str | None
    ) -> int:
        """POST ``body`` once and return the status of the answer, whatever it is.

        Raises ``Unreachable``, ``HostKeyRejected``, ``ConnectionLost``, ``CommandTimedOut`` or ``UnreadableReply``
        when there is no answer within ``timeout_s`` seconds, ``DefinitionError`` for a bad ``ca_file``.
        """
        host = ""
        try:
            parts = urlsplit(url)
            host = parts.hostname or ""
            origin = (parts.scheme, host, parts.port or _PORTS[parts.scheme])
        except (KeyError, ValueError):
            raise Unreachable(
                f"the address of the webhook is not a valid URL (host: {host or 'none'})", device=host
            ) from None
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        # Making the connection and the exchange share the time.
        limits = Limits(connect_s=timeout_s / 2, exchange_s=timeout_s / 2)
        session = _Posting(headers, host, origin, self._trust(ca_file), limits, self._clock)
        with closing(session):
            return session.exchange(Request("POST", target, body)).status

    def _trust(self, ca_file: str | None) -> ssl.SSLContext:
        with self._lock:
            if ca_file not in self._trusts:
                self._trusts[ca_file] = trust_of(HttpOptions(ca_file=ca_file))
            return self._trusts[ca_file]


class _Posting(HttpSession):
    """A session with the caller's headers, and without any login."""

    def __init__(
        self,
        headers: Mapping[str, str],
        device: str,
        origin: tuple[str, str, int],
        trust: ssl.SSLContext,
        limits: Limits,
        clock: Clock,
    ) -> None:
        super().__init__(device, origin, proof=lambda: "", trust=trust, limits=limits, clock=clock)
        self._headers = headers

    def _built(self, request: Request, proof: str) -> httpx.Request:
        scheme, host, port = self._origin
        headers = {"Accept-Encoding": "identity", "User-Agent": "failover", **self._headers}
        try:
            url = httpx.URL(scheme=scheme, host=host, port=port).copy_with(raw_path=request.target.encode("ascii"))
            return self._client.build_request(
                request.method, url, headers=headers, content=request.body, extensions={"trace": self._trace}
            )
        except FOREIGN as error:
            raise translate(error, device=self.device) from error
