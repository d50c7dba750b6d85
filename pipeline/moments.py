"""Times as people type them, and as documents contain them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from orchestrator.errors import DefinitionError

BEGIN_S, END_S = -62_135_596_800, 253_402_300_800
"""The start of the years 1 and 10,000. A time outside this range cannot be written as a date."""
Moment = Annotated[float, Field(ge=0, lt=END_S, allow_inf_nan=False)]
"""Seconds since the epoch, as given in an external document."""


def moment(text: str, option: str) -> float:
    """Seconds since the epoch of ``2026-11-20T03:00:00Z``. Raises ``DefinitionError``; a zone is needed."""
    try:
        parsed = datetime.fromisoformat(text)
    except ValueError as error:
        raise DefinitionError(
            f"{option}: {text!r} is not a date and time", hint="write 2026-11-20T03:00:00Z"
        ) from error
    if parsed.tzinfo is None:
        raise DefinitionError(f"{option}: {text!r} has no time zone", hint="write 2026-11-20T03:00:00Z")
    if not 0 <= parsed.timestamp() < END_S:
        raise DefinitionError(f"{option}: {text!r} is not between the years 1970 and 9999")
    return parsed.timestamp()
