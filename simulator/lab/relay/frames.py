"""The protocol from the relay to a node's socket: one line with the user and the terminal size, then frames.

A frame has a kind (``d``: typed bytes, ``r``: columns and rows), a length of two bytes, and the payload. The node's
answers have no frames. Nothing here opens a file or a socket.
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
    """The data does not follow the relay's protocol."""


@dataclass(frozen=True, slots=True)
class Hello:
    """The first line of a relay: the user and the terminal size. Columns and rows are 0 without a terminal."""

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
    """The frames for typed bytes."""
    parts = (data[start : start + _PAYLOAD_MAX] for start in range(0, len(data), _PAYLOAD_MAX))
    return b"".join(_HEAD.pack(b"d", len(part)) + part for part in parts)


def size_frame(size: Size) -> bytes:
    """The frame for a new terminal size."""
    return _HEAD.pack(b"r", _SIZE.size) + _SIZE.pack(size.columns & 0xFFFF, size.rows & 0xFFFF)


class FrameReader:
    """Assembles frames from the received pieces."""

    def __init__(self) -> None:
        self._held = b""

    def feed(self, data: bytes) -> Iterator[bytes | Size]:
        """Add ``data`` and yield the payloads that are complete now. Raises ``BadFrame``."""
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
