"""The outcome of a reading or an action: data that every adapter returns, and that records hold."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from orchestrator.errors import (
    AdapterError,
    NoSuchService,
    UnreadableReply,
)

# What an operator does about each kind of failure of a site.
_UNREACHED = "check the power and the network of {site}, and its address in the inventory"
_REMEDIES = {
    "Unreachable": _UNREACHED,
    "ConnectionLost": _UNREACHED,
    "CommandTimedOut": _UNREACHED,
    "AuthenticationFailed": "fix the account or the secret that the inventory gives for {site}",
    "HostKeyRejected": "compare the fingerprint at the console of {site} before you trust it",
    "NotServing": "check the redundancy of {site}, because none of its nodes that answered serves",
    "NoSuchService": "compare the name in the inventory with the names of the services at {site}",
}
_OTHER = "run the command again with -vv: it shows what was sent to {site}, and the answer"


class Failure(BaseModel):
    """A reading that failed. ``kind``: the class name of the error. ``definite``: the device gave a definite answer."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    text: str
    device: str = ""
    definite: bool = False
    excerpt: str = ""

    def remedy(self, site: str) -> str:
        """What an operator does about it, for a failure of ``site``."""
        return _REMEDIES.get(self.kind, _OTHER).format(site=site)

    @classmethod
    def of(cls, error: AdapterError) -> Failure:
        """The data of an adapter's error. The text is not redacted yet: the journal redacts it before it writes."""
        return cls(
            kind=type(error).__name__,
            text=str(error),
            device=error.device,
            definite=isinstance(error, NoSuchService),
            excerpt=error.text if isinstance(error, UnreadableReply) else "",
        )


class Effect(StrEnum):
    """How a call of an action ended. The values differ in whether the device could have obeyed."""

    ACCEPTED = "accepted"  # the device took the command and reported no error; a reading must still confirm it
    REJECTED = "rejected"  # the device answered no; it did not obey
    NOT_SENT = "not-sent"  # the command was not sent; it may be tried again
    DOUBTFUL = "doubtful"  # the device may have obeyed; only a reading can show it
