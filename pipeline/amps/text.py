"""Reads text dumps as bytes: lines with their offsets, and values in brackets with a known length.

A payload may contain line breaks, brackets and text that looks like records of the dump. If the dump has the length of a
value in bytes, exactly these bytes are taken and their content is not checked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from io import SEEK_CUR, BytesIO
from typing import IO

from orchestrator.counting import counted

Matcher = Callable[[bytes], bool]

# Enough to recognise a record. The excerpt is limited because a corrupt piece may be large.
EXCERPT_BYTES = 2048
# A line is read in parts of at most this many bytes: a file without line breaks must not fill the memory.
LINE_MAX = 1 << 20
# A larger value goes into quarantine. Reading a value takes twice its size in memory, and sending it to Spark takes the
# same again. A SOW record is not larger than its slab, which has 5 MB unless configured otherwise.
VALUE_MAX = 64 << 20
# A value with a wrong length is read again from its start. This limits the bytes read again (a constant plus a multiple
# of the bytes read); otherwise a dump with many large wrong lengths would be read endlessly. Small values have no limit.
_AGAIN_MAX, _AGAIN_TIMES, _SMALL = 64 << 20, 8, 4 << 10
_ISO = re.compile(r"(\d{8}T\d{6})(?:\.(\d+))?Z")


class Corrupt(Exception):
    """This record cannot be read. The text has the reason."""


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A piece of a dump that could not be read: its offset, length, reason and excerpt."""

    offset: int
    length: int
    reason: str
    excerpt: bytes


class Lines:
    """The lines of a stream. Lines can be put back."""

    def __init__(self, stream: IO[bytes], offset: int = 0) -> None:
        """``offset``: the position of ``stream``, at the start of a line."""
        self._stream = stream
        self._kept: BytesIO | None = None  # bytes that were put back, to be read before the stream
        self._offset = offset
        self._begun_at = offset
        self._again = 0  # bytes that were read as a value, and put back

    @property
    def offset(self) -> int:
        """The offset of the next line."""
        return self._offset

    def take(self) -> bytes:
        """The next line with its end; empty at the end of the stream."""
        line = b"" if self._kept is None else self._kept.readline(LINE_MAX)
        if not line.endswith(b"\n") and len(line) < LINE_MAX:
            self._kept = None
            line += self._stream.readline(LINE_MAX - len(line))
        self._offset += len(line)
        return line

    def put_back(self, piece: bytes) -> None:
        """Put back the bytes that were taken last, so they are read again next."""
        if self._kept is not None and self._kept.tell() >= len(piece):
            self._kept.seek(-len(piece), SEEK_CUR)
        else:
            self._kept = BytesIO(piece + (b"" if self._kept is None else self._kept.read()))
        self._offset -= len(piece)

    def take_bytes(self, begun: bytes, length: int) -> bytes:
        """A value of ``length`` bytes. ``begun``: its start, which was taken with its line.

        Raises ``Corrupt`` unless a bracket and the end of the line follow the value. The bytes are then put back, because
        a wrong length must not lose the next records. After too many wrong lengths, large values are rejected without a
        check until more was read.
        """
        if length > VALUE_MAX:
            raise Corrupt(f"a value has {length:,} bytes, but a value may have at most {VALUE_MAX:,} bytes")
        if length > _SMALL and self._again > _AGAIN_MAX + _AGAIN_TIMES * (self._offset - self._begun_at):
            raise Corrupt(
                f"a value of {counted(length, 'byte')} is not read, because too many values before it had a wrong length"
            )
        if len(begun) > length:
            value, taken, end = begun[:length], b"", begun[length:]
        else:
            value = self._take_up_to(begun, length)
            taken = end = self.take() if len(value) == length else b""
        if end.rstrip() == b"]":
            return value
        self._again += len(value) + len(taken)
        self.put_back(value[len(begun) :] + taken)
        what = "a value does not end after its" if end else "the file ends inside a value of"
        raise Corrupt(f"{what} {counted(length, 'byte')}")

    def _take_up_to(self, begun: bytes, length: int) -> bytes:
        """``begun`` and the bytes after it: ``length`` bytes, fewer at the end of the stream. Bytes are not read by line,
        because short lines take many times their size in memory."""
        pieces, have = [begun], len(begun)
        while have < length:
            most = min(LINE_MAX, length - have)
            piece = b"" if self._kept is None else self._kept.read(most)
            if not piece:
                self._kept = None
                piece = self._stream.read(most)
            if not piece:
                break
            pieces.append(piece)
            have += len(piece)
            self._offset += len(piece)
        return b"".join(pieces)


def skipped(lines: Lines, begun: Sequence[bytes], start: int, reason: str, begins: Matcher) -> Quarantined:
    """Skip to the next line that ``begins`` accepts, and return the skipped piece. ``begun``: lines taken already."""
    excerpt, size = list(begun), sum(map(len, begun))
    while (line := lines.take()) and not begins(line):
        if size < EXCERPT_BYTES:
            excerpt.append(line)
            size += len(line)
    lines.put_back(line)
    return Quarantined(start, lines.offset - start, reason, b"".join(excerpt)[:EXCERPT_BYTES])


def whole(text: str) -> int | None:
    """A whole number of at most 63 bits; None for any other text."""
    value = int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None
    return value if value is not None and value < 1 << 63 else None


def number(fields: Mapping[str, str], name: str) -> int:
    """A field that must be a whole number of at most 63 bits. Raises ``Corrupt``."""
    text = fields.get(name)
    if text is None:
        raise Corrupt(f"the field {name} is missing")
    if not (text.isascii() and text.isdecimal()):
        raise Corrupt(f"{name} is not a number: {text[:40]!r}")
    value = whole(text)
    if value is None:
        raise Corrupt(f"{name} is larger than 63 bits: {text[:40]}")
    return value


def micros_of(iso8601: str | None) -> int | None:
    """Microseconds since the epoch of ``20240321T220952.535075Z``; None for a local time or anything else."""
    found = _ISO.fullmatch(iso8601 or "")
    if found is None:
        return None
    try:
        moment = datetime.strptime(found[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(moment.timestamp()) * 1_000_000 + int((found[2] or "").ljust(6, "0")[:6])


def text_of(raw: bytes) -> str:
    """The bytes as text. Invalid bytes are replaced, because names are for people."""
    return raw.decode("utf-8", errors="replace")
