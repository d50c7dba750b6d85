"""How many there are of something, as every screen and report says it. Nothing else about numbers is decided here."""

from __future__ import annotations


def counted(number: int, one: str, many: str = "") -> str:
    """``1 message``, ``1,200 messages``. ``many`` where it is not ``one`` with an s."""
    return f"1 {one}" if number == 1 else f"{number:,} {many or f'{one}s'}"
