"""A family of two valves that answer messages, and servers that keep one each. A server speaks as much of the NATS
protocol as a client needs (docs.nats.io, "Client Protocol")."""

from __future__ import annotations

import json
import socket
import socketserver
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

VALVE: Mapping[str, Any] = {
    "family": "valve",
    "summary": "A valve behind messages at each site.",
    "words": {"service": "valve", "services": "valves", "backlog": "drop"},
    "options": {
        "room": {"says": "where the valve is"},
        "pipes": {"says": "what flows while it is open", "type": "list"},
        "mate": {"says": "the prefix of the mate"},
    },
    "connect": {"nats": {}},
    "readings": {
        "valve": {
            "summary": "whether it is open",
            "nats": {"subject": ["V", "INFO", "{room}", "{service}"], "errors": [404]},
            "timeout": "2s",
            "fields": {
                "known": {"from": "@code", "type": "bool", "true_when": 0},
                "flows": {"from": "/valve/pipes", "type": "bool", "contains": "{pipes}", "absent": False},
                "flows_alone": {"from": "/valve/pipes", "type": "bool", "exactly": "{pipes}", "absent": False},
                "broken": {"from": "/valve/broken", "type": "bool", "absent": False},
                "here": {"from": "/valve/room", "type": "bool", "true_when": "{room}"},
                "on": {"all": {"known": True, "flows": True, "broken": False}, "type": "bool", "facet": "serves"},
                "waiting": {
                    "from": "/waiting",
                    "type": "number",
                    "facet": "backlog",
                    "unit": "drop",
                    "when": {"known": True},
                },
            },
        },
    },
    "actions": {
        "open": {
            "summary": "open it",
            "nats": [
                {
                    "subject": ["V", "SET", "{room}", "{service}"],
                    "with": {
                        "from": {"subject": ["V", "INFO", "{room}", "{service}"], "errors": [404]},
                        "at": "/valve",
                        "set": {"pipes": "{pipes}", "by": "{username}"},
                        "drop": ["note"],
                    },
                }
            ],
            "idempotent": True,
            "inverse": "close",
            "makes": {"serves": True},
            "refused": [409],
            "timeout": "2s",
        },
        "close": {
            "summary": "close it, and forget who was there",
            "nats": [
                {
                    "subject": ["V", "SET", "{room}", "{service}"],
                    "body": {"service": "{service}"},
                    "with": {
                        "from": {"subject": ["{mate}", "INFO", "{room}", "{service}"]},
                        "at": "/valve",
                        "into": "valve",
                        "take": {"next": {"at": "/waiting", "plus": 1}},
                        "drop": ["pipes"],
                    },
                },
                {"subject": ["V", "FORGET", "{room}"], "errors": [404]},
            ],
            "idempotent": True,
            "inverse": "open",
            "makes": {"serves": False},
            "refused": [409],
            "timeout": "2s",
        },
    },
}
PASSWORD = "correct-horse"


@dataclass
class Plant:
    """What a server keeps. ``says``: answers in place of the next ones: a code of an error, ``hang-up``, ``silent``,
    ``nobody``, ``denied``, or a text. ``logins``: what was sent to log in, in clear text. ``is_abrupt``: it resets a
    connection whose login it refuses. ``greets``: the only line that it sends, if it is not empty."""

    valve: dict[str, Any] = field(default_factory=lambda: {"room": "A", "note": "x", "size": 3})
    waiting: Any = 7
    heard: list[str] = field(default_factory=list)
    says: list[int | str] = field(default_factory=list)
    logins: list[dict[str, Any]] = field(default_factory=list)
    is_mute: bool = False
    is_abrupt: bool = False
    greets: bytes = b""


class _Handler(socketserver.StreamRequestHandler):
    """One connection."""

    disable_nagle_algorithm = True  # an answer of several pieces would wait for an acknowledgement
    plant: Plant

    def handle(self) -> None:
        """Greet, and answer until the connection is over."""
        if self.plant.is_mute:
            self.rfile.readline()
            return
        if self.plant.greets:
            self.wfile.write(self.plant.greets)
            return
        self.wfile.write(b'INFO {"server_id":"x","version":"2.15.1","headers":true,"max_payload":100000}\r\n')
        while (line := self.rfile.readline()).endswith(b"\n"):
            word, *rest = line.decode().split(" ", 1)
            if word == "CONNECT":
                self.plant.logins.append(json.loads(rest[0]))
                if not self._let_in():
                    return
            if word.strip() == "PING":
                self.wfile.write(b"PONG\r\n")
            if word == "SUB":
                self._acknowledge()
            if word == "PUB":
                subject, reply, size = rest[0].split()
                sent = self.rfile.read(int(size) + 2)
                if not sent.endswith(b"\r\n"):
                    return  # the client is gone in the middle of a message
                body = sent[:-2].decode()
                self.plant.heard.append(f"request {subject} {body}".rstrip())
                told = self.plant.says.pop(0) if self.plant.says else None
                if told == "hang-up":
                    return
                self._acknowledge()
                self._answer(told, subject, reply, body)

    def _let_in(self) -> bool:
        if self.plant.logins[-1].get("pass") == PASSWORD:
            self._acknowledge()
            return True
        self.wfile.write(b"-ERR 'Authorization Violation'\r\n")
        if self.plant.is_abrupt:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
        return False

    def _acknowledge(self) -> None:
        if self.plant.logins[-1]["verbose"]:
            self.wfile.write(b"+OK\r\n")

    def _answer(self, told: int | str | None, subject: str, reply: str, body: str) -> None:
        match told:
            case int() as code:
                self._say(reply, json.dumps({"error": {"code": 500, "err_code": code, "description": "as told"}}))
            case "silent":
                pass
            case "denied":
                self.wfile.write(f"-ERR 'Permissions Violation for Publish to \"{subject}\"'\r\n".encode())
            case "nobody":
                self.wfile.write(f"HMSG {reply} 1 16 16\r\nNATS/1.0 503\r\n\r\n\r\n".encode())
            case str() as text:
                self._say(reply, text)
            case _:
                self._say(reply, json.dumps(self._done(subject.split("."), body)))

    def _done(self, parts: list[str], body: str) -> object:
        match parts:
            case ["V" | "W", "INFO", "A", "one"]:
                return {"type": "info", "valve": self.plant.valve, "waiting": self.plant.waiting}
            case ["V", "SET", "A", "one"]:
                sent = json.loads(body)
                self.plant.valve = sent.get("valve", sent)
                return {"done": True}
        return {"error": {"code": 404, "description": "no such thing"}}

    def _say(self, reply: str, text: str) -> None:
        self.wfile.write(f"MSG {reply} 1 {len(text.encode())}\r\n{text}\r\n".encode())


@contextmanager
def served(plant: Plant) -> Iterator[int]:
    """The port of a server that keeps ``plant``."""
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"plant": plant}))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
