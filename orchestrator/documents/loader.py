"""Loads runbooks, inventories and decisions from YAML files.

The dialect is YAML 1.2's core schema. Only ``true`` and ``false`` are booleans, so ``on`` can be a key, and ``1:30`` or a
date stays the text that was written. The loader refuses duplicate keys, other tags, merge keys, control characters, and
documents that grow when their aliases are expanded.

``load_…`` raises the first mistake as ``DefinitionError`` with file and line. ``read_…`` returns all mistakes.
This module must never execute a document, and must never repeat a possible secret in a message.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from orchestrator.characters import has_steering
from orchestrator.documents.definition import Definition, Model, whole_document
from orchestrator.documents.lint.family import lint_family
from orchestrator.documents.lint.inventory import lint_inventory
from orchestrator.documents.shipped import generic_named, shipped_path
from orchestrator.documents.source_map import Lines, explain, may_be_secret, quoted
from orchestrator.documents.source_map import Path as KeyPath
from orchestrator.documents.yaml_nodes import ALIASES_MAX, DEPTH_MAX, NODES_MAX, TAG, WORDS, compose
from orchestrator.errors import DefinitionError
from orchestrator.files import ordinary_file
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.families import SHIPPED
from orchestrator.model.findings import Finding, Level
from orchestrator.model.inventory import Inventory
from orchestrator.model.runbook import Runbook

BYTES_MAX = 1024 * 1024


def load_runbook(source: Path | str) -> Runbook:
    """A runbook from a file, or a shipped runbook by its name (``"solace/controlled"``). Raises ``DefinitionError``."""
    return read_runbook(source).result()


def load_inventory(path: Path | str) -> tuple[Inventory, list[Finding]]:
    """An inventory, with its warnings and notes. Raises ``DefinitionError``."""
    definition = read_inventory(path)
    return definition.result(), list(definition.findings)


def read_runbook(source: Path | str) -> Definition[Runbook]:
    """As ``load_runbook``, with every mistake as a finding. Raises only if no shipped runbook has the given name."""
    is_name = isinstance(source, str) and _SHIPPED_NAME.fullmatch(source)
    read = _named(str(source)) if is_name else read_document(Path(source), Runbook)
    if read.value is None or read.value.continue_with is None:
        return read
    return _continued(read, read.value, read.value.continue_with)


def _named(name: str) -> Definition[Runbook]:
    """A shipped runbook, or a runbook made for a file-based family, without the runbook that it continues with."""
    made = generic_named(name)
    if made is not None:
        return Definition(name, made, (), Lines())
    return read_document(shipped_path(name), Runbook)


def _continued(read: Definition[Runbook], first: Runbook, name: str) -> Definition[Runbook]:
    """``first``, with the steps of the shipped runbook ``name`` after its own. ``name`` itself must not continue with
    another runbook."""
    place = read.lines.at(("continue_with",))
    try:
        rest = _named(name).result()
        steps = [*first.steps, *rest.steps]
        if rest.continue_with is not None:
            raise DefinitionError(
                f"the runbook cannot continue with {name}, because {name} continues with another runbook itself"
            )
        whole = Runbook(runbook=first.runbook, summary=first.summary, steps=tuple(steps))
    except (DefinitionError, ValidationError) as error:
        text = str(error) if isinstance(error, DefinitionError) else error.errors()[0]["msg"]
        hint = error.hint if isinstance(error, DefinitionError) else ""
        found = Finding(level=Level.ERROR, code="continue-with", message=text, hint=hint, file=read.file, line=place)
        return Definition(read.file, None, (*read.findings, found), read.lines)
    return Definition(read.file, whole, read.findings, read.lines)


def read_inventory(path: Path | str) -> Definition[Inventory]:
    """As ``load_inventory``, with every mistake as a finding."""
    read = read_document(Path(path), Inventory)
    if read.value is None:
        return read
    findings = tuple(lint_inventory(read.value, file=read.file, lines=read.lines))
    usable = all(finding.level is not Level.ERROR for finding in findings)
    return Definition(read.file, read.value if usable else None, findings, read.lines)


def read_family(path: Path | str) -> Definition[FamilyFile]:
    """A family file, with every mistake as a finding."""
    read = read_document(Path(path), FamilyFile)
    if read.value is None:
        return read
    findings = tuple(lint_family(read.value, file=read.file, lines=read.lines))
    usable = all(finding.level is not Level.ERROR for finding in findings)
    return Definition(read.file, read.value if usable else None, findings, read.lines, read.digest)


# --- shipped runbooks ---------------------------------------------------------------------------------------

_SHIPPED_NAME = re.compile(r"[a-z][a-z0-9-]*/[a-z][a-z0-9-]*")


# --- from a file to a model ---------------------------------------------------------------------------------


class _Unusable(Exception):
    """The document cannot be read any further. ``findings`` are the mistakes met so far."""

    def __init__(self, findings: list[Finding]) -> None:
        super().__init__()
        self.findings = findings


def read_document(path: Path, model: type[Model]) -> Definition[Model]:
    """A document that has to fit ``model``, with every mistake as a finding."""
    document = _Document(path)
    try:
        raw = _bytes(path, document)
        data, lines = document.parse(raw)
    except _Unusable as unusable:
        return Definition(document.file, None, tuple(unusable.findings), Lines())
    try:
        # Strict, and as JSON: no value is converted, so this program and the JSON Schema accept the same files.
        value = model.model_validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        findings = explain(error, data, lines, file=document.file, model=model)
        if all(details["type"] == "value_error" and not details["loc"] for details in error.errors()):
            line = lines.at(whole_document(model, data))
            findings = [finding.model_copy(update={"line": line}) for finding in findings]
        return Definition(document.file, None, tuple(findings), lines)
    return Definition(document.file, value, (), lines, sha256(raw).hexdigest())


def _bytes(path: Path, document: _Document) -> bytes:
    """The file's content, up to one byte more than is allowed. The extra byte shows that a file is too long."""
    try:
        with ordinary_file(path) as stream:
            return stream.read(BYTES_MAX + 1)
    except FileNotFoundError:
        sentence, hint = "there is no such file", "check the path; a relative path starts at the working directory"
    except IsADirectoryError:
        sentence, hint = "this is a folder, not a file", ""
    except PermissionError:
        sentence, hint = "this program has no permission to read the file", "check the permissions of the file"
    except OSError as error:
        sentence, hint = f"this file cannot be read: {error.strerror}", ""
    except ValueError:
        sentence, hint = "a file cannot have this name", ""
    raise document.stop(sentence, None, "unreadable-file", hint)


