"""What a lab is asked for, whatever its family, and what it answers once its sites are served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class LabRequest:
    """``directory`` holds what the lab makes; ``inventory``: where a copy of its inventory is written. ``editions``: as
    typed; none: those of the lab that was here before."""

    directory: Path
    inventory: Path
    faults: Sequence[str]
    editions: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class LabUp:
    """The sites are served. ``lines``: how each is reached, and commands to try."""

    editions: Sequence[str]
    lines: Sequence[str]
