"""How a reading or an action ended: data that records hold, and that every adapter answers with."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from orchestrator.errors import (
    AdapterError,
    NoSuchService,
    UnreadableReply,
)


class Failure(BaseModel):
    """A reading that was not had. ``kind`` is the error's class name; ``definite`` means the device answered."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    text: str
    device: str = ""
    definite: bool = False
    excerpt: str = ""

    @classmethod
    def of(cls, error: AdapterError) -> Failure:
        """The data of an adapter's error; the caller has redacted nothing, the journal's door does."""
        return cls(
            kind=type(error).__name__,
            text=str(error),
            device=error.device,
            definite=isinstance(error, NoSuchService),
            excerpt=error.text if isinstance(error, UnreadableReply) else "",
        )


class Effect(StrEnum):
    """How a call of an action ended, by the one question that matters: could the device have obeyed?"""

    ACCEPTED = "accepted"  # the device took the command and reported no error; a reading must still confirm it
    REJECTED = "rejected"  # the device answered no; it did not obey
    NOT_SENT = "not-sent"  # the command never left; it may be tried again
    DOUBTFUL = "doubtful"  # it may have obeyed; only a reading can tell
