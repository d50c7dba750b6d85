"""Explains CLI answers that are not the requested output.

docs/sources/solace-cli.md, 19 has the texts. The word ``ERROR:`` may be missing, so the phrases count too, but only
in an answer that could not be read as the requested output. A node whose message spool is not active does not
report what the spool holds, and one that is starting reports nothing. Neither answer means 0; the HA mate has to be
asked.
"""

from __future__ import annotations

import re

from orchestrator.characters import printable
from orchestrator.errors import AdapterError, CommandRejected, NoSuchService, NotServing, UnreadableReply

_REFUSED = re.compile(r"invalid command|\berror:|command not found|\bcommand failed\b|\bbusy\b", re.IGNORECASE)
_REFUSED_LINE = re.compile(
    r"\s*(?:invalid command|error:|command not found|command failed\s*$|SolOS startup in progress)", re.IGNORECASE
)
_NOT_ACTIVE = re.compile(r"message-?spool operational status is not AD-?ACTIVE|\bnot AD-ACTIVE\b", re.IGNORECASE)
_STARTING = re.compile(r"\bstartup in progress\b", re.IGNORECASE)
_MISSING = re.compile(r"\b(?:not found|does not exist|no such)\b", re.IGNORECASE)
_VPN = re.compile(r"\bmessage[- ]?vpn\b|\bvpn\b", re.IGNORECASE)
_SOMETHING_ELSE = re.compile(r"\bqueue\b|\btransaction\b|\bxid\b|\bcommand\b", re.IGNORECASE)


def refusal(text: str, device: str = "") -> AdapterError | None:
    """The refusal in ``text``: ``NotServing``, ``NoSuchService`` or ``CommandRejected``; None if the text has no word
    of refusal."""
    said = printable(text)
    if _NOT_ACTIVE.search(text) or _STARTING.search(text):
        why = "its message spool is not active" if _NOT_ACTIVE.search(text) else "it is still starting"
        return NotServing(
            f"{device or 'the device'} cannot answer, because {why}: {said}",
            device=device,
            hint="ask the HA mate of the device; `show redundancy` and `show message-spool` give the reason",
        )
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
    """Does a line that fits nowhere start like a refusal?"""
    return _REFUSED_LINE.match(line) is not None
