"""Vendor words in orchestrator/: it knows no product, but for the files that do not hold to that yet."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator

from tests.architecture.source import Source

WORDS = ("amps", "solace", "vpn", "vpns", "msgvpn", "semp", "sow", "xid", "xids")
_WORD = re.compile(rf"(?<![a-z])({'|'.join(WORDS)})(?![a-z])", re.I)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")

# Rooms in which commands still have a part for each family: so many files with such words, and never more.
ROOMS_LEFT = {"cli": 18, "operations": 4}


def words_in(source: Source) -> Iterator[tuple[int, str]]:
    """Line and text of each name or string with a vendor word; comments and docstrings may give examples."""
    if not _names_a_vendor(source.text):
        return
    documented = {
        (node.body[0].lineno, node.body[0].col_offset)
        for node in source.nodes
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
        and isinstance(node.body[0].value, ast.Constant)
    }
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        is_code = token.type in (tokenize.NAME, tokenize.STRING) and token.start not in documented
        if is_code and _names_a_vendor(token.string):
            yield token.start[0], token.string


def _names_a_vendor(text: str) -> bool:
    return _WORD.search(_HUMP.sub("_", text).replace("_", " ")) is not None


def knowing(sources: Iterable[Source]) -> list[str]:
    """The files of orchestrator/ with a vendor word."""
    return [one.path for one in sources if one.is_under("orchestrator/") and any(words_in(one))]
