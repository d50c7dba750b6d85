"""What the entries of a journal are to a message.

What the ``type`` of an entry is called besides ``publish`` is not documented (docs/sources/amps.md, 12): a type whose
name holds ``delete`` is taken for a deletion, one with ``delta`` for a part of a message, one with ``publish`` for a
whole one; any other is counted, and says nothing about messages.
"""

from __future__ import annotations

WHOLE, PART, DELETION = "whole", "part", "deletion"
# The first of these words in a type's name decides.
KINDS = (("delete", DELETION), ("delta", PART), ("publish", WHOLE))


def is_message(entry_type: str) -> bool:
    """Does an entry of this type belong to a message?"""
    return any(word in entry_type.lower() for word, _ in KINDS)


def kind_of(entry_type: str) -> str | None:
    """What an entry of this type is to a message; None for one that is no message."""
    name = entry_type.lower()
    return next((kind for word, kind in KINDS if word in name), None)
