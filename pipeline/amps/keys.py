"""The keys of SOW topics: the fields that identify records, and how to read them from a payload.

Message types json, fix and nvfix are read (fields of fix and nvfix end in the byte 1, the default of AMPS). For other
types the keys are unknown. AMPS's own SowKey is a hash with an undocumented method, so records of two instances are
matched by their key fields, as docs/sources/amps.md, 8.1, says for topics without a common definition.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from orchestrator.errors import DefinitionError
from pipeline.amps.instance import Topic

_JSON = frozenset({"json"})
_FIX = frozenset({"fix", "nvfix"})
_FIELDS_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Definition:
    """How one instance identifies the records of a topic. ``fields``: as AMPS writes them, ``/order/id``, ``/35``.

    ``domain`` and ``generator``: other inputs of AMPS's own key (AMPS configuration guide, SOW topics).
    """

    fields: tuple[str, ...]
    domain: str = ""
    generator: str = ""


Definitions = Mapping[Topic, Definition]


def parse_keys(text: str) -> tuple[Topic, Definition]:
    """Topic and definition of ``orders.json=/orderId,/region``. Raises ``DefinitionError``."""
    name, equals, fields = text.partition("=")
    topic, dot, message_type = name.strip().rpartition(".")
    paths = tuple(part.strip() for part in fields.split(",") if part.strip())
    if not (equals and dot and topic and message_type and paths and all(path.startswith("/") for path in paths)):
        raise DefinitionError(
            f"--keys: {text!r} does not have the form TOPIC.TYPE=/FIELD,…", hint="such as orders.json=/orderId"
        )
    return Topic(topic, message_type), Definition(paths)


def is_readable(topic: Topic, definition: Definition | None) -> bool:
    """Can the keys be read from a payload?"""
    return definition is not None and bool(definition.fields) and topic.message_type in _JSON | _FIX


def common_fields(left: Definition | None, right: Definition | None) -> tuple[str, ...]:
    """The fields that match records of both sides: the fields of both definitions, so no records of a side are merged."""
    return tuple(sorted({*(left.fields if left else ()), *(right.fields if right else ())}))


@dataclass(frozen=True, slots=True)
class Keys:
    """The fields of keys by topic, for a reader of payloads."""

    fields: Mapping[Topic, Sequence[str]]

    @classmethod
    def of(cls, plain: Iterable[Sequence[Any]]) -> Keys:
        """The keys from the value of ``plain``."""
        return cls({Topic(topic, message_type): tuple(fields) for topic, message_type, fields in plain})

    @property
    def plain(self) -> list[list[object]]:
        """The keys as values that JSON can hold."""
        return [[topic.name, topic.message_type, list(fields)] for topic, fields in self.fields.items()]

    def __contains__(self, topic: Topic) -> bool:
        return topic in self.fields

    def key_of(self, data: bytes, topic: Topic) -> str | None:
        """The key in a payload; None if the payload has none of its fields, or the topic's fields are unknown."""
        paths = self.fields.get(topic)
        if not paths:
            return None
        values = _values(data, topic.message_type, paths)
        if all(value is None for value in values):
            return None
        # A JSON array: unlike joined text, two different keys never give the same text.
        return json.dumps(values, ensure_ascii=False, separators=(",", ":"))


def fields_in(data: bytes, message_type: str) -> str | None:
    """The names of a payload's first fields, for a finding about a key field that does not exist."""
    if message_type in _JSON:
        found = _document(data)
        names = list(found) if isinstance(found, dict) else []
    else:
        names = [part.partition("=")[0] for part in _text(data).split("\x01") if "=" in part]
    return ", ".join(names[:_FIELDS_SHOWN]) or None


def _values(data: bytes, message_type: str, paths: Sequence[str]) -> list[str | None]:
    if message_type in _JSON:
        document = _document(data)
        return [_at(document, path) for path in paths]
    text = _text(data)
    return [_tag(text, path.strip("/")) for path in paths]


def _document(data: bytes) -> object:
    """A JSON payload with numbers as text. 1 and 1.0 are two different keys, as in a hash of the text."""
    try:
        return json.loads(_text(data), parse_int=str, parse_float=str, parse_constant=str)
    except (ValueError, RecursionError):
        return None


def _at(document: object, path: str) -> str | None:
    found = document
    for step in path.strip("/").split("/"):
        if not isinstance(found, dict) or step not in found:
            return None
        found = found[step]
    if found is None or isinstance(found, str):
        return found
    return json.dumps(found, ensure_ascii=False, separators=(",", ":"))


def _tag(text: str, name: str) -> str | None:
    found = re.search(rf"(?:^|\x01){re.escape(name)}=([^\x01]*)", text)
    return None if found is None else found[1]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
