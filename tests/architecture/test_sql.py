"""The text of the algorithms is the same to both engines: what they take in different ways is not written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SQL = sorted((Path(__file__).parents[2] / "pipeline" / "sql").glob("*.sql"))
_STRING = re.compile(r"'[^']*'")
_COMMENT = re.compile(r"(?<!/)--[^\n]*")
_ORDER = re.compile(r"ORDER BY\s+((?:[^()]|\([^()]*\))*?)(?=\)|\bROWS\b|\bLIMIT\b|$|\n\n)", re.DOTALL)
# Functions that are not the same in both, or pick "any" of several.
_FORBIDDEN = re.compile(
    r"\b(first|last|any_value|min_by|max_by|arg_min|arg_max|xxhash64|hash|shiftright|nvl|if|percentile|quantile\w*)\s*\("
)


def faults(text: str) -> Iterator[str]:
    """What of ``text`` the two engines would take in different ways."""
    bare = _STRING.sub("''", _COMMENT.sub("", text))
    for found in _FORBIDDEN.finditer(bare):
        yield f"{found[1]} is not the same in both"
    if re.search(r"[^/*]/[^*/]", bare):
        yield "a division of integers is another thing in each: floordiv or ratio"
    for found in _ORDER.finditer(bare):
        for term in re.split(r",(?![^()]*\))", found[1]):
            if term.strip() and not re.search(r"NULLS (FIRST|LAST)", term):
                yield f"ORDER BY {term.strip()} does not say where an empty value stands"
    for found in re.finditer(r"(?<!wsum)(?<!CAST\()\bsum\([^)]*\)+ AS", bare):
        yield f"{found[0]}: its type is another one in each: CAST it"


@pytest.mark.parametrize("file", SQL, ids=lambda file: file.stem)
def test_both_engines_take_it_alike(file: Path) -> None:
    """Law: no function that differs, no division, no order that leaves empty values to the engine."""
    wrong = [one for one in faults(file.read_text("utf-8")) if "its type" not in one]
    assert wrong == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT min_by(a, b) FROM x", "min_by"),
        ("SELECT a / b FROM x", "division"),
        ("SELECT lag(a) OVER (ORDER BY b) FROM x", "ORDER BY b"),
        ("SELECT * FROM x ORDER BY a NULLS FIRST, b", "ORDER BY b"),
        ("SELECT xxhash64(a) FROM x", "xxhash64"),
    ],
)
def test_the_checker_finds(text: str, words: str) -> None:
    """Control: each of these is found."""
    assert any(words in one for one in faults(text))
