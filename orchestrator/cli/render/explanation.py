"""The table of ``failover check --explain FILE``: the requests of each reading, and the result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from orchestrator.cli.render.tables import lines_of, plain_table
from orchestrator.cli.render.terminal import presentable, show, show_document
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Failure
from orchestrator.operations.pairs.explanation import CANNOT, Explained, Explaining, unknown_fields
from orchestrator.reports.unknowns import why_unknown

_UNREDACTED_HINT = "read the file before you send it, because an answer with an unknown layout may still have names"


def show_explanation(explaining: Explaining, document: Mapping[str, object]) -> None:
    """Print the table for the operator, with the real names, and the path of the file."""
    table = plain_table("site", "reading", "asked", "sent", "result")
    notes: dict[str, None] = {}
    for one in explaining.in_order():
        for found in one.readings:
            asked = ", ".join(dict.fromkeys(heard.device for heard in found.exchanges))
            cells = (one.site.name, found.reading, asked or "-", str(len(found.exchanges)), _result(found))
            table.add_row(*(presentable(cell) for cell in cells))
            notes |= dict.fromkeys(_notes(one.site, found))
    show_document("")
    for line in lines_of(table):
        show_document(line)
    if notes:
        show_document("")
    for note in notes:
        show(note)
    kept = document["kept"]
    if isinstance(kept, list) and kept:
        show(f"These names stay in the file, because they are short, or are words of the devices: {', '.join(kept)}")
    show(f"{explaining.out} has each request and answer, with pseudonyms in place of names; {_UNREDACTED_HINT}")


def _result(one: Explained) -> str:
    if one.explanation is None:
        return CANNOT
    unknown = unknown_fields(one)
    fields = f": {', '.join(unknown)} unknown" if unknown else ""
    failed = sum(isinstance(found, Failure) for found in one.answers.values())
    lacking = f"; {failed} of {len(one.answers)} services not read" if failed and one.verdict == "partly" else ""
    return f"{one.verdict}{fields}{lacking}"


def _notes(site: Site, one: Explained) -> Iterator[str]:
    """The reasons for unknown fields and failed readings, one line each."""
    if one.explanation is None:
        return
    if unknown_fields(one):
        yield f"{site.name}, {one.reading}: {why_unknown(one.exchanges, one.explanation)}"
    yield from (f"{site.name}: {found.text}" for found in one.answers.values() if isinstance(found, Failure))
    yield from (f"{site.name}: {heard.why}" for heard in one.exchanges if heard.failed)
