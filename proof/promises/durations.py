"""Durations as a runbook writes them: a number with a unit."""

from __future__ import annotations

import re
from functools import lru_cache

_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_FORM = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")


@lru_cache(maxsize=256)
def seconds(text: str | None, default: float = 0.0) -> float:
    """The number of seconds in ``text``, or ``default`` if ``text`` is None. Raises ``ValueError`` for other text."""
    if text is None:
        return default
    found = _FORM.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is no duration")
    return float(found[1]) * _UNITS[found[2]]
