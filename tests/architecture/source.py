"""Reads the project's own files, as text and as syntax trees, for the checkers beside it. Judges nothing."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Python files are looked for under these; .ci is the one hidden directory that belongs to the project.
PRODUCT = ("orchestrator", "adapters", "simulator", "validator", "pipeline", "proof")
HIDDEN_OURS = frozenset({".ci", ".gitignore"})


@dataclass(frozen=True)
class Source:
    """One Python file. ``path`` is relative to the project, with slashes."""

    path: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        # A tree is many objects and no garbage. Over a thousand trees the collector takes longer than the parser.
        gc.disable()
        try:
            return ast.parse(self.text, filename=self.path)
        finally:
            gc.enable()

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree, for the many checkers that look at all of them."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def imports(self) -> tuple[Import, ...]:
        """Every import of the file, those inside functions and under ``TYPE_CHECKING`` too."""
        return tuple(_imports(self))

    @cached_property
    def functions(self) -> tuple[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef], ...]:
        """Every function with its qualified name, ``World._enter``."""
        return tuple(_functions(self.tree, ""))

    @property
    def module(self) -> str:
        """``orchestrator.core.decide`` of ``orchestrator/core/decide/__init__.py``."""
        return self.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")

    def is_under(self, *prefixes: str) -> bool:
        """Is this one of the files ``prefixes``, or in one of the directories (which end in a slash)?"""
        return any(
            self.path == prefix or (prefix.endswith("/") and self.path.startswith(prefix)) for prefix in prefixes
        )


@dataclass(frozen=True, slots=True)
class Import:
    """One imported name. ``name`` is None for ``import a.b``; ``level`` counts the dots of a relative import."""

    line: int
    module: str
    name: str | None = None
    level: int = 0
    for_types: bool = False  # under ``if TYPE_CHECKING:``, so never at run time

    @property
    def top(self) -> str:
        return self.module.split(".")[0]

    def target(self, known: frozenset[str]) -> str:
        """The module that is meant: ``from a import b`` means ``a.b`` when that is a module, else ``a``."""
        inner = f"{self.module}.{self.name}"
        return inner if self.name is not None and inner in known else self.module


def _imports(source: Source) -> Iterator[Import]:
    guarded = {
        id(inner)
        for node in source.nodes
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for statement in node.body
        for inner in ast.walk(statement)
    }
    for node in source.nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(node.lineno, alias.name, for_types=id(node) in guarded)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                yield Import(node.lineno, node.module or "", alias.name, node.level, id(node) in guarded)


def _functions(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    # Expressions hold no functions but lambdas, which have no name.
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{prefix}{child.name}"
            if not isinstance(child, ast.ClassDef):
                yield name, child
            yield from _functions(child, f"{name}.")
        else:
            yield from _functions(child, prefix)


def enclosing(source: Source, line: int) -> str:
    """The qualified name of the innermost function around ``line``; ``<module>`` outside of any."""
    around = [
        (node.lineno, name)
        for name, node in source.functions
        if node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(around)[1] if around else "<module>"


def python_files(*tops: str) -> list[Source]:
    """Every Python file under these directories of the project; a directory that does not exist has none."""
    paths = sorted(path for top in tops for path in (ROOT / top).rglob("*.py"))
    return [Source(path.relative_to(ROOT).as_posix(), path.read_text("utf-8")) for path in paths]


def text_files() -> list[Source]:
    """Every text file of the project, without what is hidden or made by tools."""
    found = ((path, _text(path)) for path in sorted(_walk(ROOT)))
    return [Source(path.relative_to(ROOT).as_posix(), text) for path, text in found if text is not None]


def _walk(directory: Path) -> Iterator[Path]:
    ignored = (ROOT / ".gitignore").read_text("utf-8").split()
    for path in directory.iterdir():
        is_hidden = path.name.startswith(".") and path.name not in HIDDEN_OURS
        if is_hidden or is_ignored(path.relative_to(ROOT).as_posix(), ignored):
            continue
        if path.is_dir():
            yield from _walk(path)
        else:
            yield path


def is_ignored(path: str, patterns: Iterable[str]) -> bool:
    """Does .gitignore leave out ``path``? Of its language, names anywhere and paths that begin with a slash."""
    name = path.rpartition("/")[2]
    return any(
        f"/{path}" == pattern.rstrip("/") if pattern.startswith("/") else fnmatch(name, pattern.rstrip("/"))
        for pattern in patterns
    )


def _text(path: Path) -> str | None:
    """The file's text; None for a file that is not text."""
    try:
        return path.read_text("utf-8")
    except UnicodeDecodeError:
        return None


def code(path: str, *lines: str) -> Source:
    """A small source for the negative controls."""
    return Source(path, "\n".join(lines) + "\n")


def listed(violations: Iterable[str]) -> str:
    """Violations one below the other, as the message of a failed test."""
    return "\n".join(["", *violations])
