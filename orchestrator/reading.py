"""What every reading is: a frozen value that refuses unknown keys, and three-valued logic over its parts.

A part may be ``None``, which means unknown. Nothing here may take unknown for false.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from pydantic import BaseModel, ConfigDict


class ReadingModel(BaseModel):
    """The base of readings and of the items in them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def is_mixed(self) -> bool:
        """Do its parts say different things, as when one node of two has obeyed? Never said of what has no parts."""
        return False

    def remark(self, names: Collection[str]) -> str:
        """What a sentence about the values of ``names`` adds for a person; empty for most readings."""
        return ""


def all_of(states: Sequence[bool | None]) -> bool | None:
    """Three-valued and: False if one is, unknown if one is or there is none, else True."""
    if False in states:
        return False
    return None if not states or None in states else True


def none_of(states: Iterable[bool | None]) -> bool | None:
    """Three-valued: False if one is true, else unknown if one is, else True; of none it is true."""
    told = list(states)
    if True in told:
        return False
    return None if None in told else True


def sum_of(numbers: Iterable[int | None]) -> int | None:
    """The sum, unknown if a part is; of none it is 0."""
    total = 0
    for number in numbers:
        if number is None:
            return None
        total += number
    return total
