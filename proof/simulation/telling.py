"""The outcome of one simulation, as plain data: for figures, for mutants, and for shrinking a story."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from proof.promises import Broken
from proof.simulation.story import Story


@dataclass(slots=True)
class Telling:
    """The outcome of a story. ``ends``: the outcome of every lane. ``hit``: the events that hit processes, by kind.
    ``happened``: the faults of the world that really happened. ``effects``: the other effects (see ``effects``).
    ``error``: the name of an exception that the product raised and must never raise."""

    story: Story
    outcome: str | None
    ends: tuple[str, ...]
    broken: tuple[Broken, ...]
    instants: int
    hit: Counter[str] = field(default_factory=Counter)
    happened: tuple[str, ...] = ()
    effects: Counter[str] = field(default_factory=Counter)
    error: str = ""
