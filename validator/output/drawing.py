"""The fabric as a drawing: Mermaid for documents that render it, SVG for everything else.

Groups are boxes, sync links are solid, async links are dashed, and a link that AMPS would refuse is red. In a fabric of
many instances, each group is one box. The drawing needs only the report, and its order does not change.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from xml.sax.saxutils import escape, quoteattr

from orchestrator.characters import spelled_out
from orchestrator.counting import counted
from validator.report import LEVELS, Level, ValidationReport

INSTANCES_MAX = 80
_COLOURS = {Level.ERROR: "#c62828", Level.RISK: "#ef6c00", Level.UNDECIDED: "#6a1b9a"}
_PLAIN = "#37474f"


@dataclass(frozen=True, slots=True)
class _Arrow:
    source: str
    destination: str
    is_sync: bool
    label: str
    worst: Level | None

    @property
    def colour(self) -> str:
        return _COLOURS.get(self.worst, _PLAIN) if self.worst else _PLAIN


@dataclass(frozen=True, slots=True)
class _Picture:
    """The parts of a drawing: boxes by group, and arrows between them."""

    boxes: dict[str, list[str]]
    arrows: list[_Arrow]


def mermaid(report: ValidationReport, *, instances_max: int = INSTANCES_MAX) -> str:
    """The fabric as a Mermaid flowchart."""
    picture = _picture(report, instances_max)
    ids = {name: f"n{index}" for index, name in enumerate(name for names in picture.boxes.values() for name in names)}
    lines = ["flowchart LR"]
    for index, (group, names) in enumerate(picture.boxes.items()):
        if group:
            lines.append(f'  subgraph g{index}["{_quoted(group)}"]')
        lines += [f'    {ids[name]}["{_quoted(name)}"]' for name in names]
        if group:
            lines.append("  end")
    styles: list[str] = []
    for index, arrow in enumerate(picture.arrows):
        shaft = "-->" if arrow.is_sync else "-.->"
        lines.append(f'  {ids[arrow.source]} {shaft}|"{_quoted(arrow.label)}"| {ids[arrow.destination]}')
        if arrow.colour != _PLAIN:
            styles.append(f"  linkStyle {index} stroke:{arrow.colour}")
    return "\n".join([*lines, *styles]) + "\n"


def svg(report: ValidationReport, *, instances_max: int = INSTANCES_MAX) -> str:
    """The fabric as one self-contained SVG: boxes on a circle, in group order."""
    picture = _picture(report, instances_max)
    order = [(group, name) for group, names in picture.boxes.items() for name in names]
    radius = max(160.0, len(order) * 28.0)
    size = 2 * radius + 320
    centre = size / 2
    spots: dict[str, tuple[float, float]] = {}
    for index, (_, name) in enumerate(order):
        angle = 2 * math.pi * index / max(1, len(order)) - math.pi / 2
        spots[name] = (centre + radius * math.cos(angle), centre + radius * math.sin(angle))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size:.0f} {size:.0f}" '
        'font-family="sans-serif" font-size="13" role="img">',
        "<title>AMPS replication fabric</title>",
        _markers(),
    ]
    parts += [_svg_arrow(arrow, spots) for arrow in picture.arrows]
    parts += [_svg_box(name, group, *spots[name]) for group, name in order]
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def _picture(report: ValidationReport, instances_max: int) -> _Picture:
    if len(report.instances) > instances_max:
        return _by_group(report)
    boxes: dict[str, list[str]] = defaultdict(list)
    for node in report.instances:
        boxes[node.group].append(node.name)
    arrows = [
        _Arrow(edge.source, edge.destination, edge.sync, _topics(edge.topics), edge.worst)
        for edge in sorted(report.links, key=lambda edge: (edge.source, edge.destination))
    ]
    return _Picture(dict(sorted(boxes.items())), arrows)


def _by_group(report: ValidationReport) -> _Picture:
    """One box for each group, and one arrow for all links between two groups. Links within a group are an arrow from the
    box to itself."""
    group = {node.name: node.group for node in report.instances}
    count: dict[str, int] = defaultdict(int)
    for node in report.instances:
        count[node.group] += 1
    title = {name: f"{name} ({size} instances)" if size > 1 else name for name, size in count.items()}
    between: dict[tuple[str, str, bool], list[Level | None]] = defaultdict(list)
    for edge in report.links:
        between[title[group[edge.source]], title[group[edge.destination]], edge.sync].append(edge.worst)
    arrows = []
    for (source, destination, is_sync), levels in sorted(between.items()):
        worst = next((level for level in LEVELS if level in levels), None)
        arrows.append(_Arrow(source, destination, is_sync, counted(len(levels), "link"), worst))
    return _Picture({"": sorted(title.values())}, arrows)


def _topics(count: int) -> str:
    return counted(count, "topic")


def _quoted(text: str) -> str:
    return spelled_out(text).replace("&", "#amp;").replace('"', "#quot;").replace("<", "#lt;").replace(">", "#gt;")


def _escaped(text: str) -> str:
    """The text as XML. Control characters are spelled out, because XML cannot contain most of them."""
    return escape(spelled_out(text))


def _markers() -> str:
    colours = [_PLAIN, *_COLOURS.values()]
    markers = "".join(
        f'<marker id="m{colour[1:]}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0 10 5 0 10z" fill="{colour}"/></marker>'
        for colour in colours
    )
    return f"<defs>{markers}</defs>"


def _svg_arrow(arrow: _Arrow, spots: dict[str, tuple[float, float]]) -> str:
    """A curve that bends to its left, so the two directions of a pair do not cover each other."""
    (x1, y1), (x2, y2) = spots[arrow.source], spots[arrow.destination]
    title = f"<title>{_escaped(f'{arrow.source} → {arrow.destination}: {arrow.label}')}</title>"
    dash = "" if arrow.is_sync else ' stroke-dasharray="6 4"'
    style = f'fill="none" stroke="{arrow.colour}" stroke-width="1.5"{dash} marker-end="url(#m{arrow.colour[1:]})"'
    if arrow.source == arrow.destination:
        return f'<path d="M{x1 - 20:.1f} {y1 - 17:.1f} c-30 -50 70 -50 40 0" {style}>{title}</path>'
    length = math.hypot(x2 - x1, y2 - y1) or 1.0
    ux, uy = (x2 - x1) / length, (y2 - y1) / length
    bend = min(40.0, length / 5)
    mx, my = (x1 + x2) / 2 + uy * bend, (y1 + y2) / 2 - ux * bend
    gap = 34.0 if length > 90 else 0.0
    start, end = (x1 + ux * gap, y1 + uy * gap), (x2 - ux * gap, y2 - uy * gap)
    path = f"M{start[0]:.1f} {start[1]:.1f} Q{mx:.1f} {my:.1f} {end[0]:.1f} {end[1]:.1f}"
    return f'<path d="{path}" {style}>{title}</path>'


def _svg_box(name: str, group: str, x: float, y: float) -> str:
    width = max(60.0, 8.0 * len(name) + 16)
    title = f"{name}, group {group}" if group else name
    return (
        f"<g aria-label={quoteattr(spelled_out(title))}><title>{_escaped(title)}</title>"
        f'<rect x="{x - width / 2:.1f}" y="{y - 15:.1f}" width="{width:.1f}" height="30" rx="5" '
        'fill="#eceff1" stroke="#37474f"/>'
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{_escaped(name)}</text>'
        f'<text x="{x:.1f}" y="{y + 30:.1f}" text-anchor="middle" font-size="10" fill="#546e7a">'
        f"{_escaped(group)}</text>"
        "</g>"
    )
