"""The answers of a person, as they were typed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from orchestrator.family.moves import Given


@dataclass(frozen=True, slots=True)
class Decision:
    """An answer to a question. Empty ``services``: for every lane that asks it."""

    gate: str
    choice: str
    reason: str
    item: str | None
    services: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers given with ``resume``: the options of families, by flag, and ``--on-stall``."""

    given: Given
    on_stall: str | None
    is_attended: bool
