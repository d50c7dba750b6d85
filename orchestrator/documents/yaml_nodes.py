"""Builds the nodes of a YAML document within limits, so a YAML bomb or a deeply nested document is never built.

The dialect is the core schema of YAML 1.2 (section 10.3.2). This module must never construct a value from a tag.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache

import yaml
from yaml.composer import Composer
from yaml.parser import Parser
from yaml.reader import Reader
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner

DEPTH_MAX = 32
ALIASES_MAX = 100
NODES_MAX = 100_000  # values, counted with expanded aliases

TAG = "tag:yaml.org,2002:"
WORDS: Mapping[
    str, tuple[re.Pattern[str], str]
] = {  # YAML 1.2, section 10.3.2, and the characters a word starts with
    "null": (re.compile(r"^(?:~|null|Null|NULL|)$"), "~nN"),
    "bool": (re.compile(r"^(?:true|True|TRUE|false|False|FALSE)$"), "tTfF"),
    "int": (re.compile(r"^(?:[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+)$"), "-+0123456789"),
    "float": (
        re.compile(
            r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
            r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$"
        ),
        "-+.0123456789",
    ),
}


def compose(text: str, *, is_shipped: bool) -> yaml.Node | None:
    """The root of the only document in ``text``, or None if there is no document. Raises PyYAML's errors.

    If PyYAML has libyaml, libyaml parses eight times as fast, but accepts some documents that PyYAML refuses. So libyaml
    parses only files that come with the program. A test shows that both parsers read each of these files alike.
    """
    nodes = fast_nodes(text) if is_shipped and yaml.__with_libyaml__ else PlainNodes(text)
    return nodes.get_single_node()


class _Nodes(Composer, BaseResolver):
    def __init__(self) -> None:
        Composer.__init__(self)
        BaseResolver.__init__(self)
        self._nodes = 0
        self._aliases = 0
        self._depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        mark = self.peek_event().start_mark  # type: ignore[attr-defined]  # of the parser beside it
        self._nodes += 1
        if self._nodes > NODES_MAX:
            raise yaml.MarkedYAMLError(problem="values", problem_mark=mark)
        self._aliases += bool(self.check_event(yaml.AliasEvent))  # type: ignore[attr-defined]
        if self._aliases > ALIASES_MAX:
            raise yaml.MarkedYAMLError(problem="aliases", problem_mark=mark)
        if self._depth >= DEPTH_MAX:
            raise yaml.MarkedYAMLError(problem="depth", problem_mark=mark)
        self._depth += 1
        try:
            return super().compose_node(parent, index)
        finally:
            self._depth -= 1


for _kind, (_pattern, _first) in WORDS.items():  # no base class has the resolvers of YAML 1.1
    _Nodes.add_implicit_resolver(TAG + _kind, _pattern, ["", *_first] if _kind == "null" else list(_first))


class PlainNodes(_Nodes, Reader, Scanner, Parser):
    """Nodes from PyYAML's own parser."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        _Nodes.__init__(self)


def fast_nodes(text: str) -> _Nodes:
    """Nodes from libyaml's parser. Raises ``ImportError`` if PyYAML has no libyaml."""
    return _fast_nodes()(text)


@cache
def _fast_nodes() -> Callable[[str], _Nodes]:
    from yaml.cyaml import CParser  # type: ignore[attr-defined]  # it has no stubs

    class _FastNodes(_Nodes, CParser):
        def __init__(self, text: str) -> None:
            CParser.__init__(self, text)
            _Nodes.__init__(self)

    return _FastNodes
