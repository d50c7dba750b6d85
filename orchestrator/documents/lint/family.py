"""Finds mistakes in a formally correct family file: unknown names, visible secrets, actions that do not fit together,
facets on the wrong kind of value.

This module must never connect to anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from orchestrator.documents.lint.family_conduct import lint_conduct
from orchestrator.documents.lint.family_model import lint_model
from orchestrator.documents.lint.family_words import half_words_of, lint_words
from orchestrator.documents.source_map import Diagnostic, Lines, Path, error_at, findings_of, quoted
from orchestrator.family.reachability import REACHABILITY
from orchestrator.model.declared.file import (
    GIVEN,
    ActionFile,
    FamilyFile,
    FieldFile,
    ItemsFile,
    ReadingFile,
    item_arguments,
)
from orchestrator.model.declared.requests import MessageFile, RequestFile, words_in
from orchestrator.model.facets import Facet
from orchestrator.model.findings import Finding, Level
from orchestrator.model.other_manager import MANAGER_WHY, OTHER_MANAGER
from orchestrator.suggestions import suggest

_TRUTHS = frozenset({Facet.SERVES, Facet.LINK, Facet.SUSPENDED, Facet.BLOCKED})
_COUNTED: Mapping[Facet | None, str] = {
    Facet.BACKLOG: "the data that waits for the mate",
    Facet.MARK: "the data that a site has issued",
    Facet.REACHED: "the data that has arrived",
}
_SECRET = re.compile(
    r"(?:^|_)(?:passwords?|passwd|pwd|passphrase|secrets?|tokens?|credentials?|api_?key|private_key)$"
)
_CHANGES = re.compile(
    r"\b(insert\s+into|update\s+\w+\s+set|delete\s+from|alter\s|create\s|drop\s|truncate\s|pg_promote|pg_terminate_backend)",
    re.IGNORECASE,
)

# Parts of a subject that request a change from an API.
_CHANGING_PARTS = frozenset(
    {"CREATE", "UPDATE", "DELETE", "PURGE", "REMOVE", "RESTORE", "STEPDOWN", "PAUSE", "RESET"}
)


def lint_family(family: FamilyFile, *, file: str | None = None, lines: Lines | None = None) -> list[Finding]:
    """Errors and warnings, in the order of the file. A family file with errors must not be used."""
    told = [
        *_options(family),
        *_readings(family),
        *_actions(family),
        *_fences(family),
        *_whole(family),
        *_secrets(family),
        *lint_conduct(family),
    ]
    return findings_of(told, file=file, lines=lines)


def _options(file: FamilyFile) -> Iterator[Diagnostic]:
    for name, option in file.options.items():
        path = ("options", name)
        if name in GIVEN or name in file.connect.given:
            what = f"every site already has the name {name}; choose another name for this option"
            yield error_at(path, "option-given", what)
        if _SECRET.search(name):
            hint = "put a password into the `login` of the site; only the database gets this password"
            what = f"the name {name} means a secret, but commands and records show the values of options"
            yield error_at(path, "option-secret", what, hint)
        if option.default is not None and not option.fits(option.default):
            what = f"the default of {name} is not of the type {option.type}"
            yield error_at((*path, "default"), "option-default", what)


def _secrets(file: FamilyFile) -> Iterator[Diagnostic]:
    """A family file must contain no secret, because it is shown, and recorded with every run."""
    hint = "put a password into the `login` of the site, and a token into the `options` of the site"
    if file.connect.sql is not None:
        for name in filter(_SECRET.search, file.connect.sql.arguments):
            what = f"the name {name} means a secret, but everyone can see the family file"
            yield error_at(("connect", "sql", "arguments", name), "secret-written", what, hint)
    for room, everything in (("readings", file.readings), ("actions", file.actions)):
        for name, one in everything.items():
            for key in sorted({key for request in one.requests for key in request.keys}):
                if _SECRET.search(key):
                    what = f"the name {key} means a secret, but everyone can see the family file"
                    yield error_at((room, name, one.protocol), "secret-written", what, hint)


def _whole(file: FamilyFile) -> Iterator[Diagnostic]:
    everything: list[ReadingFile | ActionFile] = [*file.readings.values(), *file.actions.values()]
    if file.connect.sql is None and any(one.sql is not None for one in everything):
        yield error_at(("connect",), "not-connected", "SQL statements need a database; add connect.sql")
    if file.connect.ssh is None and any(one.ssh is not None for one in everything):
        what = "commands at the site need an SSH session; add connect.ssh, which may be empty: {}"
        yield error_at(("connect",), "not-connected", what)
    if file.connect.http is None and any(one.http is not None for one in everything):
        what = "HTTP requests need an API; add connect.http, which may be empty: {}"
        yield error_at(("connect",), "not-connected", what)
    if file.connect.nats is None and any(one.nats is not None for one in everything):
        what = "NATS messages need a server; add connect.nats, which may be empty: {}"
        yield error_at(("connect",), "not-connected", what)
    for protocol, connect in (("http", file.connect.http), ("nats", file.connect.nats)):
        port = None if connect is None else connect.port
        if port is not None and (port not in file.options or file.options[port].type != "number"):
            hint = suggest(port, file.options)
            what = f"there is no option {port} of the type number"
            yield error_at(("connect", protocol, "port"), "unknown-option", what, hint)
    surveyed = [reading for reading in file.readings.values() if reading.survey]
    facets = [one.facet for reading in surveyed for one in reading.fields.values()]
    yield from _ends(file)
    if Facet.SERVES not in facets:
        what = "no field has the facet serves, so no reading shows which site is active"
        yield error_at(("readings",), "no-serves", what)
    # There may be several other managers, one in each reading. All of them count.
    single = [one for one in facets if one is not None and one is not Facet.PILOT]
    for facet in {one for one in single if single.count(one) > 1}:
        what = f"more than one field has the facet {facet.value}; give the facet to one field only"
        yield error_at(("readings",), "facet-twice", what)
    yield from lint_model(file, _truths(file) - _TRUTHS)
    changed = any(Facet.SERVES in one.makes for one in file.actions.values())
    if file.actions and not changed:
        hint = "write `makes: {serves: …}` at the action that changes this; lint needs it to check the runbooks"
        yield Diagnostic(("actions",), Level.WARNING, "nothing-made", "no action changes which site serves", hint)


def _ends(file: FamilyFile) -> Iterator[Diagnostic]:
    """The counts of the two ends are compared, so both ends must count, and in the same unit."""
    found = {
        field.facet: (("readings", reading, "fields", name), field.unit)
        for reading, declared in file.readings.items()
        for name, field in declared.fields.items()
        if field.facet in _COUNTED
    }
    for facet, other in ((Facet.MARK, Facet.REACHED), (Facet.REACHED, Facet.MARK)):
        if facet in found and other not in found:
            hint = "give both facets, or add a field with the facet backlog"
            what = f"the facet {facet} without the facet {other} cannot show that the source is drained"
            yield error_at(found[facet][0], "one-end", what, hint)
    units = {unit for _, unit in found.values() if unit}
    if file.words.backlog and units and file.words.backlog not in units:
        counted = " and in ".join(sorted(units))
        what = f"`words.backlog` has the unit {file.words.backlog}, but the fields count in {counted}"
        yield error_at(("words", "backlog"), "two-units", what)
    if len(units) > 1:
        path = next(path for path, _ in found.values())
        what = f"the fields of both sites count in {' and in '.join(sorted(units))}; use one unit"
        yield error_at(path, "two-units", what)


def _readings(file: FamilyFile) -> Iterator[Diagnostic]:
    for name, reading in file.readings.items():
        path: Path = ("readings", name)
        first = file.readings.get(reading.after or "")
        yield from lint_words(file, path, reading, () if first is None else tuple(first.fields))
        yield from _only_with(file, path, reading)
        pilots = [one for one in reading.fields.values() if one.facet is Facet.PILOT]
        if len(pilots) > 1:
            hint = "give each manager a separate reading"
            what = f"the reading {name} shows {len(pilots)} other managers, but a reading can show only one"
            yield error_at((*path, "fields"), "facet-twice", what, hint)
        if name in (REACHABILITY, OTHER_MANAGER):
            what = f"a reading cannot have the name {name}, because the program makes a reading of that name"
            yield error_at(path, "reading-name", what)
        if reading.after is not None and (first is None or first.after is not None or first.items is not None):
            what = f"`after` must name a reading with fields and no `after`, but {quoted(reading.after)} does not fit"
            yield error_at((*path, "after"), "unknown-reading", what, suggest(reading.after, file.readings))
        if reading.sql is not None and (found := _CHANGES.search(reading.sql)):
            what = f"a reading must not change anything, but this statement has {found.group(1)!r}"
            yield error_at((*path, "sql"), "reading-changes", what)
        if reading.http is not None and reading.http.method != "GET":
            what = f"a reading must not change anything, but {reading.http.method} may change something; use get"
            yield error_at((*path, "http"), "reading-changes", what)
        yield from _changing_reads(path, reading)
        if reading.rows is not None and reading.rows and not reading.rows.startswith("/"):
            what = "`rows` must be a JSON pointer (/…), or empty for the whole answer"
            yield error_at((*path, "rows"), "field-source", what)
        fields = reading.listed
        where = (*path, "fields") if reading.items is None else (*path, "items", "fields")
        for field_name, field in fields.items():
            yield from _field(file, reading, (*where, field_name), field_name, field, fields)
        if reading.items is not None:
            yield from _listed(reading, reading.items, path)
            for key in (reading.items.key, *reading.items.shown):
                if key not in fields:
                    what = f"the items of this reading have no field {quoted(key)}"
                    yield error_at((*path, "items"), "unknown-field", what)


def _only_with(file: FamilyFile, path: Path, reading: ReadingFile) -> Iterator[Diagnostic]:
    """A reading that may be left out (``only_with``) must name a text option whose default is empty."""
    option = file.options.get(reading.only_with or "")
    if reading.only_with is not None and (option is None or option.default != ""):
        what = (
            f"`only_with` must name a text option with an empty default, but {quoted(reading.only_with)} does not fit"
        )
        yield error_at((*path, "only_with"), "unknown-option", what, suggest(reading.only_with, file.options))


def _changing_reads(path: Path, one: ReadingFile | ActionFile) -> Iterator[Diagnostic]:
    """The requests of a reading, and the first request of an action that sends a document back, must change nothing."""
    asked = [request.changed.from_ for request in one.requests if request.changed is not None]
    if isinstance(one, ReadingFile):
        asked += one.requests
        if any(request.changed is not None for request in one.requests):
            what = "a reading cannot send a document back; use `with` only in an action"
            yield error_at((*path, one.protocol), "reading-changes", what)
    elif any(isinstance(request, RequestFile) and request.method != "GET" for request in asked):
        yield error_at((*path, "http"), "reading-changes", "the request that reads the document first must use get")
    for request in asked:
        for part in request.subject if isinstance(request, MessageFile) else ():
            if part.upper() in _CHANGING_PARTS:
                what = f"a reading must not change anything, but the message {'.'.join(request.address)} may do so"
                yield error_at((*path, "nats"), "reading-changes", what)


def _listed(reading: ReadingFile, items: ItemsFile, path: Path) -> Iterator[Diagnostic]:
    if items.known is not None and reading.sql is None:
        what = "`known` names a column, but this reading is not an SQL query"
        yield error_at((*path, "items"), "field-source", what)


def _field(
    file: FamilyFile,
    reading: ReadingFile,
    path: Path,
    name: str,
    field: FieldFile,
    fields: Mapping[str, FieldFile],
) -> Iterator[Diagnostic]:
    if name in ("kind", OTHER_MANAGER, MANAGER_WHY):
        what = f"a field cannot have the name {name}, because the program has a field of that name"
        yield error_at(path, "field-name", what)
    yield from _source(reading, path, name, field)
    for key, others in (("when", field.when), ("all", field.all_)):
        for other in others:
            if other not in fields or other == name:
                what = f"this reading has no other field {quoted(other)}"
                yield error_at((*path, key), "unknown-field", what, suggest(other, fields))
            elif fields[other].all_:
                what = f"the field {other} is made of other fields; name those fields instead"
                yield error_at((*path, key), "unknown-field", what)
    yield from _options_of(file, path, field)
    if field.true_when == ():
        what = f"the field {name} is never true, because its list `true_when` is empty"
        yield error_at((*path, "true_when"), "never-true", what)
    if field.facet is None:
        return
    fits, wanted = _facet_fits(field)
    if not fits:
        what = f"a field with the facet {field.facet.value} must be {wanted}, but {name} is not"
        yield error_at(path, "facet-type", what)
    if field.facet in _COUNTED and not field.unit:
        what = f"the field {name} counts {_COUNTED[field.facet]}, but has no unit"
        yield error_at(path, "no-unit", what, "add `unit`: byte, message, row, …")
    if field.unit.endswith("/s") or "per second" in field.unit:
        yield error_at(path, "rate", f"{name} is a rate ({field.unit}), which does not show how much data waits")


def _options_of(file: FamilyFile, path: Path, field: FieldFile) -> Iterator[Diagnostic]:
    """The options that a field is compared with must exist and fit."""
    known = {*GIVEN, *file.options}
    for key, value in (
        ("true_when", field.true_when),
        ("contains", field.contains),
        ("exactly", field.exactly),
    ):
        words = (value,) if isinstance(value, str) else ()
        for name in words_in(words):
            if name not in known:
                what = f"there is no option {quoted(name)}"
                yield error_at((*path, key), "unknown-option", what, suggest(name, known))
            elif key == "true_when" and name in file.options and file.options[name].type == "list":
                what = f"the option {name} is a list; use `contains` instead of `true_when`"
                yield error_at((*path, key), "list-word", what)
        yield from half_words_of((*path, key), words)
    kinds = {"bool": bool, "text": str, "number": int | float}
    fits = field.absent is None or isinstance(field.absent, kinds[field.type])
    if not fits or (field.type == "number" and isinstance(field.absent, bool)):
        what = f"the value {quoted(str(field.absent))} of `absent` is not of the type {field.type}"
        yield error_at((*path, "absent"), "field-source", what)


def _facet_fits(field: FieldFile) -> tuple[bool, str]:
    """Does the field have the type of its facet? Also returns that type in words."""
    if field.facet is Facet.NODE:
        return field.type == "text", "a text"
    if field.facet is Facet.PILOT:
        return field.type in ("text", "bool"), "a text that names the manager, or true or false"
    if field.facet in _TRUTHS:
        return field.type == "bool", "true or false"
    return field.type == "number", "a number"


def _source(reading: ReadingFile, path: Path, name: str, field: FieldFile) -> Iterator[Diagnostic]:
    """The source of a field must exist in this kind of reading."""
    special = field.from_ in ("@code", "@rows")
    if field.all_:
        return
    if reading.sql is None and not (field.from_.startswith("/") or field.regex or special):
        what = f"the field {name} of a command or request needs a JSON pointer (from: /…), a regex, @code or @rows"
        yield error_at(path, "field-source", what)
    if field.from_ == "@rows" and reading.rows is None:
        what = f"the field {name} counts rows, but the reading has no `rows` that gives their place"
        yield error_at(path, "field-source", what)
    if reading.sql is not None and (field.from_.startswith(("/", "@")) or field.regex):
        yield error_at(path, "field-source", f"the field {name} of an SQL query must name a column (from: …)")


def _actions(file: FamilyFile) -> Iterator[Diagnostic]:
    truths = _truths(file)
    for name, action in file.actions.items():
        path: Path = ("actions", name)
        yield from lint_words(file, path, action, (*action.arguments, *item_arguments(file, action)))
        yield from _on_item(file, path, action)
        yield from _changing_reads(path, action)
        for facet in action.makes:
            if facet not in truths:
                what = f"`makes` names {facet}, which is not a facet or a field that is true or false"
                yield error_at((*path, "makes"), "makes-what", what)
        if action.inverse is None:
            continue
        if not action.makes:
            what = f"the action {name} has no `makes`, so no reading can show that the action was rolled back"
            yield error_at((*path, "inverse"), "no-inverse", what, "give the action `makes: {…}`")
        inverse = file.actions.get(action.inverse)
        if inverse is None:
            hint = suggest(action.inverse, file.actions)
            yield error_at((*path, "inverse"), "unknown-action", f"there is no action {quoted(action.inverse)}", hint)
        elif inverse.arguments != action.arguments:
            what = f"the inverse {action.inverse} does not take the same arguments as {name}"
            yield error_at((*path, "inverse"), "inverse-arguments", what)
        elif any(inverse.makes.get(facet) is value for facet, value in action.makes.items()):
            what = f"the inverse {action.inverse} makes the same value as {name}, so the inverse does not undo {name}"
            yield error_at((*path, "inverse"), "no-inverse", what)


def _fences(file: FamilyFile) -> Iterator[Diagnostic]:
    for name, fence in file.fences.items():
        if fence.action not in file.actions:
            what = f"there is no action {quoted(fence.action)}"
            yield error_at(("fences", name, "action"), "unknown-action", what, suggest(fence.action, file.actions))
        if fence.reading not in file.readings:
            what = f"there is no reading {quoted(fence.reading)}, so no reading would prove the fence"
            yield error_at(
                ("fences", name, "reading"), "unknown-reading", what, suggest(fence.reading, file.readings)
            )


def _on_item(file: FamilyFile, path: Path, action: ActionFile) -> Iterator[Diagnostic]:
    lists = {name for name, reading in file.readings.items() if reading.items is not None}
    if action.on_item is not None and action.on_item not in lists:
        what = f"`on_item` must name a reading that lists items, but {quoted(action.on_item)} does not fit"
        yield error_at((*path, "on_item"), "unknown-reading", what, suggest(action.on_item, lists))
    if action.database is not None:
        yield from half_words_of((*path, "database"), (action.database,))
        for name in words_in((action.database,)):
            if name not in {*GIVEN, *file.options}:
                yield error_at((*path, "database"), "unknown-option", f"there is no option {quoted(name)}")


def _truths(file: FamilyFile) -> set[str]:
    """The names that an action may make: boolean facets, and boolean fields without a facet."""
    fields = (item for reading in file.readings.values() for item in reading.fields.items())
    own = {name for name, field in fields if field.type == "bool" and field.facet is None}
    return own | {str(facet) for facet in _TRUTHS}
