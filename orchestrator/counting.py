"""How many there are of something, as every screen and report says it. Nothing else about numbers is decided here."""

from __future__ import annotations

from collections.abc import Sequence


def counted(number: int, one: str, many: str = "") -> str:
    """``1 message``, ``1,200 messages``. ``many`` where it is not ``one`` with an s."""
    return f"1 {one}" if number == 1 else f"{number:,} {many or f'{one}s'}"


def named(names: Sequence[str], *, most: int = 3, room: int = 48) -> str:
    """The first names, as many as ``room`` characters hold, one at the least; and how many more there are."""
    shown = next((many for many in range(most, 1, -1) if len(", ".join(names[:many])) <= room), 1)
    more = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {more:,} more" if more > 0 else "")
