"""Makes the models of readings from their fields in a family file."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Literal

from pydantic import create_model

from orchestrator.errors import AdapterError, UnreadableReply
from orchestrator.model.declared.file import FieldFile, ItemsFile, ReadingFile, manager_state
from orchestrator.model.declared.requests import filled_in, member_at
from orchestrator.model.facets import Facet
from orchestrator.model.other_manager import (
    MANAGER_WHY,
    OTHER_MANAGER,
    ManagerState,
    in_a_sentence,
    manager_in,
    shows_only_a_manager,
)
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Item, Reading, ReadingModel, item_model, matches

_TYPES: Mapping[str, Any] = {"bool": bool | None, "number": int | float | None, "text": str | None}
# Facets that count something are whole numbers.
_COUNTS = frozenset({Facet.BACKLOG, Facet.MARK, Facet.REACHED, Facet.IN_DOUBT, Facet.CLIENTS})
_HEX = re.compile("[0-9A-Fa-f]+")
_YES, _NO = frozenset({"true", "t", "yes", "on", "1"}), frozenset({"false", "f", "no", "off", "0"})


class _Declared(Reading):
    """The base of a reading of a file."""

    def remark(self, names: Collection[str]) -> str:
        """The manager that may act, or that this is unknown."""
        return in_a_sentence((manager_in(type(self), self),)) if self.pilot_field and OTHER_MANAGER in names else ""


def reading_model(family: str, name: str, declared: ReadingFile) -> type[Reading]:
    """The model of one reading; every value may be unknown. Its kind contains the family, so files can choose the names
    of their readings freely."""
    known_by = f"{family}/{name}"
    kind: dict[str, Any] = {"kind": (Literal[known_by], known_by)}
    if declared.items is not None:
        listed: Any = _item_model(name, declared.items)
        return create_model(_title(name), __base__=Reading, **kind, items=(tuple[listed, ...], ()))
    facets = {field.facet: one for one, field in declared.fields.items() if field.facet is not None}
    fields = _fields(declared.fields)
    if Facet.PILOT in facets:
        fields[OTHER_MANAGER] = (ManagerState | None, None)
        fields[MANAGER_WHY] = (str | None, None)
    made = create_model(_title(name), __base__=_Declared, **kind, **fields)
    made.pilot_field = facets.get(Facet.PILOT, "")
    made.facets = {**facets, Facet.PILOT: OTHER_MANAGER} if Facet.PILOT in facets else facets
    made.surveyed = declared.survey
    made.risk = "queue" if Facet.BACKLOG in facets else ""
    counted = {one.facet: one.unit for one in declared.fields.values() if one.unit}
    made.unit = next((counted[one] for one in (Facet.BACKLOG, Facet.REACHED, Facet.MARK) if one in counted), "")
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


def unasked(model: type[Reading]) -> Reading:
    """The reading of a site that is not asked: every value is unknown."""
    return model.model_validate({OTHER_MANAGER: "unasked"} if Facet.PILOT in model.facets else {})


def failed(model: type[Reading], error: AdapterError) -> Reading | Failure:
    """A failure. For a reading that shows only another manager, a reading in which the manager is unknown: a person may
    accept that."""
    if not shows_only_a_manager(model):
        return Failure.of(error)
    return model.model_validate({OTHER_MANAGER: "unknown", MANAGER_WHY: str(error)})


def reading_of(
    model: type[Reading],
    declared: ReadingFile,
    rows: Sequence[Mapping[str, Any]],
    values: Mapping[str, Any] = MappingProxyType({}),
) -> Reading:
    """The reading in ``rows``; ``values`` are the site's. Raises ``UnreadableReply`` for a value that does not fit its
    field, or, if the reading lists no items, unless there is one row."""
    if declared.items is not None:
        item = item_model(model)
        assert item is not None  # it lists some
        listed = [_made(item, declared.items.fields, row, values) for row in _known(declared.items, rows)]
        return model.model_validate({"items": tuple(listed)})
    if len(rows) != 1:
        raise UnreadableReply(
            f"the answer has {len(rows)} rows, but it must have one row", text=str(list(rows))[:500]
        )
    made = _made(model, declared.fields, rows[0], values)
    assert isinstance(made, Reading)
    return made


def _known(declared: ItemsFile, rows: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """The rows that list something. Raises ``UnreadableReply`` where this end cannot know the list."""
    if declared.known is None:
        return rows
    for row in rows:
        if declared.known not in row:
            raise UnreadableReply(f"the answer has no {declared.known!r}", text=str(dict(row))[:500])
        if row[declared.known] is None or not _truth(declared.known, row[declared.known]):
            raise UnreadableReply("this site does not know the list", text=str(dict(row))[:500])
    column = declared.fields[declared.key].from_ or declared.key
    return [row for row in rows if row.get(column) is not None]


def _made(
    model: type[ReadingModel], fields: Mapping[str, FieldFile], row: Mapping[str, Any], values: Mapping[str, Any]
) -> Any:
    found = {name: _value(name, field, row, values) for name, field in fields.items() if not field.all_}
    found = _meaning(model, fields, found)
    known = model.model_construct(**found)  # type: ignore[arg-type]
    combined = {name: matches(known, field.all_) for name, field in fields.items() if field.all_}
    values = _meaning(model, fields, {**found, **combined})
    for name in (name for name, field in fields.items() if field.facet is Facet.PILOT):
        values[OTHER_MANAGER] = manager_state(values[name])
    return model(**values)


def _meaning(
    model: type[ReadingModel], fields: Mapping[str, FieldFile], found: Mapping[str, Any]
) -> dict[str, bool | int | float | str | None]:
    """The values, with None for each value that has no meaning at this end, even if it looks like a number."""
    known = model.model_construct(**found)
    return {
        name: None if fields[name].when and matches(known, fields[name].when) is not True else value
        for name, value in found.items()
    }


_ABSENT = object()


def _value(
    name: str, field: FieldFile, row: Mapping[str, Any], values: Mapping[str, Any]
) -> bool | int | float | str | None:
    column = name if field.from_.startswith("/") else field.from_ or name
    if column not in row and not field.from_.startswith(("/", "@")):
        raise UnreadableReply(f"the answer has no {column!r}, and {name} is read from it", text=str(dict(row))[:500])
    found = row.get(column)
    if found is None:
        return None
    if found is _ABSENT:
        return field.absent
    if field.is_of_list:
        return _has(name, field, found, values)
    if field.true_when is not None:
        wanted = field.true_when
        return matches(
            _Told(value=found), {"value": filled_in(wanted, values) if isinstance(wanted, str) else wanted}
        )
    if field.type == "text":
        return str(found)
    if field.hex_bits is not None:
        return _from_parts(name, str(found), field.hex_bits)
    return _truth(name, found) if field.type == "bool" else _number(name, found, whole=field.facet in _COUNTS)


def _from_parts(name: str, found: str, bits: int) -> int:
    number = 0
    for part in found.split("/"):
        if _HEX.fullmatch(part) is None or int(part, 16) >> bits:
            raise UnreadableReply(
                f"the value of {name} is not a hexadecimal number in parts of {bits} bits", text=found[:500]
            )
        number = (number << bits) | int(part, 16)
    return number


def _has(name: str, field: FieldFile, found: Any, values: Mapping[str, Any]) -> bool:
    if not isinstance(found, list):
        raise UnreadableReply(f"{name} needs a list, but the answer has no list there", text=str(found)[:500])
    wanted = filled_in(field.contains or field.exactly, values)
    wanted = wanted if isinstance(wanted, list | tuple) else (wanted,)
    return all(one in found for one in wanted) and (field.exactly is None or all(one in wanted for one in found))


class _Told(ReadingModel):
    """A value as it was received, for a comparison."""

    value: bool | int | float | str


def _truth(name: str, found: Any) -> bool:
    word = str(found).lower()
    if word in _YES | _NO:
        return word in _YES
    raise UnreadableReply(f"the value of {name} is neither true nor false", text=str(found)[:500])


def _number(name: str, found: Any, *, whole: bool) -> int | float:
    try:
        number = float(str(found))
    except ValueError:
        raise UnreadableReply(f"the value of {name} is not a number", text=str(found)[:500]) from None
    if number != number or number in (float("inf"), float("-inf")) or (whole and number != int(number)):
        raise UnreadableReply(
            f"the value of {name} is not a {'whole ' if whole else ''}number", text=str(found)[:500]
        )
    return int(number) if number == int(number) else number


def rows_of(output: str, code: int, declared: ReadingFile, pick: Mapping[str, str]) -> list[Mapping[str, Any]]:
    """The output of a command, or the answer of an API, as rows. ``code``: the exit code or status. ``pick``: the
    reading's own, with the values of the site filled in.

    A reading that only counts rows, or only tells the code, always has one row.
    """
    fields = declared.listed
    is_json = declared.rows is not None or any(field.from_.startswith("/") for field in fields.values())
    # A status that is no success may be an answer, but its text holds no values (an exit code is below 256).
    is_told = code < 300
    document = _parsed(output) if is_json and is_told else None
    found: list[Any] = [document]
    if declared.rows is not None and is_told:
        listed = member_at(document, declared.rows)
        if not isinstance(listed, list):
            raise UnreadableReply(f"the answer has no list at {declared.rows!r}", text=output[:500])
        found = [one for one in listed if _is_picked(one, pick)]
    plain = {name: field for name, field in fields.items() if not field.all_}
    whole = {"@code": code, "@rows": len(found) if is_told else None}
    if declared.items is None and all(field.from_.startswith("@") for field in plain.values()):
        return [whole]
    return [{**_row(one, output, plain, is_told=is_told), **whole} for one in found]


def _is_picked(member: Any, pick: Mapping[str, str]) -> bool:
    return all(isinstance(member, dict) and str(member.get(name)) == value for name, value in pick.items())


def _row(document: Any, output: str, fields: Mapping[str, FieldFile], *, is_told: bool) -> dict[str, Any]:
    """One row, read by JSON pointer or regular expression. An absent value is null, unless the field gives it a
    meaning."""
    row: dict[str, Any] = {}
    for name, field in fields.items():
        if field.from_.startswith("/"):
            found = member_at(document, field.from_)
            if found is None and field.absent is not None and is_told:
                found = _ABSENT
            # A list or an object is no value, except for the field that asks for its content.
            is_value = not isinstance(found, list | dict) or field.is_of_list
            row[name] = found if is_value else None
        elif field.regex:
            match = re.search(field.regex, output if is_told else "", re.MULTILINE)
            row[name] = None if match is None else match.group(1)
    return row


def _parsed(output: str) -> Any:
    try:
        return json.loads(output)
    except ValueError:
        raise UnreadableReply("the answer is not JSON", text=output[:500]) from None
