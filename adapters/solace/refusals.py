"""What it means when the CLI answers something else than was asked for.

facts/solace.md section 3.1 knows the words of a refusal, not its layout; so words are looked for, and only in an
answer that could not be read as what it should have been. Section 6: how a missing message VPN is reported is not
recorded. Assumption: the sentence names a message VPN and says that it is not there.
"""

from __future__ import annotations

import re

from adapters.ssh.translate import printable
from orchestrator.errors import AdapterError, CommandRejected, NoSuchService, UnreadableReply

_REFUSED = re.compile(r"invalid command|\berror:|command not found|\bbusy\b", re.IGNORECASE)
_REFUSED_LINE = re.compile(r"\s*(?:invalid command|error:|command not found)", re.IGNORECASE)
_MISSING = re.compile(r"\b(?:not found|does not exist|no such)\b", re.IGNORECASE)
_VPN = re.compile(r"\bmessage[- ]?vpn\b|\bvpn\b", re.IGNORECASE)
_SOMETHING_ELSE = re.compile(r"\bqueue\b|\btransaction\b|\bxid\b|\bcommand\b", re.IGNORECASE)


def refusal(text: str, device: str = "") -> AdapterError | None:
    """The device's "no" in ``text``: ``NoSuchService``, ``CommandRejected``, or None without a word of refusal."""
    said = printable(text)
    if any(_MISSING.search(line) and _names_a_vpn(line) for line in text.split("\n")):
        return NoSuchService(f"{device or 'the device'} has no such message VPN: {said}", device=device)
    if _REFUSED.search(text) or _MISSING.search(text):
        return CommandRejected(f"{device or 'the device'} refused: {said}", device=device)
    return None


def unreadable(why: str, text: str, device: str = "") -> AdapterError:
    """The error for an answer that no rule covers: the refusal in it, or ``UnreadableReply`` with the whole text."""
    return refusal(text, device) or UnreadableReply(
        f"the answer of {device or 'the device'} cannot be read: {why}", text=text, device=device
    )


def _names_a_vpn(line: str) -> bool:
    return _VPN.search(line) is not None and _SOMETHING_ELSE.search(line) is None


def is_refusal_line(line: str) -> bool:
    """Does a line that fits nowhere begin like a refusal?"""
    return _REFUSED_LINE.match(line) is not None
