"""The table of ``failover status`` for a family without its own table: from facets alone. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from orchestrator.core.pair_position import End, end_of
from orchestrator.counting import counted
from orchestrator.family.status import StatusPart
from orchestrator.model.families import Family
from orchestrator.model.other_manager import worst


def part_of(family: Family) -> StatusPart:
    """The family's readings with facets, and the columns for them."""
    return StatusPart(
        family.surveyed,
        columns=("serves", "link", "backlog", "in doubt"),
        numbers=frozenset({"backlog", "in doubt"}),
        figures=lambda answers, service: figures_of(end_of(family, "", answers, service)),
        cells=cells,
    )


def figures_of(end: End) -> dict[str, object]:
    """One site's side of a service, for JSON and for the table; None is unknown."""
    figures: dict[str, object] = {
        "serves": end.serves,
        "link": end.link,
        "backlog": end.backlog,
        "unit": end.unit,
        "in_doubt": end.in_doubt,
        "clients": end.clients,
        "suspended": end.suspended,
        "blocked": end.blocked,
    }
    if end.managers:
        told = [one.model_dump(exclude_defaults=True) for one in end.managers]
        figures |= {"other_manager": worst(end.managers), "managers": told}
    return figures | ({"error": end.error} if end.error else {})


def cells(end: Mapping[str, object]) -> list[str]:
    """The cells after service and site."""
    serves = {True: "yes", False: "no"}.get(end["serves"], "unknown")  # type: ignore[call-overload]
    link = {True: "up", False: "DOWN"}.get(end["link"], "-")  # type: ignore[call-overload]
    unit = str(end["unit"])
    # Where clients write, a number exists, so a missing number is unknown. A mate may have nothing to count.
    is_unknown = end["backlog"] is None and end["serves"] is True and bool(unit)
    return [serves, link, "unknown" if is_unknown else _number(end["backlog"], unit), _number(end["in_doubt"], "")]


def _number(value: object, unit: str) -> str:
    if not isinstance(value, int):
        return "-"
    return counted(value, unit) if unit else f"{value:,}"


def row_words(end: End) -> str:
    """``ny serves, link up, 1,200 rows queued``: one end as a line."""
    if end.error:
        return f"{end.site} unknown ({end.error})"
    serves = {True: "serves", False: "does not serve", None: "does not report whether it serves"}[end.serves]
    parts = [f"{end.site} {serves}"]
    if end.link is not None:
        parts.append("link up" if end.link else "link DOWN")
    if end.backlog is not None:
        parts.append(f"{_number(end.backlog, end.unit)} queued")
    if end.blocked:
        parts.append("writers wait")
    for one in end.managers:
        if one.state in ("acts", "unknown"):
            parts.append(f"{one.called} may act" if one.state == "acts" else f"unknown whether {one.called} may act")
    return ", ".join(parts)
