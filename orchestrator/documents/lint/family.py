"""What is wrong with a family file that is formally right: names that nothing has, secrets where they are seen, actions
that do not fit together, facets on the wrong kind of value.

Must never connect to anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from orchestrator.documents.source_map import Diagnostic, Lines, Path, findings_of, quoted
from orchestrator.model.facets import Facet
from orchestrator.model.family_file import (
    GIVEN,
    HTTP_OPTIONS,
    ActionFile,
    FamilyFile,
    FieldFile,
    ReadingFile,
    RequestFile,
    bound_in,
    half_words,
    words_in,
)
from orchestrator.model.findings import Finding, Level
from orchestrator.suggestions import suggest

_TRUTHS = frozenset({Facet.SERVES, Facet.LINK, Facet.SUSPENDED, Facet.BLOCKED})
_SECRET = re.compile(r"(?:^|_)(?:password|passphrase|secret|token)$")
_SHELLS = frozenset({"sh", "bash", "dash", "ksh", "zsh"})
_CHANGES = re.compile(
    r"\b(insert\s+into|update\s+\w+\s+set|delete\s+from|alter\s|create\s|drop\s|truncate\s|pg_promote|pg_terminate_backend)",
    re.IGNORECASE,
)


def lint_family(family: FamilyFile, *, file: str | None = None, lines: Lines | None = None) -> list[Finding]:
    """Errors and warnings, in the order of the file. Errors forbid its use."""
    told = [*_options(family), *_readings(family), *_actions(family), *_whole(family), *_secrets(family)]
    return findings_of(told, file=file, lines=lines)


def _error(path: Path, code: str, message: str, hint: str = "") -> Diagnostic:
    return Diagnostic(path, Level.ERROR, code, message, hint)


def _options(file: FamilyFile) -> Iterator[Diagnostic]:
    for name, option in file.options.items():
        path = ("options", name)
        if name in GIVEN or (file.connect.http is not None and name in HTTP_OPTIONS):
            yield _error(path, "option-given", f"{name} is what every site has; an option needs another name")
        if _SECRET.search(name):
            hint = "a password belongs into the site's login, and reaches the database alone"
            yield _error(path, "option-secret", f"{name} would be seen in commands and records", hint)
        fits = option.default is None or isinstance(option.default, str if option.type == "text" else int)
        if not fits:
            yield _error((*path, "default"), "option-default", f"the default of {name} is no {option.type}")


def _secrets(file: FamilyFile) -> Iterator[Diagnostic]:
    """A family file is shown, and recorded with every run."""
    hint = "a password belongs into the site's login, and a token into its options"
    if file.connect.sql is not None:
        for name in filter(_SECRET.search, file.connect.sql.arguments):
            yield _error(
                ("connect", "sql", "arguments", name), "secret-written", f"{name} would be seen by all", hint
            )
    for room, everything in (("readings", file.readings), ("actions", file.actions)):
        for name, one in everything.items():
            requests = () if one.http is None else (one.http,) if isinstance(one, ReadingFile) else one.http
            for key in {key for request in requests for key in (*request.query, *_keys(request.body))}:
                if _SECRET.search(key):
                    yield _error((room, name, "http"), "secret-written", f"{key} would be seen by all", hint)


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from (str(key), *_keys(inner))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _keys(inner)


def _whole(file: FamilyFile) -> Iterator[Diagnostic]:
    everything: list[ReadingFile | ActionFile] = [*file.readings.values(), *file.actions.values()]
    if file.connect.sql is None and any(one.sql is not None for one in everything):
        yield _error(("connect",), "not-connected", "statements need a database: connect.sql")
    if file.connect.http is None and any(one.http is not None for one in everything):
        yield _error(("connect",), "not-connected", "requests need an API: connect.http, which may be empty: {}")
    port = None if file.connect.http is None else file.connect.http.port
    if port is not None and (port not in file.options or file.options[port].type != "number"):
        hint = suggest(port, file.options)
        yield _error(("connect", "http", "port"), "unknown-option", f"no option of numbers is called {port}", hint)
    facets = [one.facet for reading in file.readings.values() for one in reading.fields.values()]
    if Facet.SERVES not in facets:
        yield _error(("readings",), "no-serves", "no field has the facet serves, so nothing shows who is active")
    for facet in {one for one in facets if one is not None and facets.count(one) > 1}:
        yield _error(("readings",), "facet-twice", f"two fields have the facet {facet.value}, and one is meant")
    for name in file.model:
        if name not in _truths(file) - _TRUTHS:
            yield _error(
                ("model", name), "unknown-field", f"no field without a facet that is true or false is called {name}"
            )
    changed = any(Facet.SERVES in one.makes for one in file.actions.values())
    if file.actions and not changed:
        hint = "say it in `makes: {serves: …}`; without it no promise can be checked"
        yield Diagnostic(("actions",), Level.WARNING, "nothing-made", "no action changes who serves", hint)


def _readings(file: FamilyFile) -> Iterator[Diagnostic]:
    for name, reading in file.readings.items():
        path: Path = ("readings", name)
        yield from _words(file, path, reading, ())
        if reading.sql is not None and (found := _CHANGES.search(reading.sql)):
            yield _error(
                (*path, "sql"), "reading-changes", f"a reading changes nothing, and this one has {found.group(1)!r}"
            )
        if reading.http is not None and reading.http.method != "GET":
            what = f"a reading changes nothing, and {reading.http.method} may: only get reads"
            yield _error((*path, "http"), "reading-changes", what)
        if reading.rows is not None and reading.rows and not reading.rows.startswith("/"):
            yield _error((*path, "rows"), "field-source", "rows is a JSON pointer: /…, or empty for the whole answer")
        fields = reading.listed
        where = (*path, "fields") if reading.items is None else (*path, "items", "fields")
        for field_name, field in fields.items():
            yield from _field(reading, (*where, field_name), field_name, field, fields)
        if reading.items is not None:
            for key in (reading.items.key, *reading.items.shown):
                if key not in fields:
                    yield _error((*path, "items"), "unknown-field", f"its items have no field {quoted(key)}")


def _field(
    reading: ReadingFile, path: Path, name: str, field: FieldFile, fields: Mapping[str, FieldFile]
) -> Iterator[Diagnostic]:
    if name == "kind":
        yield _error(path, "field-name", "a field is not called kind: that is the name of the reading")
    yield from _source(reading, path, name, field)
    for other in field.when:
        if other not in fields or other == name:
            yield _error(
                (*path, "when"), "unknown-field", f"there is no other field {quoted(other)}", suggest(other, fields)
            )
    if field.facet is None:
        return
    if field.facet is Facet.NODE:
        fits, wanted = field.type == "text", "text"
    elif field.facet in _TRUTHS:
        fits, wanted = field.type == "bool", "true or false"
    else:
        fits, wanted = field.type == "number", "a number"
    if not fits:
        yield _error(path, "facet-type", f"the facet {field.facet.value} is {wanted}, and {name} is not")
    if field.facet is Facet.BACKLOG and not field.unit:
        yield _error(path, "no-unit", f"{name} counts what waits, and has no unit", "unit: byte, message, row, …")
    if field.unit.endswith("/s") or "per second" in field.unit:
        yield _error(path, "rate", f"{name} is a rate ({field.unit}), which says nothing of how much waits")


def _source(reading: ReadingFile, path: Path, name: str, field: FieldFile) -> Iterator[Diagnostic]:
    """Where a field comes from has to be something that this kind of reading has."""
    special = field.from_ in ("@code", "@rows")
    if reading.sql is None and not (field.from_.startswith("/") or field.regex or special):
        what = f"{name} of a command or request needs a JSON pointer (from: /…), a regex, @code or @rows"
        yield _error(path, "field-source", what)
    if field.from_ == "@rows" and reading.rows is None:
        yield _error(path, "field-source", f"{name} counts rows, and the reading does not say where they are: rows")
    if reading.sql is not None and (field.from_.startswith(("/", "@")) or field.regex):
        yield _error(path, "field-source", f"{name} of a query is a column (from: …)")


def _actions(file: FamilyFile) -> Iterator[Diagnostic]:
    truths = _truths(file)
    for name, action in file.actions.items():
        path: Path = ("actions", name)
        yield from _words(file, path, action, action.arguments)
        for facet in action.makes:
            if facet not in truths:
                yield _error(
                    (*path, "makes"), "makes-what", f"an action makes no {facet}: only what is true or false"
                )
        if action.inverse is None:
            continue
        inverse = file.actions.get(action.inverse)
        if inverse is None:
            hint = suggest(action.inverse, file.actions)
            yield _error((*path, "inverse"), "unknown-action", f"there is no action {quoted(action.inverse)}", hint)
        elif inverse.arguments != action.arguments:
            yield _error((*path, "inverse"), "inverse-arguments", f"{action.inverse} takes other arguments")
        elif any(inverse.makes.get(facet) is value for facet, value in action.makes.items()):
            yield _error(
                (*path, "inverse"),
                "no-inverse",
                f"{action.inverse} makes the same as {name}, so it takes nothing back",
            )


def _truths(file: FamilyFile) -> set[str]:
    """What an action may make: facets that are true or false, and such fields that have no facet."""
    fields = (item for reading in file.readings.values() for item in reading.fields.items())
    own = {name for name, field in fields if field.type == "bool" and field.facet is None}
    return own | {str(facet) for facet in _TRUTHS}


def _words(
    file: FamilyFile, path: Path, one: ReadingFile | ActionFile, arguments: tuple[str, ...]
) -> Iterator[Diagnostic]:
    known = {*GIVEN, *file.options, *arguments}
    statements = () if one.sql is None else (one.sql,) if isinstance(one.sql, str) else one.sql
    requests = () if one.http is None else (one.http,) if isinstance(one, ReadingFile) else one.http
    texts = [text for request in requests for text in request.texts]
    picked = tuple(one.pick.values()) if isinstance(one, ReadingFile) else ()
    whole = (*(one.exec or ()), *texts, *picked)
    named = words_in(whole) + [name for statement in statements for name in bound_in(statement)]
    where = (*path, "sql" if one.sql is not None else "exec" if one.exec is not None else "http")
    for name in named:
        if name not in known:
            yield _error(where, "unknown-option", f"there is no option {quoted(name)}", suggest(name, known))
    if one.per == "site" and "service" in named:
        yield _error((*path, "per"), "per-site", "it is done once for the site, and names the service")
    if one.exec is not None:
        yield from _argv(where, one.exec)
    yield from _half_words(where, (*texts, *picked))
    yield from _slashes(where, requests)
    yield from _half_statements(where, statements)
    for name in sorted(known):
        if any(f"{{{name}}}" in statement for statement in statements):
            yield _error(where, "sql-text", f"{{{name}}} is not put into a statement: write :{name}")


def _half_statements(where: Path, statements: Iterable[str]) -> Iterator[Diagnostic]:
    """A list in square brackets ends each item at a comma."""
    for statement in statements:
        if statement.count("(") != statement.count(")"):
            hint = "write a statement with a comma on a line of its own, behind a dash"
            yield _error(where, "half-statement", "a parenthesis is not closed: this is a part of a statement", hint)


def _half_words(where: Path, words: tuple[str, ...]) -> Iterator[Diagnostic]:
    for word in half_words(words):
        hint = "let the site's option have the whole word"
        yield _error(where, "half-word", f"{word} has a name inside: only whole words are replaced", hint)


def _slashes(where: Path, requests: Iterable[RequestFile]) -> Iterator[Diagnostic]:
    """Each part of a path is encoded, so a slash in one would not part anything."""
    for request in requests:
        for part in request.path:
            if "/" in part or "?" in part:
                hint = "list the parts of the path, and what follows a question mark under query"
                yield _error(where, "path-part", f"{part!r} is not one part of a path", hint)


def _argv(where: Path, argv: tuple[str, ...]) -> Iterator[Diagnostic]:
    yield from _half_words(where, argv)
    if argv[0].startswith("{"):
        yield _error(where, "program", "the program is named here, not by an option")
    if argv[0].rpartition("/")[2] in _SHELLS and "-c" in argv:
        yield _error(where, "shell", "a shell would read what the words say", "name the program and its words")
