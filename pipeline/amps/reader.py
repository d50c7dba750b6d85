"""The records of dumps as Arrow batches, for any engine: each with digest and keys, without its payload.

Each file is read from its start by one task. A payload may contain text that looks like records, so a reader that starts
in the middle cannot find the start of a record. Rows with a ``reason`` are unreadable pieces, with file and offset; no
other rows are lost. PyArrow opens the files, so a URI works if PyArrow knows its scheme.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import IO, Any, Literal

import pyarrow as pa

from pipeline.amps.files import open_dump, pieces_of, remark_on
from pipeline.amps.instance import Topic, topic_of
from pipeline.amps.journal_dump import Entry, JournalDump
from pipeline.amps.keys import Keys, fields_in
from pipeline.amps.kinds import kind_of
from pipeline.amps.sow_dump import SowDump, SowRecord
from pipeline.amps.text import Quarantined
from pipeline.rows import digest_of

_ROWS_A_BATCH = 4096
What = Literal["journal", "sow"]

_COMMON = [
    pa.field("file", pa.string()),
    pa.field("place", pa.int64()),
    pa.field("reason", pa.string()),
    pa.field("length", pa.int64()),
    pa.field("excerpt", pa.binary()),
    pa.field("topic", pa.string()),
    pa.field("message_type", pa.string()),
    pa.field("txid", pa.int64()),
    pa.field("micros", pa.int64()),
    pa.field("expiration", pa.int64()),
    pa.field("digest", pa.binary()),
    # The key by the instance's own definition, and the key by both sides' fields. `fields`: once for each topic of a
    # file, the fields of a payload that lacks the key.
    pa.field("own_key", pa.string()),
    pa.field("pair_key", pa.string()),
    pa.field("fields", pa.string()),
]
_SCHEMAS: Mapping[str, pa.Schema] = {
    "journal": pa.schema(
        [
            *_COMMON,
            pa.field("type", pa.string()),
            pa.field("kind", pa.string()),
            pa.field("client", pa.string()),
            pa.field("sequence", pa.int64()),
        ]
    ),
    "sow": pa.schema([*_COMMON, pa.field("sow_key", pa.string())]),
}


def schema_of(what: str) -> pa.Schema:
    """The columns of journal entries, or of SOW records."""
    return _SCHEMAS[what]


def batches_of(what: str, address: str, settings: Mapping[str, Any]) -> Iterator[pa.RecordBatch]:
    """The records of one dump of ``amps_journal_dump`` or ``amps_sow_dump -v``, and its unreadable pieces.

    ``settings``: ``own`` and ``pair``, the fields of keys by topic (``pipeline.amps.keys.Keys.plain``). Raises
    ``OSError``.
    """
    schema = _SCHEMAS[what]
    keys = Keys.of(settings.get("own", ())), Keys.of(settings.get("pair", ()))
    columns: list[list[object]] = [[] for _ in schema]
    with open_dump(address) as stream:
        for row in _rows(what, address, stream, keys):
            for column, field in zip(columns, schema, strict=True):
                column.append(row.get(field.name))
            if len(columns[0]) >= _ROWS_A_BATCH:
                yield _batch(columns, schema)
                columns = [[] for _ in schema]
    if columns[0]:
        yield _batch(columns, schema)


def _batch(columns: Sequence[Sequence[object]], schema: pa.Schema) -> pa.RecordBatch:
    arrays = [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _rows(what: str, file: str, stream: IO[bytes], keys: tuple[Keys, Keys]) -> Iterator[dict[str, object]]:
    """One dictionary for each record, unreadable piece, or remark on the whole dump."""
    dump = JournalDump(stream) if what == "journal" else SowDump(stream)
    topic = None if what == "journal" else topic_of(file)
    found, shown = 0, set[Topic]()
    for one in pieces_of(dump):
        if isinstance(one, Quarantined):
            yield {
                "file": file,
                "place": one.offset,
                "reason": one.reason,
                "length": one.length,
                "excerpt": one.excerpt,
            }
            continue
        found += 1
        whose = topic or (Topic(one.topic, one.message_type) if isinstance(one, Entry) else None)
        assert whose is not None  # the name of a SOW dump is its topic
        row = {"file": file, "place": one.offset, **_record(one, whose), **_keyed(one.data, whose, keys)}
        if row["own_key"] is None and whose in keys[0] and whose not in shown and one.data:
            shown.add(whose)
            row["fields"] = fields_in(one.data, whose.message_type)
        yield row
    remark = remark_on(dump.total, found)
    if remark is not None:
        yield {"file": file, "reason": remark}


def _record(one: Entry | SowRecord, topic: Topic) -> dict[str, object]:
    row: dict[str, object] = {
        "topic": topic.name,
        "message_type": topic.message_type,
        "txid": one.txid,
        "micros": one.micros,
        "expiration": one.expiration,
        "digest": None if one.data is None else digest_of(one.data),
    }
    if isinstance(one, SowRecord):
        return {**row, "sow_key": one.key}
    return {**row, "type": one.type, "kind": kind_of(one.type), "client": one.client, "sequence": one.sequence}


def _keyed(data: bytes | None, topic: Topic, keys: tuple[Keys, Keys]) -> dict[str, object]:
    own, pair = keys
    if data is None or (topic not in own and topic not in pair):
        return {"own_key": None, "pair_key": None}
    return {"own_key": own.key_of(data, topic), "pair_key": pair.key_of(data, topic)}
