"""Inserts included files, and replaces ``${NAME}`` by its value, as AMPS does once when it starts.

Names are resolved only from the given values, and circular includes are never followed.
Source: AMPS configuration guide, "Including External Files" and "Environment Variables".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from adapters.amps.config.settings import Assumptions
from adapters.amps.config.xmltree import ELEMENTS_MAX, Element, parse, parse_fragment, read_bytes
from orchestrator.errors import DefinitionError

INCLUDED_BYTES_MAX = (
    16 * 1024 * 1024
)  # AMPS itself stops at 5 MB unless ConfigCycleDetectionThreshold sets another limit
INCLUDE_DEPTH_MAX = 32
INCLUDES_MAX = 5_000
SUBSTITUTED_MAX = 64 * 1024 * 1024  # characters of all texts with variables in them
VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_.]*)\}")


def expand_file(path: Path, variables: Mapping[str, str], assumptions: Assumptions) -> Element:
    """The root of ``path`` with all included files. Raises ``DefinitionError`` (file, line) if any file cannot be
    read."""
    name = str(path)
    return _Expander(path, variables, assumptions).run(parse(read_bytes(path, file=name), file=name))


def expand_text(text: str, file: str, variables: Mapping[str, str], assumptions: Assumptions) -> Element:
    """The root of a configuration that is given as text, for example fetched from ``/amps/instance/config.xml``."""
    return _Expander(Path(file), variables, assumptions).run(parse(text, file=file))


def unresolved(text: str) -> str | None:
    """The name of the first variable in ``text`` that had no value, or None."""
    found = VARIABLE.search(text)
    return found.group(1) if found else None


class _Expander:
    def __init__(self, path: Path, variables: Mapping[str, str], assumptions: Assumptions) -> None:
        self._main = path
        self._values = {"AMPS_CONFIG_DIRECTORY": str(path.parent), "AMPS_CONFIG_PATH": str(path), **variables}
        self._assumptions = assumptions
        self._stack: list[Path] = [path.resolve()]
        self._size = self._includes = self._elements = self._substituted = 0

    def run(self, root: Element) -> Element:
        self._expand(root)
        return root

    def _expand(self, element: Element) -> None:
        self._elements += 1
        if self._elements > ELEMENTS_MAX:
            raise DefinitionError(
                f"the configuration and its included files have more than {ELEMENTS_MAX} elements",
                file=element.file,
                line=element.line,
            )
        if "${" in element.text:
            element.text = self._substitute(element)
        if any(child.tag == "Include" for child in element.children):
            element.children = [placed for child in element.children for placed in self._place(child)]
            return  # the inserted elements are expanded already, in their own file
        for child in element.children:
            self._expand(child)

    def _place(self, child: Element) -> list[Element]:
        if child.tag != "Include":
            self._expand(child)
            return [child]
        name = self._substitute(child)
        if not name:
            raise DefinitionError("this Include does not name a file", file=child.file, line=child.line)
        path = self._base(child) / name
        resolved = path.resolve()
        if resolved in self._stack:
            circle = " → ".join(entry.name for entry in [*self._stack[self._stack.index(resolved) :], resolved])
            raise DefinitionError(f"files include each other in a circle: {circle}", file=child.file, line=child.line)
        return self._read(child, path, resolved)

    def _read(self, child: Element, path: Path, resolved: Path) -> list[Element]:
        if not path.is_file():
            raise DefinitionError(f"the included file {path} does not exist", file=child.file, line=child.line)
        if len(self._stack) > INCLUDE_DEPTH_MAX:
            raise DefinitionError(
                f"includes are nested more than {INCLUDE_DEPTH_MAX} deep", file=child.file, line=child.line
            )
        self._includes += 1
        if self._includes > INCLUDES_MAX:
            raise DefinitionError(f"more than {INCLUDES_MAX} files are included", file=child.file, line=child.line)
        data = read_bytes(path, file=str(path))
        self._size += len(data)
        if self._size > INCLUDED_BYTES_MAX:
            limit = INCLUDED_BYTES_MAX // (1024 * 1024)
            raise DefinitionError(
                f"the included files have more than {limit} MB in total", file=child.file, line=child.line
            )
        top = Element("fragment", str(path), child.line, children=parse_fragment(data, file=str(path)))
        self._stack.append(resolved)
        self._expand(top)
        self._stack.pop()
        return top.children

    def _base(self, child: Element) -> Path:
        match self._assumptions.include_base:
            case "including-file":
                return Path(child.file).parent
            case "main-file":
                return self._main.parent
            case _:
                return Path()

    def _substitute(self, element: Element) -> str:
        """The text with its variables replaced. A variable without a value stays as it is written, for ``Reader`` to
        report."""
        text = VARIABLE.sub(lambda match: self._values.get(match.group(1), match.group(0)), element.text)
        self._substituted += len(text)
        if self._substituted > SUBSTITUTED_MAX:
            raise DefinitionError(
                "the configuration is too long once its variables are replaced", file=element.file, line=element.line
            )
        return text
