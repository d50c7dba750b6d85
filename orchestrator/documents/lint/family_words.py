"""Finds mistakes in the words of a family file's commands, requests, messages and statements.

This module must never connect to anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from orchestrator.documents.source_map import Diagnostic, Path, error_at, quoted
from orchestrator.model.declared.file import (
    GIVEN,
    ActionFile,
    FamilyFile,
    ReadingFile,
    bound_in,
    named_in,
    statements_of,
    way_of,
)
from orchestrator.model.declared.requests import Argv, MessageFile, RequestFile, half_words, words_in
from orchestrator.model.findings import Level
from orchestrator.suggestions import suggest

_SHELLS = frozenset({"sh", "bash", "dash", "ksh", "zsh"})
# Programs that only change things, and words that tell a tool to change something.
_CHANGING_PROGRAMS = frozenset(
    {
        "chmod",
        "chown",
        "cp",
        "dd",
        "kill",
        "ln",
        "mkdir",
        "mv",
        "pkill",
        "reboot",
        "rm",
        "rmdir",
        "shutdown",
        "tee",
        "touch",
    }
)
_CHANGING_WORDS = frozenset({"delete", "demote", "drop", "promote", "purge", "restart", "set", "start", "stop"})
_LITERAL = re.compile(r"'(?:[^']|'')*'")
_NO_TOKEN = re.compile(r"[.\s*>]")


def lint_words(
    file: FamilyFile, path: Path, one: ReadingFile | ActionFile, arguments: tuple[str, ...]
) -> Iterator[Diagnostic]:
    known = {*GIVEN, *file.options, *arguments}
    statements = statements_of(one)
    texts = [text for request in one.requests for text in request.texts]
    picked = tuple(one.pick.values()) if isinstance(one, ReadingFile) else ()
    named = named_in(one)
    where = (*path, way_of(one))
    for name in named:
        if name not in known:
            yield error_at(where, "unknown-option", f"there is no option {quoted(name)}", suggest(name, known))
    if one.per == "site" and "service" in named:
        what = "an entry with `per: site` runs once for the whole site, so it must not name the service"
        yield error_at((*path, "per"), "per-site", what)
    if one.argv:
        yield from _argv(where, one)
    yield from half_words_of(where, (*texts, *picked))
    yield from _slashes(where, one.requests)
    yield from _lists(file, where, one, (*picked, *statements))
    yield from _half_statements(where, statements)
    for name in sorted(known):
        if any(f"{{{name}}}" in statement for statement in statements):
            yield error_at(where, "sql-text", f"a statement cannot use {{{name}}}; write :{name} instead")
        if any(re.search(rf"(?<!:):{name}\b", literal) for one in statements for literal in _LITERAL.findall(one)):
            what = f":{name} is in quotes, so the database reads it as a text; remove the quotes"
            yield error_at(where, "sql-text", what)


def _half_statements(where: Path, statements: Iterable[str]) -> Iterator[Diagnostic]:
    """YAML splits a list in square brackets at each comma, so a statement with a comma can be cut in two."""
    for statement in statements:
        if statement.count("(") != statement.count(")"):
            hint = "write a statement with a comma on a separate line, after a dash"
            what = "the parentheses do not match, so this is only a part of a statement"
            yield error_at(where, "half-statement", what, hint)


def half_words_of(where: Path, words: tuple[str, ...]) -> Iterator[Diagnostic]:
    for word in half_words(words):
        hint = "put the whole word into the option of the site"
        what = f"{word} has a name inside a longer word, but only whole words are replaced"
        yield error_at(where, "half-word", what, hint)


def _slashes(where: Path, requests: Iterable[RequestFile | MessageFile]) -> Iterator[Diagnostic]:
    """Each part of a path is encoded, so a slash inside a part would not separate anything. Each part of a subject must
    be one word."""
    for request in requests:
        if isinstance(request, MessageFile):
            for part in request.subject:
                if _NO_TOKEN.search(part):
                    hint = "write the subject as a list of parts without dots, blanks and wildcards"
                    yield error_at(where, "subject-part", f"{part!r} is not one part of a subject", hint)
        else:
            for part in request.path:
                if "/" in part or "?" in part:
                    hint = "write the path as a list of parts, and put the text after a question mark under `query`"
                    yield error_at(where, "path-part", f"{part!r} is not one part of a path", hint)
        if request.changed is not None:
            yield from _slashes(where, (request.changed.from_,))


def _lists(file: FamilyFile, where: Path, one: ReadingFile | ActionFile, others: Argv) -> Iterator[Diagnostic]:
    """A list option is a JSON value, so it cannot be used as a word."""
    firsts = [request.changed.from_ for request in one.requests if request.changed is not None]
    words = [text for request in (*one.requests, *firsts) for text in request.address]
    named = {*words_in((*words, *one.argv, *others)), *(name for text in others for name in bound_in(text))}
    for name in sorted(named):
        if name in file.options and file.options[name].type == "list":
            what = f"the option {name} is a list, so it can be used only in a body and in `contains`"
            yield error_at(where, "list-word", what)


def _argv(where: Path, one: ReadingFile | ActionFile) -> Iterator[Diagnostic]:
    argv = one.argv
    program = argv[0].rpartition("/")[2]
    yield from half_words_of(where, argv)
    if argv[0].startswith("{"):
        yield error_at(where, "program", "an option cannot name the program; write the name of the program here")
    if program in _SHELLS and "-c" in argv:
        what = "a shell would interpret the words of the command"
        yield error_at(where, "shell", what, "name the program and its words")
    if isinstance(one, ActionFile):
        return
    if program in _CHANGING_PROGRAMS:
        what = f"a reading must not change anything, but {program} changes something"
        yield error_at(where, "reading-changes", what)
    for word in sorted({word.lower() for word in argv[1:]} & _CHANGING_WORDS):
        what = f"a reading must not change anything, but this command has the word {word}"
        yield Diagnostic(where, Level.WARNING, "reading-changes", what)
