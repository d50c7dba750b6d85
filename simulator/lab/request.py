"""The request to a lab of any family, and its answer when the sites are served."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class LabRequest:
    """``directory``: the folder of the lab's files. ``inventory``: the path for a copy of its inventory. ``editions``: as
    typed. If empty, those of the earlier lab in this folder."""

    directory: Path
    inventory: Path
    faults: Sequence[str]
    editions: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class LabUp:
    """The sites are served. ``lines``: the address of each site, and commands to try."""

    editions: Sequence[str]
    lines: Sequence[str]
