"""Readings as models, made from what a family file says of their fields."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import create_model

from orchestrator.errors import UnreadableReply
from orchestrator.model.facets import Facet
from orchestrator.model.family_file import FieldFile, ItemsFile, ReadingFile
from orchestrator.model.reading import Item, Reading, ReadingModel, item_model, matches

_TYPES: Mapping[str, Any] = {"bool": bool | None, "number": int | float | None, "text": str | None}
# Facets that count something are whole numbers.
_COUNTS = frozenset({Facet.BACKLOG, Facet.MARK, Facet.REACHED, Facet.IN_DOUBT, Facet.CLIENTS})
_YES, _NO = frozenset({"true", "t", "yes", "on", "1"}), frozenset({"false", "f", "no", "off", "0"})


def reading_model(name: str, declared: ReadingFile) -> type[Reading]:
    """The model of one reading; every value of it may be unknown."""
    kind: dict[str, Any] = {"kind": (Literal[name], name)}
    if declared.items is not None:
        listed: Any = _item_model(name, declared.items)
        return create_model(_title(name), __base__=Reading, **kind, items=(tuple[listed, ...], ()))
    made = create_model(_title(name), __base__=Reading, **kind, **_fields(declared.fields))
    facets = {field.facet: one for one, field in declared.fields.items() if field.facet is not None}
    made.facets = facets
    made.risk = "queue" if Facet.BACKLOG in facets else ""
    made.unit = next((one.unit for one in declared.fields.values() if one.facet is Facet.BACKLOG), "")
    return made


def _item_model(name: str, declared: ItemsFile) -> type[Item]:
    class Listed(Item):
        """One row."""

        argument = declared.argument
        shown = declared.shown

        @property
        def key(self) -> str:
            """The field that the file names."""
            return str(getattr(self, declared.key))

    fields = {**_fields(declared.fields), declared.key: (str, ...)}
    return create_model(f"{_title(name)}Item", __base__=Listed, **fields)


def _fields(declared: Mapping[str, FieldFile]) -> dict[str, Any]:
    return {
        one: (int | None if field.facet in _COUNTS else _TYPES[field.type], None) for one, field in declared.items()
    }


def _title(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def reading_of(model: type[Reading], declared: ReadingFile, rows: Sequence[Mapping[str, Any]]) -> Reading:
    """What ``rows`` say. Raises ``UnreadableReply`` for what is no value of its field, or not one row."""
    if declared.items is not None:
        item = item_model(model)
        assert item is not None  # it lists some
        listed = [_made(item, declared.items.fields, row) for row in rows]
        return model.model_validate({"items": tuple(listed)})
    if len(rows) != 1:
        raise UnreadableReply(f"the answer has {len(rows)} rows, and one is needed", text=str(list(rows))[:500])
    made = _made(model, declared.fields, rows[0])
    assert isinstance(made, Reading)
    return made


def _made(model: type[ReadingModel], fields: Mapping[str, FieldFile], row: Mapping[str, Any]) -> Any:
    values: dict[str, Any] = {name: _value(name, field, row) for name, field in fields.items()}
    known = model.model_construct(**values)
    for name, field in fields.items():
        # A value that means nothing at this end is unknown, however much of a number it looks.
        if field.when and matches(known, field.when) is not True:
            values[name] = None
    return model(**values)


def _value(name: str, field: FieldFile, row: Mapping[str, Any]) -> bool | int | float | str | None:
    column = field.from_ or name
    if column not in row and not column.startswith(("/", "@")):
        raise UnreadableReply(f"the answer has no {column!r}, which {name} is read from", text=str(dict(row))[:500])
    found = row.get(column)
    if found is None:
        return None
    if field.true_when is not None:
        return matches(_Told(value=found), {"value": field.true_when})
    if field.type == "text":
        return str(found)
    return _truth(name, found) if field.type == "bool" else _number(name, found, whole=field.facet in _COUNTS)


class _Told(ReadingModel):
    """A value as it came, to be compared."""

    value: bool | int | float | str


def _truth(name: str, found: Any) -> bool:
    word = str(found).lower()
    if word in _YES | _NO:
        return word in _YES
    raise UnreadableReply(f"{name} is neither true nor false", text=str(found)[:500])


def _number(name: str, found: Any, *, whole: bool) -> int | float:
    try:
        number = float(str(found))
    except ValueError:
        raise UnreadableReply(f"{name} is not a number", text=str(found)[:500]) from None
    if number != number or number in (float("inf"), float("-inf")) or (whole and number != int(number)):
        raise UnreadableReply(f"{name} is not a {'whole ' if whole else ''}number", text=str(found)[:500])
    return int(number) if number == int(number) else number


def rows_of(output: str, code: int, declared: ReadingFile, pick: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """What a command printed or an API answered, as rows. ``code``: its exit code or status; ``pick``: as the reading has
    it, with the values of the site.

    A reading that only counts rows, or only tells the code, has one row whatever there was.
    """
    fields = declared.listed
    is_json = declared.rows is not None or any(field.from_.startswith("/") for field in fields.values())
    # A status that is no success may be an answer, and what it says of itself is no value (an exit code is below 256).
    is_told = code < 300
    document = _parsed(output) if is_json and is_told else None
    found: list[Any] = [document]
    if declared.rows is not None and is_told:
        listed = _at(document, declared.rows)
        if not isinstance(listed, list):
            raise UnreadableReply(f"there is no list at {declared.rows!r} of the answer", text=output[:500])
        found = [one for one in listed if _is_picked(one, pick)]
    whole = {"@code": code, "@rows": len(found) if is_told else None}
    if declared.items is None and all(field.from_.startswith("@") for field in fields.values()):
        return [whole]
    return [{**_row(one, output if is_told else "", fields), **whole} for one in found]


def _is_picked(member: Any, pick: Mapping[str, str]) -> bool:
    return all(isinstance(member, dict) and str(member.get(name)) == value for name, value in pick.items())


def _row(document: Any, output: str, fields: Mapping[str, FieldFile]) -> dict[str, Any]:
    """By JSON pointer or regular expression; what is absent is null."""
    row: dict[str, Any] = {}
    for name, field in fields.items():
        if field.from_.startswith("/"):
            found = _at(document, field.from_)
            # A list or an object is no value.
            row[field.from_] = None if isinstance(found, list | dict) else found
        elif field.regex:
            match = re.search(field.regex, output, re.MULTILINE)
            row[name] = None if match is None else match.group(1)
    return row


def _parsed(output: str) -> Any:
    try:
        return json.loads(output)
    except ValueError:
        raise UnreadableReply("the answer is not JSON", text=output[:500]) from None


def _at(document: Any, pointer: str) -> Any:
    """RFC 6901, section 4; None for what is absent."""
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(document, list):
            document = document[int(key)] if key.isdecimal() and int(key) < len(document) else None
        else:
            document = document.get(key) if isinstance(document, dict) else None
    return document
