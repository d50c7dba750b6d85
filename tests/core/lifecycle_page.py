"""The generated blocks of ``docs/explanation/lifecycle.md``. ``python -m tests.core.lifecycle_page`` writes them anew."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from orchestrator.core.lifecycle import LANE_TABLE, RUN_TABLE, Row, mermaid

PAGE = Path(__file__).parents[2] / "docs/explanation/lifecycle.md"
_BLOCK = re.compile(r"(<!-- begin (?P<name>[a-z-]+) -->\n).*?(<!-- end (?P=name) -->)", re.DOTALL)


def blocks() -> Mapping[str, str]:
    """What stands between the markers, by name."""
    return {
        "lane-diagram": _diagram(LANE_TABLE),
        "lane-table": _table(LANE_TABLE),
        "run-diagram": _diagram(RUN_TABLE),
        "run-table": _table(RUN_TABLE),
    }


def _diagram(table: tuple[Row, ...]) -> str:
    return f"```mermaid\n{mermaid(table)}```\n"


def _table(table: tuple[Row, ...]) -> str:
    lines = ["| in | event | leads to | when |", "| --- | --- | --- | --- |"]
    lines += [f"| {row.source} | `{row.trigger}` | {row.dest} | {row.comment} |" for row in table]
    return "\n".join(lines) + "\n"


def names_in(page: str) -> list[str]:
    """The names of the blocks that ``page`` has."""
    return [found["name"] for found in _BLOCK.finditer(page)]


def regenerated(page: str) -> str:
    """``page`` with its blocks as the tables are now. Raises ``KeyError`` for a block of another name."""
    made = blocks()
    return _BLOCK.sub(lambda found: found[1] + made[found["name"]] + found[3], page)


if __name__ == "__main__":
    PAGE.write_text(regenerated(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
