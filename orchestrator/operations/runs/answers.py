"""What a person answers, as it was typed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.family.moves import Given


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer to a question. ``services`` empty: for every lane that asks it."""

    gate: str
    choice: str
    reason: str
    item: str | None
    services: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Answers:
    """What is answered with ``resume``: the options of families, by flag, and ``--on-stall``."""

    given: Given
    on_stall: str | None
    is_attended: bool
