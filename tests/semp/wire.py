"""A device's HTTP without sockets: what the adapter's client sends goes straight to a handler, on virtual time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import httpx

from orchestrator.clock import VirtualClock
from orchestrator.errors import AdapterError
from simulator.http.server import Incoming, Outgoing

Handler = Callable[[Incoming], Outgoing]


@dataclass
class Wire(httpx.BaseTransport):
    """Carries requests to ``handler``.

    ``is_away``, or not ``reaches``: nobody listens. ``fails``: exceptions that come in place of the next exchanges,
    before (``False``) or after (``True``) the handler obeyed.
    """

    handler: Handler
    clock: VirtualClock
    is_away: bool = False
    fails: list[tuple[bool, type[httpx.HTTPError]]] = field(default_factory=list)
    sent: list[Incoming] = field(default_factory=list)
    answers: list[Outgoing] = field(default_factory=list)
    timeout_s: float = 15.0
    reaches: Callable[[], bool] = lambda: True

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if self.is_away or not self.reaches():
            raise httpx.ConnectError("Connection refused")
        is_after, failure = self.fails.pop(0) if self.fails else (True, None)
        if failure is not None and not is_after:
            raise failure("it failed")
        headers = {name.lower(): value for name, value in request.headers.items()}
        incoming = Incoming(request.method, request.url.raw_path.decode("ascii"), headers, request.read(), "test")
        self.sent.append(incoming)
        try:
            answer = self.handler(incoming)
        except AdapterError as error:
            raise httpx.ReadError("the node is gone") from error
        self.answers.append(answer)
        if failure is not None:
            raise failure("it failed")
        return self._answered(answer)

    def _answered(self, answer: Outgoing) -> httpx.Response:
        match answer.mishap:
            case "drop":
                raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
            case "cut":
                raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")
            case "freeze":
                self.clock.advance(self.timeout_s)
                raise httpx.ReadTimeout("timed out")
        headers = {"Content-Type": answer.content_type, **answer.headers}
        return httpx.Response(answer.status, headers=headers, stream=httpx.ByteStream(answer.body))

    @property
    def lines(self) -> list[str]:
        """What was sent, ``METHOD target``."""
        return [f"{one.method} {one.target}" for one in self.sent]

    @property
    def changes(self) -> list[str]:
        """What was sent to change something: all but reads and the end of the session."""
        return [
            f"{one.method} {one.target} {one.body.decode()}"
            for one in self.sent
            if one.method in ("PATCH", "PUT", "DELETE") and not one.target.endswith("/about/user/logout")
        ]
