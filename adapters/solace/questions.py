"""Which questions of the CLI are about the very line that was just sent: these are answered with yes, any other with no.

facts/solace-cli.md section 20: the question is always ``Do you want to continue (y/n)?``, after a text that differs. That
of the backbone is captured. No source shows one at a transaction; a neighbour in the same mode, ``delete-messages``,
asks.
"""

from __future__ import annotations

import re

_QUESTION = re.compile(r"\s*(?P<before>.*?)\s*Do you want to continue \(y/n\)[ \t]*\??\s*", re.DOTALL | re.IGNORECASE)
_BACKBONE = "all clients will be disconnected."
_XID = re.compile(r"\b[0-9A-F]{2,}-[0-9A-F]*-[0-9A-F]+\b", re.IGNORECASE)
# A sentence that says more than the line does is about something else.
_MORE = re.compile(r"\b(?:all|every|clients?|queues?|endpoints?|spool)\b", re.IGNORECASE)
_DOES = {"commit": "commit", "rollback": "roll", "delete": "delet"}


def is_about_backbone(said: str) -> bool:
    """Is it the question of ``service msg-backbone shutdown``?"""
    found = _QUESTION.fullmatch(said)
    return found is not None and " ".join(found["before"].split()).lower() in ("", _BACKBONE)


def is_about_transaction(said: str, verb: str, xid: str) -> bool:
    """Is it a question about doing ``verb`` to the transaction ``xid``? It says nothing else, or names that transaction
    or what is done to one, and no other, and nothing beyond it."""
    found = _QUESTION.fullmatch(said)
    if found is None:
        return False
    before = " ".join(found["before"].split())
    if not before:
        return True
    named = {one.upper() for one in _XID.findall(before)}
    if named - {xid.upper()} or _MORE.search(before):
        return False
    words = before.lower()
    return bool(named) or "transaction" in words or _DOES[verb] in words
