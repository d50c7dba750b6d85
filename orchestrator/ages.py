"""How long ago, or how long yet, in words that are read at a glance. Numbers are seconds."""

from __future__ import annotations

_UNITS = ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min"))


def span(number: float) -> str:
    """``45 s``, ``12 min``, ``3 h``, ``5 d``: in the largest unit of which there are at least two."""
    for size, unit in _UNITS:
        if number >= 2 * size:
            return f"{number / size:.0f} {unit}"
    return f"{max(0.0, number):.0f} s"


def age(number: float) -> str:
    """``3 h ago``; a moment that lies ahead by another clock is now."""
    return "just now" if number < 1 else f"{span(number)} ago"


def seconds(number: float | None) -> str:
    """``7s``, ``3m12s``, ``2h05m``; empty for None."""
    if number is None:
        return ""
    whole = int(number)
    if whole < 100:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02}m"
