"""The free texts of a record, which may contain a secret, and the names in it.

Secrets are replaced in free texts only. Names must stay, because a run is resumed by them. An account may be called
like its password, and a password may be a word of the vocabulary or a number of messages. Replacing it in names would
make the record unusable.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

# Keys of events and requests whose texts come from devices, people and errors.
FREE_TEXTS = frozenset(
    {
        "detail",
        "evidence",
        "excerpt",
        "note",
        "output",
        "reason",
        "reasons",
        "remedy",
        "sent",
        "skipped",
        "text",
        "why",
    }
)

Scrub = Callable[[str], str]


def scrub_free_texts(scrub: Scrub) -> Scrub:
    """A function that makes a record, as JSON, ready to be stored: it applies ``scrub`` to the free texts."""

    def scrubbed(body: str) -> str:
        if scrub(body) == body:
            return body
        return json.dumps(_walk(json.loads(body), scrub, free=False), separators=(",", ":"), ensure_ascii=False)

    return scrubbed


def _walk(value: Any, scrub: Scrub, *, free: bool) -> Any:
    if isinstance(value, dict):
        return {key: _walk(inner, scrub, free=free or key in FREE_TEXTS) for key, inner in value.items()}
    if isinstance(value, list):
        return [_walk(inner, scrub, free=free) for inner in value]
    return scrub(value) if free and isinstance(value, str) else value
