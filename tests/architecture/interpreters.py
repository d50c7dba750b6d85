"""The checker of how Python processes are started: through one module, and never with the working directory's code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from tests.architecture.source import Source

HOME = "orchestrator/interpreter.py"
# What keeps the working directory off the search path.
FLAGS = frozenset({"-P", "-I"})
# Classes and functions that start further processes of the same program.
POOLS = frozenset({"ProcessPoolExecutor", "Pool", "Process", "Manager"})
_PYTHON = re.compile(r"(?:.*/)?python[0-9.]*w?$")


def careless(sources: Iterable[Source]) -> list[str]:
    """Every start of an interpreter that would look for modules where the operator happens to stand."""
    return [
        f"{source.path}:{line}: {what}"
        for source in sources
        for line, what in (*_elsewhere(source), *_lists(source), *_pools(source), *_handed_over(source))
    ]


def _elsewhere(source: Source) -> Iterator[tuple[int, str]]:
    """The interpreter is named in its home alone."""
    if source.path == HOME:
        return
    for node in source.nodes:
        if (
            isinstance(node, ast.Attribute)
            and node.attr in ("executable", "_base_executable")
            and _is_sys(node.value)
        ):
            yield node.lineno, f"names the interpreter; {HOME} starts it"
    for one in source.imports:
        if one.module == "sys" and one.name in ("executable", "_base_executable"):
            yield one.line, f"names the interpreter; {HOME} starts it"


def _lists(source: Source) -> Iterator[tuple[int, str]]:
    """A command whose program is Python has one of the flags right behind it."""
    for node in source.nodes:
        if isinstance(node, ast.List | ast.Tuple) and node.elts and _is_python(node.elts[0]):
            flag = node.elts[1] if len(node.elts) > 1 else None
            if not (isinstance(flag, ast.Constant) and flag.value in FLAGS):
                yield node.lineno, "starts Python without -P or -I"


def _pools(source: Source) -> Iterator[tuple[int, str]]:
    """Processes that are made by Python's library are made within ``safe_children``."""
    within = {
        id(inner)
        for node in source.nodes
        if isinstance(node, ast.With) and any("safe_children" in ast.dump(item) for item in node.items)
        for inner in ast.walk(node)
    }
    library = {one.name for one in source.imports if one.top in ("multiprocessing", "concurrent")}
    for node in source.nodes:
        if isinstance(node, ast.Call) and _is_pool(node.func, library) and id(node) not in within:
            yield node.lineno, "starts processes outside of safe_children()"


def _handed_over(source: Source) -> Iterator[tuple[int, str]]:
    """Who hands the interpreter to another program hands over ``SAFE_PATH`` in the same function."""
    for function in source.nodes:
        if not isinstance(function, ast.FunctionDef) or source.path == HOME:
            continue
        names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
        calls = [node for node in names if node.id == "executable"]
        if calls and not any(node.id == "SAFE_PATH" for node in names):
            yield calls[0].lineno, "hands the interpreter over without SAFE_PATH"


def _is_sys(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "sys"


def _is_python(node: ast.expr) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in ("executable", "_base_executable") and _is_sys(node.value)
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(_PYTHON.match(node.value))


def _is_pool(node: ast.expr, library: set[str | None]) -> bool:
    if isinstance(node, ast.Name):
        return node.id in POOLS & library
    return isinstance(node, ast.Attribute) and node.attr in POOLS and None in library
