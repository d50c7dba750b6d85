"""The output of AMPS's own tools for the files of a simulated instance: ``amps_journal_dump``, ``amps_sow_dump -v``.

Layouts: docs/sources/amps.md, 8. The world keeps messages as numbers, so this module generates their contents. A
message has the same content, client name hash and SowKey at every instance. Its txid is valid only at its own instance.
The txid of a message that is gone from the log is unknown, so its record gets txid 1, the lowest. Nothing here changes
the world.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from urllib.parse import quote

from orchestrator.errors import OutputLost
from simulator.amps.instance import Instance, Record
from simulator.amps.journal import Entry, JournalFile, journal_name
from simulator.amps.layout import InstanceLayout, TopicLayout
from simulator.amps.world import AmpsWorld

_LINE = "_" * 62 + "\n"
_EPOCH_MICROS = 210_866_803_200_000_000  # the raw AMPS timestamp of the start of 1970
_FIRST_TXID = 1_700_000_000_000_000_001  # seconds since the epoch, and a counter


def write_dumps(world: AmpsWorld, name: str, directory: Path) -> int:
    """Write the dumps of one instance at one moment, as ``journal/….txt`` and ``sow/TOPIC.TYPE.txt`` in ``directory``.

    Returns the number of files. Raises ``DefinitionError`` for an unknown instance, ``OutputLost`` for a failed write.
    """
    layout = world.layout.instance(name)
    with world.request():
        dumper = _Dumper(world, layout, world.fabric.instances[name])
        try:
            return sum(_write(directory / path, text) for path, text in dumper.texts())
        except OSError as error:
            raise OutputLost(f"{directory} could not be written: {error.strerror}") from error


def identity_of(publisher: str, number: int) -> str:
    """The identity of a message in the dumps: client name hash and client seq."""
    return f"{_hash_of(publisher)}|{number}"


def _write(path: Path, text: Iterator[str]) -> int:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as stream:
        stream.writelines(text)
    return 1


def _hash_of(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def _content(publisher: str, number: int, key: str, data: str) -> str:
    return data or json.dumps({"id": key, "from": publisher, "number": number})


class _Dumper:
    """One instance at one moment."""

    def __init__(self, world: AmpsWorld, layout: InstanceLayout, instance: Instance) -> None:
        self._world, self._layout, self._instance = world, layout, instance

    def texts(self) -> Iterator[tuple[str, Iterator[str]]]:
        """The path of each dump, and its text in pieces."""
        for file in self._instance.journal.files:
            yield f"journal/{file.number:010d}.txt", self._journal(file)
        for topic in self._layout.topics:
            if topic.keys:
                yield f"sow/{quote(topic.name, safe='')}.{topic.message_type}.txt", self._sow(topic)

    def _journal(self, file: JournalFile) -> Iterator[str]:
        yield f"File Name       : {journal_name(file.number, compressed=file.compressed)}\n{_LINE}"
        for number, (entry, offset) in enumerate((e, n) for e in file.entries for n in range(e.count)):
            yield self._entry(number, entry, offset) + _LINE
        yield f"Total Entries   : {file.messages}\n"

    def _entry(self, number: int, entry: Entry, offset: int) -> str:
        sequence = entry.first + offset
        key = entry.key if entry.key is not None else str(sequence % entry.keys)
        data = _content(entry.publisher, sequence, key, entry.data)
        topic = self._layout.topic(entry.topic)
        micros = self._micros(entry.at)
        fields = [
            ("entry", number),
            ("type", entry.kind),
            ("msg byte count", len(data.encode())),
            ("msg type", "json" if topic is None else topic.message_type),
            ("local txid", _FIRST_TXID + entry.position + offset),
            ("source txid", 0),
            ("source name hash", _hash_of(entry.path[-1]) if entry.path else 0),
            ("client name hash", _hash_of(entry.publisher)),
            ("client seq", sequence),
            ("sow expiration time", 0),
            ("iso8601 timestamp", _iso(micros)),
            ("timestamp", micros + _EPOCH_MICROS),
            ("topic byte count", len(entry.topic.encode())),
        ]
        path = ",".join(entry.path)
        tail = f"{'topic':<30}: [{entry.topic}]\n{'data':<30}: [{data}]\n"
        for name, value in (("correlation id", ""), ("auth id", ""), ("rep path", path)):
            tail += f"{name + ' byte count':<30}: {len(value.encode()):>30}\n{name:<30}: [{value}]\n"
        return "".join(f"{name:<30}: {value:>30}\n" for name, value in fields) + tail

    def _sow(self, topic: TopicLayout) -> Iterator[str]:
        records = self._instance.sow.get(topic.id, {})
        for key, record in records.items():
            yield self._record(topic, key, record)
        yield f"File                  : {topic.name}.sow\nVersion               : amps-sow-v3.0\n"
        yield f"Valid Keys            : {len(records)}\n"

    def _record(self, topic: TopicLayout, key: str, record: Record) -> str:
        number = record.number_of(key)
        position = self._instance.journal.find(record.publisher, number)
        data = _content(record.publisher, number, key, record.data)
        fields = [
            ("data size", len(data.encode())),
            ("expiration", 0),
            ("iso8601 timestamp", _iso(self._micros(record.at))),
            ("local txid", 1 if position is None else _FIRST_TXID + position),
            ("string key", "[]"),
            ("correlation id", "[]"),
            ("data", f"[{data}]"),
        ]
        head = f"key                   = {_hash_of(topic.id + key)}\n"
        return head + "".join(f"    {name:<17} = {value}\n" for name, value in fields) + "\n"

    def _micros(self, moment: float) -> int:
        return round(self._world.epoch(moment) * 1e6)


def _iso(micros: int) -> str:
    return datetime.fromtimestamp(micros / 1e6, UTC).strftime("%Y%m%dT%H%M%S.%fZ")