# --- from YAML to plain values ------------------------------------------------------------------------------

_INT_DIGITS_MAX = 18
_HALF = re.compile("[\ud800-\udfff]")


# The start of PyYAML's sentence, our sentence, and a hint. PyYAML's sentences are never shown, because some repeat the
# text of the file.
_TOO_DEEP = f"the file is nested deeper than {DEPTH_MAX} levels"
_SENTENCES: Mapping[str, tuple[str, str]] = {
    "found character '\\t'": ("the line has a tab where only spaces are allowed", "indent with spaces"),
    "found character": ("a value starts with a reserved character", "put a text that starts with @ ` or % in quotes"),
    "mapping values are not allowed": (
        "the line has a colon in a wrong place",
        "check the indentation, or put the text in quotes",
    ),
    "could not find expected ':'": ("the line is neither a key with a colon nor an item with a dash", ""),
    "expected <block end>": ("the indentation does not match the lines above", ""),
    "found unexpected end of stream": ("a quote is opened here and never closed", ""),
    "expected ',' or": ("a bracket is opened here and not closed, or a comma is missing", ""),
    "found undefined alias": (
        "an alias (*) refers to an anchor that does not exist",
        "put a text that starts with * in quotes",
    ),
    "found unknown escape": (
        "a backslash starts an unknown escape sequence",
        "use single quotes to keep backslashes",
    ),
    "but found another document": ("the file has more than one document", "keep one document, without a second ---"),
    "aliases": (f"the file uses more than {ALIASES_MAX} aliases", "write the values out"),
    "depth": (_TOO_DEEP, ""),
    "values": (f"the file has more than {NODES_MAX} keys and values", ""),
}
_TOLD_FROM_THE_START = ("found unexpected end of stream", "expected ',' or")


