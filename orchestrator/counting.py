"""How many there are of something, as every screen and report says it. Nothing else about numbers is decided here."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """``1 message``, ``1,200 messages``. ``many`` where it is not ``one`` with an s."""
    return f"1 {one}" if number == 1 else f"{number:,} {many or f'{one}s'}"


# Whose runbooks count messages. What another family counts, bytes or rows perhaps, is not known here.
_OF_MESSAGES = frozenset({"solace", "amps"})


def amount(number: int | None, family: str) -> str:
    """``1,200 messages``, or the number alone where nobody knows what is counted; ``family``: of the runbook."""
    if family not in _OF_MESSAGES:
        return "an unknown number" if number is None else f"{number:,}"
    return "an unknown number of messages" if number is None else counted(number, "message")
