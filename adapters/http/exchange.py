"""The requests and replies of HTTP.

The code that shows what an adapter can do imports this module, so this module must never load httpx.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Request:
    """``target`` is path and query exactly as they are sent. ``is_read``: the request changes nothing, and may be sent
    twice. ``within_s``: seconds for this exchange, in place of the session's limit."""

    method: str
    target: str
    body: bytes | None = None
    content_type: str = ""
    is_read: bool = False
    within_s: float | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """``headers`` have lower-case names. The times are of this machine's clock, seconds since the epoch."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    asked_at: float
    answered_at: float

    @property
    def text(self) -> str:
        """The body as text, whatever its type is."""
        return self.body.decode("utf-8", "replace")


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds for making a connection, and for one exchange as a whole."""

    connect_s: float
    exchange_s: float
