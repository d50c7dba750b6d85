"""Reads one XML file into a tree that remembers file and line of every element.

A configuration may come from anywhere (a pull request, a running instance), so this reader resolves nothing: an
entity declaration, an external document type or an external entity is refused before it is expanded, and files and
nesting have limits. It opens only the given file, and never checks the meaning of the elements.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.parsers import expat

from orchestrator.errors import DefinitionError

BYTES_MAX = 64 * 1024 * 1024
DEPTH_MAX = 100
ELEMENTS_MAX = 1_000_000  # of one instance, with its included files; a large one has some ten thousand
_JUNK_AFTER_ROOT = 9  # expat's XML_ERROR_JUNK_AFTER_DOC_ELEMENT


class Element:
    """One element. ``text`` is its own character data, trimmed; ``line`` is 1-based and points at the start tag."""

    __slots__ = ("children", "file", "line", "tag", "text")

    def __init__(self, tag: str, file: str, line: int, text: str = "", children: list[Element] | None = None) -> None:
        self.tag = tag
        self.file = file
        self.line = line
        self.text = text
        self.children: list[Element] = [] if children is None else children

    def all(self, *tags: str) -> Iterator[Element]:
        """The children with one of ``tags``, in document order."""
        return (child for child in self.children if child.tag in tags)

    def first(self, *tags: str) -> Element | None:
        """The first child with the earliest of ``tags`` that occurs: later tags are older synonyms."""
        for tag in tags:
            for child in self.children:
                if child.tag == tag:
                    return child
        return None

    def __repr__(self) -> str:
        return f"<{self.tag}> at {self.file}:{self.line}"


def read_bytes(path: Path, *, file: str) -> bytes:
    """The bytes of a configuration file. Raises ``DefinitionError`` when it is not a readable file within the size
    limit."""
    try:
        if not path.is_file():
            raise DefinitionError("this file does not exist", file=file)
        if path.stat().st_size > BYTES_MAX:
            raise DefinitionError(f"this file is larger than {BYTES_MAX // (1024 * 1024)} MB", file=file)
        return path.read_bytes()
    except OSError as error:
        raise DefinitionError(f"this file cannot be read: {error.strerror or error}", file=file) from error


def parse(data: bytes | str, *, file: str) -> Element:
    """The root element of an XML document. Raises ``DefinitionError`` with file and line for anything unreadable."""
    roots = _Reader(file).read(data)
    return roots[0]


def parse_fragment(data: bytes, *, file: str) -> list[Element]:
    """The top-level elements of an included file: one as in any XML document, or several.

    It is an assumption that several are accepted: AMPS documents that an included file is parsed on its own, but not
    whether it must have one root (configuration guide, "Including External Files").
    """
    try:
        return _Reader(file).read(data)
    except DefinitionError as error:
        if not isinstance(error.__cause__, expat.ExpatError) or error.__cause__.code != _JUNK_AFTER_ROOT:
            raise
    return _Reader(file).read(b"<fragment>" + data + b"</fragment>")[0].children


class _Reader:
    """One pass of expat over one file."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._doctype
        self._parser.EntityDeclHandler = self._entity
        self._parser.ExternalEntityRefHandler = self._external
        self._parser.SkippedEntityHandler = self._skipped
        self._open: list[Element] = []
        self._text: list[list[str]] = []
        self._roots: list[Element] = []
        self._count = 0

    def read(self, data: bytes | str) -> list[Element]:
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            what = expat.errors.messages.get(error.code, "it cannot be parsed")
            raise DefinitionError(
                f"this file is not well-formed XML: {what}", file=self._file, line=error.lineno
            ) from error
        except (ValueError, LookupError) as error:  # an encoding that does not exist, or that expat cannot do
            raise DefinitionError(f"this file cannot be read as XML: {error}", file=self._file, line=1) from error
        return self._roots

    def _start(self, tag: str, _attributes: dict[str, str]) -> None:
        if len(self._open) >= DEPTH_MAX:
            raise self._refuse(f"elements are nested more than {DEPTH_MAX} deep")
        self._count += 1
        if self._count > ELEMENTS_MAX:
            raise self._refuse(f"there are more than {ELEMENTS_MAX} elements")
        element = Element(sys.intern(tag), self._file, self._parser.CurrentLineNumber)
        (self._open[-1].children if self._open else self._roots).append(element)
        self._open.append(element)
        self._text.append([])

    def _end(self, _tag: str) -> None:
        element = self._open.pop()
        text = "".join(self._text.pop()).strip()
        # Names of topics and message types occur thousands of times. One string for each keeps a large fabric small.
        element.text = sys.intern(text) if len(text) < 200 else text

    def _characters(self, text: str) -> None:
        self._text[-1].append(text)

    def _doctype(self, _name: str, system: str | None, public: str | None, _internal: bool) -> None:
        if system or public:
            raise self._refuse("an external document type is refused: this program fetches no other file")

    def _entity(self, name: str, *_rest: Any) -> None:
        raise self._refuse(
            f"the declaration of entity {name} is refused: entities can grow without limit or read other files"
        )

    def _external(self, *_rest: Any) -> int:
        raise self._refuse("an external entity is refused: this program fetches no other file")

    def _skipped(self, name: str, _is_parameter: bool) -> None:
        raise self._refuse(f"entity {name} is not declared")

    def _refuse(self, sentence: str) -> DefinitionError:
        return DefinitionError(sentence, file=self._file, line=self._parser.CurrentLineNumber)
