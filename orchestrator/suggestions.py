"""Did you mean …? The known word that is closest to a mistyped one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def closest(word: str, known: Iterable[str]) -> str | None:
    """The known word that ``word`` was probably meant to be, or None."""
    names = list(known)
    lowered = {name.lower(): name for name in names}
    if word.lower() in lowered:
        return lowered[word.lower()]
    return next(iter(difflib.get_close_matches(word, names, n=1, cutoff=0.6)), None)


def suggest(word: str, known: Iterable[str], *, label: str = "known") -> str:
    """A hint: the closest known word, and all of them if they are few or none is close."""
    names = sorted(known)
    near = closest(word, names)
    parts = [f"did you mean {near}?"] if near else []
    if names and (not near or len(names) <= 12):
        parts.append(f"{label}: {', '.join(names)}")
    return " ".join(parts)
