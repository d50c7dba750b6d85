"""An HTTP server on a loopback address, for simulated devices: keep-alive, TLS, latency, and answers that go wrong.

The ``handler`` interprets requests. Nothing here depends on SEMP. The server must never listen on an address that
other machines can reach. It must never sleep without checking for the order to stop.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import TCPServer
from typing import Any, Literal

from orchestrator.errors import AdapterError

# What happens to an answer in transit. By then the request was obeyed or lost.
Mishap = Literal["drop", "cut", "freeze"]

BODY_MAX = 1_048_576
_FROZEN_GLANCE_S = 0.05  # how often a frozen answer checks whether the client still waits
_IDLE_S = 120.0


@dataclass(frozen=True, slots=True)
class Incoming:
    """A request. ``target`` is unchanged. Header names are lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes
    peer: str = ""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """An answer. ``mishap``: ``drop`` sends nothing, ``cut`` sends half, ``freeze`` sends nothing while the client
    waits."""

    status: int
    body: bytes = b""
    content_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)
    mishap: Mishap | None = None


Handler = Callable[[Incoming], Outgoing]


class HttpServer:
    """Serves ``handler`` on ``host``. ``port`` 0 takes a free port and keeps it for later starts.

    ``admits`` false: connections are closed silently. A handler that raises ``AdapterError`` breaks its
    connection. Start and stop may alternate.
    """

    def __init__(
        self,
        handler: Handler,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        latency_s: float = 0.0,
        admits: Callable[[], bool] = lambda: True,
    ) -> None:
        self.address = (host, port)
        self._handler = handler
        self._tls = tls
        self._latency_s = latency_s
        self._admits = admits
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Listen. Raises ``OSError``. Does nothing if the server already listens."""
        if self._server is not None:
            return
        server = _Server(self.address, self._handler, self._tls, self._latency_s, self._admits)
        self.address = (self.address[0], int(server.server_address[1]))
        self._server = server
        self._thread = threading.Thread(target=server.serve_forever, args=(0.05,), name="http", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close the port and break every connection."""
        server, self._server = self._server, None
        thread, self._thread = self._thread, None
        if server is None or thread is None:
            return
        server.is_over.set()
        server.shutdown()
        thread.join()
        server.break_connections()
        server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = True
    request_queue_size = 64

    def __init__(
        self,
        address: tuple[str, int],
        handler: Handler,
        tls: ssl.SSLContext | None,
        latency_s: float,
        admits: Callable[[], bool],
    ) -> None:
        self.handler = handler
        self.latency_s = latency_s
        self.is_over = threading.Event()
        self._tls = tls
        self._admits = admits
        self._guard = threading.Lock()
        self._connections: set[socket.socket] = set()
        self.address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        super().__init__(address, _Conversation)

    def server_bind(self) -> None:
        # The base class looks up the host name. That can take seconds and is not needed.
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])

    def verify_request(self, request: Any, client_address: Any) -> bool:
        return self._admits()

    def finish_request(self, request: Any, client_address: Any) -> None:
        connection: socket.socket = request
        with self._guard:
            self._connections.add(connection)
        try:
            if self._tls is not None:
                connection.settimeout(_IDLE_S)
                connection = self._tls.wrap_socket(connection, server_side=True)
                with self._guard:
                    self._connections.add(connection)
            _Conversation(connection, client_address, self)
        except (OSError, AdapterError, ValueError):
            return  # the client is gone or does not trust the certificate, or the device is gone
        finally:
            with self._guard:
                self._connections -= {connection, request}
            with suppress(OSError):
                connection.close()

    def break_connections(self) -> None:
        with self._guard:
            for connection in self._connections:
                with suppress(OSError):
                    socket.socket.shutdown(connection, socket.SHUT_RDWR)


class _Conversation(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    server_version = "simulated"
    sys_version = ""
    timeout = _IDLE_S
    # Head and body are two writes. With Nagle's algorithm the body waits until the client acknowledges the head: 40 ms.
    disable_nagle_algorithm = True
    server: _Server

    def _answer(self) -> None:
        body = self._body()
        if body is None:
            self._send(Outgoing(400, b"", "text/plain", {"Connection": "close"}))
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        peer = f"{self.client_address[0]}:{self.client_address[1]}"
        answer = self.server.handler(Incoming(self.command, self.path, headers, body, peer))
        if self.server.latency_s:
            self.server.is_over.wait(self.server.latency_s)
        self._send(answer)

    do_GET = do_PUT = do_POST = do_PATCH = do_DELETE = _answer

    def _body(self) -> bytes | None:
        length = self.headers.get("Content-Length", "0")
        if not length.isdecimal() or int(length) > BODY_MAX or "Transfer-Encoding" in self.headers:
            return None
        return self.rfile.read(int(length))

    def _send(self, answer: Outgoing) -> None:
        if answer.mishap == "freeze":
            self._freeze()
        if answer.mishap in ("drop", "freeze"):
            self.close_connection = True
            return
        self.send_response_only(answer.status)  # the handler sets the date, because the device has its own clock
        self.send_header("Content-Type", answer.content_type)
        self.send_header("Content-Length", str(len(answer.body)))
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if answer.mishap == "cut":
            self.close_connection = True
        self.end_headers()
        self.wfile.write(answer.body[: len(answer.body) // 2] if answer.mishap == "cut" else answer.body)

    def _freeze(self) -> None:
        """Send nothing until the client disconnects or the server stops."""
        connection: socket.socket = self.connection
        connection.settimeout(_FROZEN_GLANCE_S)
        while not self.server.is_over.is_set():
            try:
                if not connection.recv(1):
                    return
            except TimeoutError:
                continue
            except OSError:
                return

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the device has its own log."""
