"""docs/how-to/pipeline.md shows the schema that is written and checked."""

from __future__ import annotations

from pathlib import Path

from pipeline.layout import described

PAGE = (Path(__file__).parents[2] / "docs/how-to/pipeline.md").read_text(encoding="utf-8")


def test_the_schema_is_the_one_that_is_held() -> None:
    """Law: each column of an export stands on the page as it is in the schema, in order, and no other."""
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    first = rows.index(described()[0])
    assert rows[first : first + len(described())] == described()
