"""The table of procedures that are possible at a site: for ``check``, and for ``runbook lint --adapter``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from orchestrator.cli.render.tables import lines_of, plain_table
from orchestrator.documents.abilities import Ability


def abilities_lines(by_site: Mapping[str, Sequence[Ability]], title: str) -> Iterator[str]:
    """A row for each procedure and a column for each site. Then the reasons for procedures that are not plainly
    possible."""
    table = plain_table(title, *by_site)
    columns = list(by_site.values())
    for row in zip(*columns, strict=True):
        table.add_row(row[0].procedure, *(one.verdict for one in row))
    yield from lines_of(table)
    reasons: dict[str, None] = {}
    for site, found in by_site.items():
        for one in found:
            if one.why:
                where = f" ({site})" if len(by_site) > 1 and one.verdict == "not" else ""
                reasons[f"  {one.procedure}{where}: {one.verdict}: {'; '.join(one.why)}"] = None
    yield from reasons
