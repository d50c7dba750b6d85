"""Pictures for the pages, as SVG without a script: by Altair, where the extra ``charts`` is installed; else none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element, ParseError, register_namespace

from defusedxml.ElementTree import fromstring

_SVG = "http://www.w3.org/2000/svg"
_WIDTH, _HEIGHT = 860, 220


def stacked_bars(rows: Sequence[Mapping[str, object]], *, x: str, y: str, colour: str) -> Element | None:
    """Bars over time: a stack for each moment ``x``, as high as ``y``, in as many colours as there are ``colour``. None
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


def _element(text: str) -> Element | None:
    register_namespace("", _SVG)
    try:
        found: Element = fromstring(text)
    except ParseError:
        return None
    # A page in HTML knows the element without its namespace.
    for one in found.iter():
        one.tag = str(one.tag).removeprefix(f"{{{_SVG}}}")
    return found
