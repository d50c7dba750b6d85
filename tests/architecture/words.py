"""The words that a text does not use, with the term to use instead, and how texts are found.

The list is short on purpose: each entry made readers stop. What is counted is clauses, since one clause is read at once.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.architecture.source import PRODUCT, Source

# What is matched, as whole words, and what to write in its place.
INSTEAD: dict[str, str] = {
    r"begin(?:s|ning)?|began|begun": "start",
    r"mend(?:s|ed|ing)?": "fix",
    r"call(?:s|ed|ing)? (?:it )?off": "abort",
    r"(?:turn(?:s|ed|ing)?|tak(?:e|es|en|ing)|took) (?:(?:it|them|that|this|one) )?back": "roll back, undo",
    r"(?:go(?:es|ing|ne)?|went) on": "continue, resume",
    r"look(?:s|ed|ing)? (?:at|whether)|(?:the|a|second|last) look": "check, read",
    r"look(?:s|ed|ing)? for": "search for",
    r"(?:some|no)body": "an operator, no operator, no process",
    r"(?:is|are|was|were|be|been|not|being) (?:told|said)(?! to\b)|does not tell|did not tell": "report, unknown",
    r"at (?:its|their) end": "finished",
    r"stands (?:in|at|behind|there|on)": "is, depends on",
    r"of (?:its|their|one's) own": "separate, or leave it out",
    r"beforehand|beneath|anew|mishaps?|from here on": "in advance, below, again",
    r"nights?": "run",
    r"all the same": "anyway",
    r"(?:is|are|was|were|has|have|takes?|lets?) no (?:[\w']+ ){1,5}any ?more": "no longer",
    r"(?:is|are|be|been|was|were) taken for": "read as, confused with",
    r"unless with": "unless … is given",
    r"for good": "permanently",
    r"without a word": "silently",
    r"by now": "now, already",
    r"held against": "compared with",
    r"(?:what|which) (?:became|came|becomes) of": "the outcome of",
    r"in vain": "without success, without effect",
    r"is dark": "is lost",
    r"not (?:[\w']+ ){1,6}any ?more": "no longer",
    r"no source (?:says|tells|has)": "no document",
}
_WORD = re.compile(rf"(?<![\w-])(?:{'|'.join(INSTEAD)})(?![\w-])", re.IGNORECASE)
# Code in a text is not prose: spans and blocks, markers, statements of SQL.
_CODE = re.compile(r"```.*?```|``[^`]+``|`[^`\n]*`|<!--.*?-->|\bBEGIN\b(?: IMMEDIATE)?|\bdo \$\$ begin\b", re.DOTALL)
_END = re.compile(r"[.;:!?](?=\s)|\n\s*\n|\n\s*[-|#]")
# Names of the product, or words of others that are quoted.
EXEMPT = ("docs/sources/", "tests/", "bench/")


@dataclass(frozen=True, slots=True)
class Text:
    """A text that a person reads: ``kind`` is ``page``, ``message`` or ``comment`` (docstrings too)."""

    path: str
    line: int
    kind: str
    text: str


def clauses(text: str) -> list[str]:
    """The parts that are read at once, of at least three words, without code."""
    prose = _CODE.sub(" ", text)
    return [part for part in _END.split(prose) if len(re.findall(r"[A-Za-z]{2,}", part)) >= 3]


def strange(text: str) -> list[str]:
    """The clauses with a word of the list."""
    return [clause for clause in clauses(text) if _WORD.search(clause)]


def texts(files: Iterable[Source]) -> Iterator[Text]:
    """Every text of the product and its documents."""
    for file in files:
        if file.path.startswith(EXEMPT):
            continue
        if file.path.endswith(".md") or file.path.startswith(("runbooks/", "examples/")):
            yield Text(file.path, 1, "page", file.text)
        elif file.path.endswith(".py") and file.path.split("/")[0] in PRODUCT:
            yield from _of_module(file)


def _of_module(file: Source) -> Iterator[Text]:
    documented = {id(found) for node in ast.walk(file.tree) if (found := _docstring(node)) is not None}
    # The help of a command is its docstring, which an operator reads.
    shown = "message" if file.path.startswith("orchestrator/cli/commands/") else "comment"
    for node in ast.walk(file.tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield Text(file.path, node.lineno, shown if id(node) in documented else "message", node.value)
    for token in tokenize.generate_tokens(io.StringIO(file.text).readline):
        if token.type == tokenize.COMMENT:
            yield Text(file.path, token.start[0], "comment", token.string.lstrip("# "))


def _docstring(node: ast.AST) -> ast.Constant | None:
    if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) or not node.body:
        return None
    match node.body[0]:
        case ast.Expr(value=ast.Constant(value=str()) as text):
            return text
    return None
