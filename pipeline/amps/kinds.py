"""Maps the types of journal entries to their effect on a message.

Only the entry ``type`` ``publish`` is documented (docs/sources/amps.md, 12). Here a type whose name contains ``delete``
is a deletion, a type with ``delta`` is a part of a message, and a type with ``publish`` is a whole message. Entries of
any other type are only counted.
"""

from __future__ import annotations

WHOLE, PART, DELETION = "whole", "part", "deletion"
# The first of these words in a type's name decides.
KINDS = (("delete", DELETION), ("delta", PART), ("publish", WHOLE))


def is_message(entry_type: str) -> bool:
    """Does an entry of this type belong to a message?"""
    return any(word in entry_type.lower() for word, _ in KINDS)


def kind_of(entry_type: str) -> str | None:
    """The kind of an entry of this type; None if the entry is not a message."""
    name = entry_type.lower()
    return next((kind for word, kind in KINDS if word in name), None)
