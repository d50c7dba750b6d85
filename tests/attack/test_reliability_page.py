"""docs/explanation/reliability.md names tests that exist, and every promise; its commands run."""

from __future__ import annotations

import re
from pathlib import Path

from tests.attack.bombs import BOMBS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/explanation/reliability.md").read_text("utf-8")


def missing(page: str) -> list[str]:
    """What the page says can be found below ``tests`` or ``proof``, and cannot."""
    named = set(re.findall(r"\b((?:tests|proof)/[a-z_/]+(?:\.py)?)", page))
    return sorted(name for name in named if not (ROOT / name).exists())


def test_every_test_that_is_named_exists() -> None:
    """Law: a promise that points at a test that is gone would be an empty one."""
    assert missing(PAGE) == []
    assert missing("see `tests/attack/test_nothing.py`") == ["tests/attack/test_nothing.py"]


def test_every_promise_has_a_row() -> None:
    """Law: none of the eighteen is left out, and each names a test."""
    rows = re.findall(r"^\| (\d+) \| .*\| ([^|]+) \|$", PAGE, flags=re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, 19))
    assert all("`tests/" in tests for _, tests in rows)


def test_the_counts_are_the_counts() -> None:
    """Law: what can be counted without running anything is what the page says."""
    assert f"| {len(BOMBS)}, in " in PAGE
