"""Moments as people type them."""

from __future__ import annotations

from datetime import datetime

from orchestrator.errors import DefinitionError


def moment(text: str, option: str) -> float:
    """Seconds since the epoch of ``2026-11-20T03:00:00Z``. Raises ``DefinitionError``; a zone is needed."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise DefinitionError(f"{option}: {text!r} is no moment", hint="write 2026-11-20T03:00:00Z") from error
    if parsed.tzinfo is None:
        raise DefinitionError(f"{option}: {text!r} has no time zone", hint="write 2026-11-20T03:00:00Z")
    return parsed.timestamp()
