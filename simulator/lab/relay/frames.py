"""What the relay says to a node's socket: one line that names the user and the terminal, then frames.

A frame is its kind (``d`` typed bytes, ``r`` columns and rows), a length of two bytes, and so many bytes. The node's
answers need no frames. Nothing here opens a file or a socket.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass

HELLO_MAX = 1024
_HEAD = struct.Struct("!cH")
_SIZE = struct.Struct("!HH")
_PAYLOAD_MAX = 0xFFFF


class BadFrame(Exception):
    """Not what a relay says."""


@dataclass(frozen=True, slots=True)
class Hello:
    """Who is at the other end; 0 columns and rows when it has no terminal."""

    user: str
    columns: int = 0
    rows: int = 0

    def encode(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def decode(cls, line: bytes) -> Hello:
        """Raises ``BadFrame``."""
        try:
            data = json.loads(line)
            return cls(str(data["user"]), int(data["columns"]), int(data["rows"]))
        except (ValueError, KeyError, TypeError) as error:
            raise BadFrame(f"no hello: {line[:40]!r}") from error


@dataclass(frozen=True, slots=True)
class Size:
    """The terminal's new size in characters."""

    columns: int
    rows: int


def data_frames(data: bytes) -> bytes:
    """Typed bytes, in as many frames as they need."""
    parts = (data[start : start + _PAYLOAD_MAX] for start in range(0, len(data), _PAYLOAD_MAX))
    return b"".join(_HEAD.pack(b"d", len(part)) + part for part in parts)


def size_frame(size: Size) -> bytes:
    """The terminal was resized."""
    return _HEAD.pack(b"r", _SIZE.size) + _SIZE.pack(size.columns & 0xFFFF, size.rows & 0xFFFF)


class FrameReader:
    """Puts frames together from whatever pieces arrive."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> Iterator[bytes | Size]:
        """What is complete now. Raises ``BadFrame``."""
        self._held += data
        while len(self._held) >= _HEAD.size:
            kind, length = _HEAD.unpack_from(self._held)
            if kind not in (b"d", b"r") or (kind == b"r" and length != _SIZE.size):
                raise BadFrame(f"no such frame: {kind!r} of {length} bytes")
            end = _HEAD.size + length
            if len(self._held) < end:
                return
            payload, self._held = self._held[_HEAD.size : end], self._held[end:]
            yield payload if kind == b"d" else Size(*_SIZE.unpack(payload))
