"""The keys of SOW topics: which fields tell records apart, and how they are read from a payload.

Message types json, fix and nvfix are read (fields of the latter two end in the byte 1, as AMPS has it by default); of
any other the keys stay unknown. AMPS's own SowKey is a hash whose recipe is not documented, so records of two instances
are matched by their key fields, as facts on AMPS, section 8.1, says for topics without a common definition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F

from orchestrator.errors import DefinitionError
from pipeline.amps.instance import Topic

_JSON = frozenset({"json"})
_FIX = frozenset({"fix", "nvfix"})
_PLAIN = re.compile(r"[A-Za-z0-9_.\- ]+")


@dataclass(frozen=True, slots=True)
class Definition:
    """How one instance tells the records of a topic apart. ``fields`` as AMPS writes them: ``/order/id``, ``/35``.

    ``domain`` and ``generator``: what else goes into AMPS's own key (AMPS configuration guide, SOW topics).
    """

    fields: tuple[str, ...]
    domain: str = ""
    generator: str = ""


Definitions = Mapping[Topic, Definition]


def parse_keys(text: str) -> tuple[Topic, Definition]:
    """``orders.json=/orderId,/region``. Raises ``DefinitionError``."""
    name, equals, fields = text.partition("=")
    topic, dot, message_type = name.strip().rpartition(".")
    paths = tuple(part.strip() for part in fields.split(",") if part.strip())
    if not (equals and dot and topic and message_type and paths and all(path.startswith("/") for path in paths)):
        raise DefinitionError(f"--keys: {text!r} is not TOPIC.TYPE=/FIELD,…", hint="such as orders.json=/orderId")
    return Topic(topic, message_type), Definition(paths)


def is_readable(topic: Topic, definition: Definition | None) -> bool:
    """Can the keys be read from a payload?"""
    return definition is not None and bool(definition.fields) and topic.message_type in _JSON | _FIX


def common_fields(left: Definition | None, right: Definition | None) -> tuple[str, ...]:
    """The fields to match records of both sides by: those of both definitions, so that neither side's are merged."""
    return tuple(sorted({*(left.fields if left else ()), *(right.fields if right else ())}))


def key_of(fields: Mapping[Topic, Sequence[str]], data: str = "data") -> Column:
    """The key of a row with ``topic``, ``message_type`` and a payload; None where none of its fields is there."""
    text = F.col(data).cast("string")
    found = F.lit(None).cast("string")
    for topic, paths in fields.items():
        is_it = (F.col("topic") == topic.name) & (F.col("message_type") == topic.message_type)
        values = [_value(text, topic.message_type, path) for path in paths]
        # An array as JSON: unlike a joined text, no two different keys look alike.
        key = F.when(F.coalesce(*values).isNotNull(), F.to_json(F.array(*values)))
        found = F.when(is_it, key).otherwise(found)
    return found


def _value(text: Column, message_type: str, path: str) -> Column:
    if message_type in _JSON:
        return F.get_json_object(text, _json_path(path))
    name = re.escape(path.strip("/"))
    pattern = rf"(?:^|\x01){name}=([^\x01]*)"
    return F.when(text.rlike(pattern), F.regexp_extract(text, pattern, 1))


def _json_path(path: str) -> str:
    steps = path.strip("/").split("/")
    for step in steps:
        if not _PLAIN.fullmatch(step):
            raise DefinitionError(f"the key field {path} cannot be read from JSON", hint="plain names alone are")
    return "$" + "".join(f"['{step}']" for step in steps)
