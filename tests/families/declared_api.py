"""A family of two switches with an API over HTTP, and servers that keep one each."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

SWITCH: Mapping[str, Any] = {
    "family": "switch",
    "summary": "A switch behind an API at each site.",
    "words": {"service": "switch", "services": "switches", "backlog": "job"},
    "options": {"room": {"says": "where the switch is"}},
    "connect": {"http": {}},
    "readings": {
        "switch": {
            "summary": "whether it is on",
            "http": {"get": ["rooms", "{room}", "{service}"], "statuses": [404]},
            "fields": {
                "known": {"from": "@code", "type": "bool", "true_when": 200},
                "on": {"from": "/on", "type": "bool", "facet": "serves"},
            },
        },
        "jobs": {
            "summary": "what waits in its room",
            "per": "site",
            "http": {"get": ["jobs"], "query": {"state": "waiting"}},
            "rows": "/jobs",
            "pick": {"room": "{room}"},
            "fields": {"waiting": {"from": "@rows", "type": "number", "facet": "backlog", "unit": "job"}},
        },
        "job": {
            "summary": "the jobs of all rooms",
            "per": "site",
            "http": {"get": ["jobs"]},
            "rows": "/jobs",
            "items": {"key": "id", "fields": {"id": {"from": "/id", "type": "text"}}},
        },
    },
    "actions": {
        "turn_on": {
            "summary": "turn it on",
            "http": [{"put": ["rooms", "{room}", "{service}"], "body": {"on": True, "by": "{username}"}}],
            "idempotent": True,
            "inverse": "turn_off",
            "makes": {"serves": True},
            "refused": [409],
            "timeout": "2s",
        },
        "name_it": {
            "summary": "write who turned it on",
            "http": [
                {
                    "put": ["rooms", "{room}", "{service}"],
                    "with": {
                        "from": {"get": ["rooms", "{room}", "{service}"], "statuses": [404]},
                        "set": {"by": "{username}"},
                        "drop": ["note"],
                    },
                }
            ],
            "idempotent": True,
            "refused": [409],
            "timeout": "2s",
        },
        "turn_off": {
            "summary": "turn it off, and forget who is there",
            "http": [
                {"put": ["rooms", "{room}", "{service}"], "body": {"on": False}},
                {"delete": ["rooms", "{room}", "people"], "statuses": [404]},
            ],
            "idempotent": True,
            "inverse": "turn_on",
            "makes": {"serves": False},
            "refused": [409],
            "timeout": "2s",
        },
    },
}
LOGIN = "Basic " + base64.b64encode(b"ops:word").decode()


@dataclass
class Room:
    """What a server keeps. ``says``: statuses in place of the next answers. ``silent``: it answers nobody."""

    on: bool = False
    jobs: list[dict[str, Any]] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    says: list[int] = field(default_factory=list)
    silent: threading.Event = field(default_factory=threading.Event)
    answer: str = ""


@contextmanager
def served(room: Room) -> Iterator[int]:
    """The port of a server that keeps ``room``, whose name has a blank and a slash: ``A 1/2``."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _any(self) -> None:
            size = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(size).decode()
            if len(body) < size:
                return None  # the client is gone in the middle of a request
            room.heard.append(f"{self.command} {self.path} {body}".rstrip())
            if room.silent.is_set():
                threading.Event().wait(6)
                return None
            if self.headers.get("Authorization") != LOGIN:
                return self._say(401, {"reason": "who are you?"})
            if room.says:
                return self._say(room.says.pop(0), {"reason": "as told"})
            parts = [unquote(part) for part in self.path.partition("?")[0].split("/")[1:]]
            match self.command, parts:
                case "GET", ["jobs"]:
                    return self._say(200, {"jobs": room.jobs})
                case "GET", ["rooms", "A 1/2", "one"]:
                    return self._say(200, {"on": room.on, "size": 3, "note": "x"})
                case "PUT", ["rooms", "A 1/2", "one"]:
                    room.on = json.loads(body)["on"]
                    return self._say(204, None)
            return self._say(404, {"reason": "no such thing"})

        do_GET = do_PUT = do_DELETE = _any

        def _say(self, status: int, value: object) -> None:
            body = room.answer.encode() if room.answer else b"" if value is None else json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
