"""Which questions of the CLI are about the line that was just sent: these are answered with yes, any other with no.

docs/sources/solace-cli.md, 20: the question is always ``Do you want to continue (y/n)?``, after a text that differs.
The text for the backbone is captured. No source shows a question for a transaction; ``delete-messages``, in the same
mode, asks a question.
"""

from __future__ import annotations

import re

_QUESTION = re.compile(r"\s*(?P<before>.*?)\s*Do you want to continue \(y/n\)[ \t]*\??\s*", re.DOTALL | re.IGNORECASE)
_BACKBONE = "all clients will be disconnected."
_XID = re.compile(r"\b[0-9A-F]{2,}-[0-9A-F]*-[0-9A-F]+\b", re.IGNORECASE)
# Words for something larger than one transaction. The known questions of other commands contain these words. A question
# about an effect beyond that of the command would contain them too.
_MORE = re.compile(
    r"\b(?:all|every|clients?|queues?|endpoints?|spool\w*|disconnect\w*|reboot\w*|restart\w*|reload\w*|shut\w*|disk|lun)\b",
    re.IGNORECASE,
)


def is_about_backbone(said: str) -> bool:
    """Is ``said`` the question of ``service msg-backbone shutdown``?"""
    found = _QUESTION.fullmatch(said)
    return found is not None and " ".join(found["before"].split()).lower() in ("", _BACKBONE)


def is_about_transaction(said: str, xid: str) -> bool:
    """Is ``said`` the documented question, about the transaction ``xid``? The text before the question must name no
    other transaction and nothing larger than one transaction."""
    found = _QUESTION.fullmatch(said)
    if found is None:
        return False
    before = " ".join(found["before"].split())
    named = {one.upper() for one in _XID.findall(before)}
    return not named - {xid.upper()} and _MORE.search(before) is None