class _Document:
    """Turns one document from bytes into plain values, and notes the line of each key and item."""

    def __init__(self, path: Path) -> None:
        self.file = str(path)
        self._is_shipped = path.is_relative_to(SHIPPED)
        self._findings: list[Finding] = []
        self._table: dict[KeyPath, int] = {}
        self._nodes = 0
        self._ancestors: list[yaml.Node] = []

    def parse(self, raw: bytes) -> tuple[dict[str, Any], Lines]:
        """The plain values and their lines. Raises ``_Unusable``."""
        node = self._compose(self._text(raw))
        if node is None or node.tag == f"{TAG}null":
            raise self.stop("the file is empty", None, "empty-file")
        if not isinstance(node, yaml.MappingNode):
            found = "a list" if isinstance(node, yaml.SequenceNode) else "a single value"
            raise self.stop(
                f"the top level of the file must be keys with values, not {found}", _line(node), "wrong-type"
            )
        self._table[()] = _line(node)
        value = self._mapping(node, ())
        if self._findings:
            raise _Unusable(self._findings)
        return value, Lines(self._table)

    def _text(self, raw: bytes) -> str:
        if len(raw) > BYTES_MAX:
            raise self.stop(f"the file is larger than {BYTES_MAX // 1024} KiB", None, "too-large")
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            raise self.stop("the file is not UTF-8 text", line, "not-text") from None

    def _compose(self, text: str) -> yaml.Node | None:
        try:
            return compose(text, is_shipped=self._is_shipped)
        except yaml.reader.ReaderError as error:
            line = text.count("\n", 0, error.position) + 1
            raise self.stop("the file has a control character", line, "not-text") from None
        except yaml.MarkedYAMLError as error:
            key = next((start for start in _SENTENCES if (error.problem or "").startswith(start)), "")
            sentence, hint = _SENTENCES.get(
                key, ("this is not valid YAML", "put a text with unusual characters in quotes")
            )
            marks = [error.problem_mark, error.context_mark]
            mark = next(filter(None, reversed(marks) if key in _TOLD_FROM_THE_START else marks), None)
            raise self.stop(sentence, None if mark is None else mark.line + 1, "yaml", hint) from None
        except (ValueError, OverflowError):  # PyYAML does not catch these
            raise self.stop("a number in a YAML escape or directive is too large", None, "yaml") from None

    def _value(self, node: yaml.Node, path: KeyPath) -> Any:
        self._nodes += 1
        if self._nodes > NODES_MAX:
            raise self.stop(
                f"the file has more than {NODES_MAX} values, including the values that its aliases repeat",
                1,
                "too-large",
            )
        if any(node is ancestor for ancestor in self._ancestors):
            raise self.stop("an alias refers to a value that contains the alias", self._table[path], "yaml")
        if len(self._ancestors) >= DEPTH_MAX:
            raise self.stop(_TOO_DEEP, self._table[path], "yaml")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return self._sequence(node, path)
        return self._scalar(node)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath) -> dict[str, Any]:
        self._expect_tag(node, "map")
        self._ancestors.append(node)
        values: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node)
            if key is None:
                continue
            here = (*path, key)
            if key in values:
                name = "a key" if may_be_secret(path) else f"the key {quoted(key)}"
                self._note(
                    f"{name} is given twice, first on line {self._table[here]}", _line(key_node), "duplicate-key"
                )
                continue
            self._table[here] = _line(key_node)
            values[key] = self._value(value_node, here)
        self._ancestors.pop()
        return values

    def _key(self, node: yaml.Node) -> str | None:
        if node.tag != f"{TAG}str":
            self._note("a key must be a text", _line(node), "wrong-type", "put a number, true or null in quotes")
            return None
        if isinstance(node, yaml.ScalarNode) and node.value == "<<" and not node.style:
            self._note("merge keys (<<) are not part of YAML 1.2", _line(node), "yaml", "write the keys out")
            return None
        return str(self._scalar(node))

    def _sequence(self, node: yaml.SequenceNode, path: KeyPath) -> list[Any]:
        self._expect_tag(node, "seq")
        self._ancestors.append(node)
        values: list[Any] = []
        for index, item in enumerate(node.value):
            self._table[(*path, index)] = _line(item)
            values.append(self._value(item, (*path, index)))
        self._ancestors.pop()
        return values

    def _scalar(self, node: yaml.Node) -> Any:
        text, kind = str(node.value), node.tag.removeprefix(TAG)
        if kind == "str":
            if has_steering(text) or _HALF.search(text):
                sentence = (
                    "a text has a control character, a character that hides or reverses text, or half of a character"
                )
                self._note(sentence, _line(node), "not-text", "type the text instead of pasting it")
        elif kind not in WORDS:
            self._expect_tag(node, "")
        elif not WORDS[kind][0].match(text):
            self._note(f"the value does not fit its YAML tag, {kind}", _line(node), "wrong-type")
        elif kind == "null":
            return None
        elif kind == "bool":
            return text.lower() == "true"
        else:
            return self._number(node, text, kind)
        return text

    def _number(self, node: yaml.Node, text: str, kind: str) -> int | float:
        number: int | float = math.inf
        if kind == "int" and len(text) <= _INT_DIGITS_MAX:
            number = int(text, 0) if text[:2] in ("0o", "0x") else int(text)
        elif kind == "float" and text[-1] in "0123456789.":
            number = float(text)
        if not math.isfinite(number):
            self._note("this number is too long or not finite", _line(node), "wrong-value", "put a text in quotes")
        return number

    def _expect_tag(self, node: yaml.Node, kind: str) -> None:
        if node.tag != TAG + kind:
            self._note(
                "this YAML tag (!) is not allowed", _line(node), "yaml", "put a text that starts with ! in quotes"
            )

    def _note(self, message: str, line: int | None, code: str, hint: str = "") -> None:
        self._findings.append(
            Finding(level=Level.ERROR, code=code, message=message, hint=hint, file=self.file, line=line)
        )

    def stop(self, message: str, line: int | None, code: str, hint: str = "") -> _Unusable:
        """The exception to raise for a mistake after which nothing more can be read."""
        self._note(message, line, code, hint)
        return _Unusable(self._findings)


def _line(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1
