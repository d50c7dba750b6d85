"""What goes out over HTTP, and what comes back.

Whoever shows what an adapter can do reads these, so this module must never load httpx.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """``target`` is path and query exactly as they go out. ``is_read``: it changes nothing, and may be sent twice.
    ``within_s``: seconds for this exchange, in place of those of the session."""

    method: str
    target: str
    body: bytes | None = None
    content_type: str = ""
    is_read: bool = False
    within_s: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """``headers`` have lower-case names. The moments are of our own clock, seconds since the epoch."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    asked_at: float
    answered_at: float

    @property
    def text(self) -> str:
        """The body, whatever it is, as text."""
        return self.body.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds for making a connection, and for one exchange as a whole."""

    connect_s: float
    exchange_s: float
