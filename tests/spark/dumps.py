"""Writes dumps as AMPS's own tools do, for instances that are made up: journal entries and SOW records as text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipeline.amps.journal_dump import EPOCH_MICROS

LINE = "_" * 62
NOON_MICROS = 1_800_000_000_000_000


@dataclass(frozen=True)
class Logged:
    """One journal entry; ``at_s`` is seconds after noon."""

    txid: int
    client: str
    sequence: int
    data: bytes | None
    topic: str = "orders"
    message_type: str = "json"
    type: str = "publish"
    at_s: float = 0.0
    expiration: int = 0

    def text(self, number: int) -> bytes:
        """As ``amps_journal_dump`` prints it."""
        micros = NOON_MICROS + round(self.at_s * 1e6)
        size = 0 if self.data is None else len(self.data)
        fields: list[tuple[str, object]] = [
            ("entry", number),
            ("crc32", 2427361060),
            ("type", self.type),
            ("flags", "none"),
            ("file offset", 4096 + number * 256),
            ("tx byte count", 256),
            ("msg byte count", size),
            ("msg type", self.message_type),
            ("local txid", self.txid),
            ("previous local txid", 0),
            ("source txid", 0),
            ("source name hash", 0),
            ("client name hash", self.client),
            ("client seq", self.sequence),
            ("topic hash", 77),
            ("sow expiration time", self.expiration),
            ("iso8601 timestamp", _iso(micros)),
            ("timestamp", micros + EPOCH_MICROS),
            ("previous byte count", 0),
            ("topic byte count", len(self.topic.encode())),
        ]
        tail = [("correlation id", b""), ("auth id", b"trader"), ("rep path", b"")]
        parts = [b"%-30s: %30s\n" % (name.encode(), str(value).encode()) for name, value in fields]
        parts += [_bracketed("topic", self.topic.encode()), _bracketed("data", self.data or b"")]
        for name, value in tail:
            parts.append(b"%-30s: %30d\n" % (f"{name} byte count".encode(), len(value)))
            parts.append(_bracketed(name, value))
        return b"".join(parts)


@dataclass(frozen=True)
class Kept:
    """One SOW record."""

    key: int
    txid: int
    data: bytes
    at_s: float = 0.0
    expiration: int = 0

    def text(self) -> bytes:
        """As ``amps_sow_dump -v`` prints it."""
        fields = [
            ("crc", "1746452067"),
            ("flags", ""),
            ("slab offset", "4096"),
            ("allocated", "128"),
            ("data size", str(len(self.data))),
            ("expiration", str(self.expiration)),
            ("iso8601 timestamp", _iso(NOON_MICROS + round(self.at_s * 1e6))),
            ("local txid", str(self.txid)),
            ("string key", "[]"),
            ("correlation id", "[]"),
        ]
        lines = [f"key                   = {self.key}\n", *(f"    {name:<17} = {value}\n" for name, value in fields)]
        return "".join(lines).encode() + b"    data              = [" + self.data + b"]\n"


def journal_text(entries: Iterable[Logged]) -> bytes:
    """A whole dump of one journal."""
    logged = list(entries)
    header = f"File Name       : AMPS.0000000000.journal\nFile Size       : 10485760\n{LINE}\n"
    blocks = [one.text(number) + LINE.encode() + b"\n" for number, one in enumerate(logged)]
    footer = f"Total Entries   : {len(logged)}\nTotal Bytes     : {256 * len(logged)}\n"
    return header.encode() + b"".join(blocks) + footer.encode()


def sow_text(records: Iterable[Kept], file: str = "sow/orders.sow") -> bytes:
    """A whole dump of one SOW file."""
    kept = list(records)
    fields = {"File": file, "Version": "amps-sow-v3.0", "Valid Keys": len(kept)}
    summary = "".join(f"{name:<21} : {value}\n" for name, value in fields.items())
    detail = "Slab Detail\n    size              : 5259264\n"
    return b"\n".join(one.text() for one in kept) + (summary + detail).encode()


def write(path: Path, data: bytes) -> str:
    """A file of this content; returns its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return str(path)


def _bracketed(name: str, value: bytes) -> bytes:
    return b"%-30s: [%s]\n" % (name.encode(), value)


def _iso(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1e6, UTC).strftime("%Y%m%dT%H%M%S.%fZ")
