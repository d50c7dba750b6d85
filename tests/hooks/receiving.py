"""A webhook's receiver on a loopback port, as somebody else would write one."""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Post:
    """What arrived. Header names are as they were sent."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def event(self) -> Any:
        return json.loads(self.body)


@dataclass
class Endpoint:
    """A receiver at ``url``; ``answer`` says with which status, and perhaps headers, a post is answered."""

    url: str = ""
    posts: list[Post] = field(default_factory=list)
    answer: Callable[[Post], tuple[int, Mapping[str, str]]] = lambda post: (204, {})
    stall: threading.Event | None = None  # while this is not set, nothing is answered
    trickle: threading.Event | None = None  # until this is set, headers come one after the other, for ever

    @property
    def events(self) -> list[Any]:
        return [post.event for post in self.posts]


@contextmanager
def serving(context: ssl.SSLContext | None = None, *, port: int = 0) -> Iterator[Endpoint]:
    """An endpoint that answers until the block ends; with ``port`` 0, on a free one."""
    endpoint = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers["Content-Length"])
            post = Post(self.path, dict(self.headers.items()), self.rfile.read(length))
            endpoint.posts.append(post)
            if endpoint.stall is not None:
                endpoint.stall.wait(30)
            status, headers = endpoint.answer(post)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            while endpoint.trickle is not None and not endpoint.trickle.wait(0.1):
                self.send_header("X-More", "x")
                self.flush_headers()
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_GET(self) -> None:
            self.do_POST()

        def log_message(self, *words: object) -> None:
            """Silence."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *about: object) -> None:
            """A client that went away in the middle is what some tests are about."""

    server = Server(("127.0.0.1", port), Handler)
    scheme = "http"
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    endpoint.url = f"{scheme}://127.0.0.1:{server.server_address[1]}/in/T0KEN?team=ops"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        for event in (endpoint.stall, endpoint.trickle):
            if event is not None:
                event.set()
        server.shutdown()
        server.server_close()
        thread.join()
