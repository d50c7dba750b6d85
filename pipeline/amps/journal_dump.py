"""Reads the text of ``amps_journal_dump``: one entry after the other, each published message with its identity.

Layout: 60East's server documentation, "Dump journal File". Each entry is a block of ``name : value`` lines between
lines of underscores. A header comes before the entries, and totals after them. The values of ``topic``, ``data``,
``correlation id``, ``auth id`` and ``rep path`` are in brackets. A field before each value has its length in bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import IO

from pipeline.amps.text import VALUE_MAX, Corrupt, Lines, Quarantined, micros_of, number, skipped, text_of, whole

_SEPARATOR = re.compile(rb"_{20,}\s*")
_BEGINS = re.compile(rb"entry\s*:\s*\d+\s*")
# A name must not start or end with a blank; otherwise the expression tries too many matches on a line of many blanks.
_FIELD = re.compile(rb"\s*([^:\s](?:[^:]*[^:\s])?)\s*:\s?(.*)", re.DOTALL)
_LENGTHS = {
    "topic": "topic byte count",
    "data": "msg byte count",
    "correlation id": "correlation id byte count",
    "auth id": "auth id byte count",
    "rep path": "rep path byte count",
}
# The raw timestamp counts microseconds from a day that is this long before the epoch: in the documentation's sample
# 212577862192535075 is beside 20240321T220952.535075Z.
EPOCH_MICROS = 210_866_803_200_000_000
Fields = dict[str, str | bytes]


@dataclass(frozen=True, slots=True)
class Entry:
    """One journal entry. (``client``, ``sequence``) identifies the message on every instance, ``txid`` on this one only.

    ``micros``: microseconds since the epoch. ``expiration``: as in the dump. ``data`` None: the dump has no data.
    """

    offset: int
    entry: int
    type: str
    txid: int
    source_txid: str
    source: str
    client: str
    sequence: int
    topic: str
    message_type: str
    micros: int | None
    expiration: int
    size: int
    data: bytes | None
    rep_path: str


class JournalDump:
    """The entries of one dump from ``offset``. ``stream`` must be at ``offset``, at the start or end of an entry. The
    iteration fills ``header`` and ``footer`` when it reads them."""

    def __init__(self, stream: IO[bytes], offset: int = 0) -> None:
        self._lines = Lines(stream, offset)
        self.header: dict[str, str] = {}
        self.footer: dict[str, str] = {}

    def __iter__(self) -> Iterator[Entry | Quarantined]:
        lines = self._lines
        while line := lines.take():
            if _BEGINS.fullmatch(line):
                lines.put_back(line)
                yield self._entry_or_not()
            elif found := _FIELD.fullmatch(line):
                into = self.footer if found[1].startswith((b"Total", b"Remaining")) else self.header
                into[text_of(found[1])] = text_of(found[2]).strip()
            elif line.strip() and not _SEPARATOR.fullmatch(line):
                yield skipped(
                    lines, [line], lines.offset - len(line), "this line is neither an entry nor a field", _is_border
                )

    @property
    def offset(self) -> int:
        """The offset of the first unread byte. Between two entries, reading can continue there."""
        return self._lines.offset

    @property
    def total(self) -> int | None:
        """The number of entries of the journal, as the dump reports it."""
        return whole(self.footer.get("Total Entries", ""))

    def _entry_or_not(self) -> Entry | Quarantined:
        start = self._lines.offset
        taken: list[bytes] = []
        try:
            return _entry(_fields(self._lines, taken), start)
        except Corrupt as error:
            return skipped(self._lines, taken, start, str(error), _is_border)


def _is_border(line: bytes) -> bool:
    return bool(_SEPARATOR.fullmatch(line) or _BEGINS.fullmatch(line))


def _fields(lines: Lines, taken: list[bytes]) -> Fields:
    """The fields of one entry. Reads its separator too. ``taken`` gets the lines of the entry that were read."""
    fields: Fields = {}
    while line := lines.take():
        if _SEPARATOR.fullmatch(line):
            break
        if fields and _BEGINS.fullmatch(line):
            lines.put_back(line)
            break
        taken.append(line)
        found = _FIELD.fullmatch(line)
        if found is None:
            if line.strip():
                raise Corrupt("this line is not a field")
            continue
        name = text_of(found[1])
        if name in _LENGTHS:
            fields[name] = _bracketed(lines, name, found[2], fields)
        else:
            fields[name] = text_of(found[2]).strip()
    return fields


def _bracketed(lines: Lines, name: str, value: bytes, fields: Fields) -> bytes | str:
    begun = value.lstrip(b" ")
    if not begun.startswith(b"["):
        raise Corrupt(f"the value of {name} is not in brackets")
    length = number(_texts(fields), _LENGTHS[name])
    if name == "data" and length and begun.rstrip() == b"[]" and _is_field_behind_data(lines):
        return ""  # the dump has no data
    return lines.take_bytes(begun[1:], length)


def _is_field_behind_data(lines: Lines) -> bool:
    """Is the next line the field after ``data``? A payload may itself start with a bracket and a line break."""
    line = lines.take()
    lines.put_back(line)
    return line.startswith(b"correlation id byte count")


def _entry(fields: Fields, offset: int) -> Entry:
    texts = _texts(fields)
    for name in ("type", "topic", "client name hash"):
        if name not in fields:
            raise Corrupt(f"the field {name} is missing")
    data = fields.get("data")
    size = number(texts, "msg byte count")
    if size > VALUE_MAX:  # only possible if the dump has no data; otherwise reading the data failed before
        raise Corrupt(f"the message has {size:,} bytes, but a message may have at most {VALUE_MAX:,} bytes")
    return Entry(
        offset=offset,
        entry=number(texts, "entry"),
        type=texts["type"],
        txid=number(texts, "local txid"),
        source_txid=texts.get("source txid", "0"),
        source=texts.get("source name hash", "0"),
        client=texts["client name hash"],
        sequence=number(texts, "client seq"),
        topic=_value(fields["topic"]),
        message_type=texts.get("msg type", ""),
        micros=_micros(texts),
        expiration=number(texts, "sow expiration time") if "sow expiration time" in texts else 0,
        size=size,
        data=data if isinstance(data, bytes) else None,
        rep_path=_value(fields.get("rep path", b"")),
    )


def _micros(texts: Mapping[str, str]) -> int | None:
    """The time from the raw timestamp, which has no time zone; else from the ISO timestamp."""
    raw = whole(texts.get("timestamp", ""))
    if raw is not None and EPOCH_MICROS < raw < 2 * EPOCH_MICROS:
        return raw - EPOCH_MICROS
    return micros_of(texts.get("iso8601 timestamp"))


def _texts(fields: Fields) -> dict[str, str]:
    return {name: value for name, value in fields.items() if isinstance(value, str)}


def _value(value: str | bytes) -> str:
    return value if isinstance(value, str) else text_of(value)
