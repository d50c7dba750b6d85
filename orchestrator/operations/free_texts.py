"""Which texts of a record are free, so that a secret may have got into them, and which are names.

Secrets are replaced in free texts only. A name is what a run is continued by: an account called like its password, or
a password that is also a word of the vocabulary or a number of messages, must not make a record unusable.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

# Keys of events and requests whose texts come from devices, people and errors.
FREE_TEXTS = frozenset(
    {"detail", "evidence", "excerpt", "note", "output", "reason", "reasons", "sent", "skipped", "text", "why"}
)

Scrub = Callable[[str], str]


def scrub_free_texts(scrub: Scrub) -> Scrub:
    """What makes a record, as JSON, fit to be stored: ``scrub`` applied to its free texts."""

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
