"""Reads the text of ``amps_sow_dump -v``: one record of a SOW topic after the other.

Layout: 60East's server documentation, "Dump SOW File", verbose output. Each record is a block of ``name = value`` lines
that starts with ``key``. ``data size`` is the number of bytes of ``data`` in its brackets. A summary of
``name : value`` lines comes after the records.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from pipeline.amps.text import Corrupt, Lines, Quarantined, micros_of, number, skipped, text_of, whole

_BEGINS = re.compile(rb"\s*key\s*=\s*\d+\s*")
# A name must not start or end with a blank; otherwise the expression tries too many matches on a line of many blanks.
_FIELD = re.compile(rb"\s*([^=:\[\]\s](?:[^=:\[\]]*[^=:\[\]\s])?)\s*=\s?(.*)", re.DOTALL)
_SUMMARY = re.compile(rb"\s*([^=:\s](?:[^=:]*[^=:\s])?)\s*:(.*)", re.DOTALL)
_HEADINGS = re.compile(rb"\s*(Slab Detail|#.*)\s*")
_KEY_DIGITS = 20


@dataclass(frozen=True, slots=True)
class SowRecord:
    """One record. ``key``: the SowKey as decimal text. ``txid``: its journal entry, on this instance only. ``micros``:
    microseconds since the epoch. ``expiration``: as in the dump."""

    offset: int
    key: str
    txid: int
    micros: int | None
    expiration: int
    size: int
    data: bytes


class SowDump:
    """The records of one dump. ``summary`` (of its first file) is complete when the iteration has ended."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._lines = Lines(stream)
        self.summary: dict[str, str] = {}
        self._totals: list[int] = []

    def __iter__(self) -> Iterator[SowRecord | Quarantined]:
        lines = self._lines
        while line := lines.take():
            if _BEGINS.fullmatch(line):
                lines.put_back(line)
                yield self._record_or_not()
            elif found := _SUMMARY.fullmatch(line):
                name, value = text_of(found[1]), text_of(found[2].strip())
                self.summary.setdefault(name, value)
                if name == "Valid Keys" and (total := whole(value)) is not None:
                    self._totals.append(total)
            elif line.strip() and not _HEADINGS.fullmatch(line):
                yield skipped(
                    lines, [line], lines.offset - len(line), "this line is neither a record nor a field", _is_border
                )

    @property
    def offset(self) -> int:
        """The offset of the first unread byte."""
        return self._lines.offset

    @property
    def total(self) -> int | None:
        """The number of records in all files of the dump, as the dump reports it; None when it does not."""
        return sum(self._totals) if self._totals else None

    def _record_or_not(self) -> SowRecord | Quarantined:
        start = self._lines.offset
        taken: list[bytes] = []
        try:
            return _record(self._lines, taken, start)
        except Corrupt as error:
            return skipped(self._lines, taken, start, str(error), _is_border)


def _is_border(line: bytes) -> bool:
    return bool(_BEGINS.fullmatch(line) or line.startswith(b"File "))


def _record(lines: Lines, taken: list[bytes], offset: int) -> SowRecord:
    """Read one record from its ``key`` to the end of its ``data``, which is the last field."""
    fields: dict[str, str] = {}
    while line := lines.take():
        if taken and _is_border(line):
            lines.put_back(line)
            break
        taken.append(line)
        found = _FIELD.fullmatch(line)
        if found is None:
            # The dump has no length for the two texts in brackets. They may contain any bytes, also line breaks.
            if line.strip() and not {"string key", "correlation id"} & fields.keys():
                raise Corrupt("this line is not a field")
            continue
        name = text_of(found[1])
        if name == "data":
            return _finished(lines, found[2], fields, offset)
        fields.setdefault(name, text_of(found[2]).strip())
    raise Corrupt("the field data is missing")


def _finished(lines: Lines, value: bytes, fields: dict[str, str], offset: int) -> SowRecord:
    size = number(fields, "data size")
    begun = value.lstrip(b" ")
    if not begun.startswith(b"["):
        raise Corrupt("the value of data is not in brackets")
    key = fields["key"]
    if len(key) > _KEY_DIGITS or int(key) >= 1 << 64:
        raise Corrupt(f"key is larger than 64 bits: {key[:40]}")
    return SowRecord(
        offset=offset,
        key=key,
        txid=number(fields, "local txid"),
        micros=micros_of(fields.get("iso8601 timestamp")),
        expiration=number(fields, "expiration") if "expiration" in fields else 0,
        size=size,
        data=lines.take_bytes(begun[1:], size),
    )
