"""How long ago, or how long yet, in words that are read at a glance."""

from __future__ import annotations

_UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))


def span(seconds: float) -> str:
    """``45 s``, ``12 min``, ``3 h``, ``5 d``: in the largest unit of which there are at least two."""
    for size, unit in _UNITS:
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def age(seconds: float) -> str:
    """``3 h ago``; a moment that lies ahead by another clock is now."""
    return "just now" if seconds < 1 else f"{span(seconds)} ago"
