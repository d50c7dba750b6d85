"""Vendor words in orchestrator/: it knows no product, but for the commands that are about one."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator

from tests.architecture.source import Source

WORDS = ("amps", "solace", "vpn", "vpns", "msgvpn", "semp", "sow", "xid", "xids")
_WORD = re.compile(rf"(?<![a-z])({'|'.join(WORDS)})(?![a-z])", re.I)
# The help of a command: its examples name a message VPN.
_EXAMPLES = re.compile(r"\nExamples?:\n")
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")

# Commands and use cases that are about one product: its files, its tools, its option. No other file has such a word.
OF_ONE_PRODUCT = {
    "orchestrator/cli/commands/lab.py": "the options of the lab, which serves the interfaces of two products",
    "orchestrator/cli/commands/pipeline.py": "compares journals and SOW topics of AMPS from dumps",
    "orchestrator/cli/commands/snapshot.py": "takes dumps that the tools of AMPS made",
    "orchestrator/cli/commands/validate.py": "validates configurations of AMPS",
    "orchestrator/cli/exports/instances.py": "compares journals and SOW topics of AMPS from dumps",
    "orchestrator/cli/exports/snapshot_dumps.py": "takes dumps that the tools of AMPS made",
    "orchestrator/cli/options.py": "the option --vpn, as operators type it",
    "orchestrator/cli/pairs/validate.py": "validates configurations of AMPS",
    "orchestrator/operations/live_configurations.py": "validates the configurations that AMPS instances serve",
}


def words_in(source: Source) -> Iterator[tuple[int, str]]:
    """Line and text of each name or string with a vendor word; comments, docstrings and the help of a command may give
    examples."""
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
        is_code = is_code and not _EXAMPLES.search(token.string)
        if is_code and _names_a_vendor(token.string):
            yield token.start[0], token.string


def _names_a_vendor(text: str) -> bool:
    return _WORD.search(_HUMP.sub("_", text).replace("_", " ")) is not None


def knowing(sources: Iterable[Source]) -> list[str]:
    """The files of orchestrator/ with a vendor word."""
    return [one.path for one in sources if one.is_under("orchestrator/") and any(words_in(one))]
