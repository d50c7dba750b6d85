"""Charts for the pages, as SVG without a script. They need Altair (the extra ``charts``); without it there are none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, ParseError, register_namespace

from defusedxml.ElementTree import fromstring

_SVG = "http://www.w3.org/2000/svg"
_WIDTH, _HEIGHT = 860, 220
# How wide a name may be. A name starts with the mark for simulated data, and the end tells rows apart.
_LABEL = 380
_SHORTENED = "length(datum.label) > 60 ? slice(datum.label, 0, 25) + '…' + slice(datum.label, -34) : datum.label"


def stacked_bars(rows: Sequence[Mapping[str, object]], *, x: str, y: str, colour: str) -> Element | None:
    """Bars over time: a stack for each time ``x``, with the height ``y``, and a colour for each value of ``colour``. None
    without rows, or without the libraries."""
    if not rows:
        return None
    try:
        import altair
        import vl_convert
    except ModuleNotFoundError:
        return None
    chart = (
        altair.Chart(altair.InlineData(values=list(rows)), width=_WIDTH, height=_HEIGHT)
        .mark_bar()
        .encode(
            x=altair.X(f"{x}:T", title=None, timeUnit="utcyearmonthdatehoursminutesseconds"),
            y=altair.Y(f"{y}:Q", title=y),
            color=altair.Color(f"{colour}:N", title=None),
        )
    )
    return _element(vl_convert.vegalite_to_svg(chart.to_dict()))


def ranges(rows: Sequence[Mapping[str, object]], *, x: str) -> Element | None:
    """A bar for each of ``rows``, in their order: labelled with ``name``, from ``low`` to ``high``, with strokes at
    ``middle`` and ``longest`` (which may be None). None without rows, or without the libraries."""
    if not rows:
        return None
    try:
        import altair
        import vl_convert
    except ModuleNotFoundError:
        return None
    name = altair.Axis(labelExpr=_SHORTENED, labelLimit=_LABEL)
    y = altair.Y("name:N", sort=None, title=None, axis=name)
    plain = altair.Chart(altair.InlineData(values=list(rows)), width=_WIDTH - _LABEL, height=altair.Step(24))
    chart = altair.layer(
        plain.mark_bar(height=14, color="#c9dcf2").encode(x=altair.X("low:Q", title=x), x2="high:Q", y=y),
        plain.mark_tick(height=18, thickness=3, color="#1f5fa8").encode(x="middle:Q", y=y),
        plain.mark_tick(height=10, thickness=2, color="#b3542c").encode(x="longest:Q", y=y),
    )
    return _element(vl_convert.vegalite_to_svg(chart.to_dict()))


def _element(text: str) -> Element | None:
    register_namespace("", _SVG)
    try:
        found: Element = fromstring(text)
    except ParseError:
        return None
    # An HTML page needs the element name without its namespace.
    for one in found.iter():
        one.tag = str(one.tag).removeprefix(f"{{{_SVG}}}")
        # These attributes also contain names of rows, and Python does not escape "<" in an attribute.
        for name in [name for name in one.attrib if name.startswith("aria-")]:
            del one.attrib[name]
    return found
