"""The outcome of one simulated night, as plain data: for figures, for mutants, and for whoever makes a simulated run
small."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from proof.promises import Broken
from proof.simulation.story import Story


@dataclass(slots=True)
class Telling:
    """The outcome of a story. ``ends``: the outcome of every lane. ``hit``: what happened to processes, by kind.
    ``happened``: those faults of the world that did happen. ``effects``: what took effect besides (see ``effects``).
    ``error``: what the product raised and must never raise, by its name."""

    story: Story
    outcome: str | None
    ends: tuple[str, ...]
    broken: tuple[Broken, ...]
    instants: int
    hit: Counter[str] = field(default_factory=Counter)
    happened: tuple[str, ...] = ()
    effects: Counter[str] = field(default_factory=Counter)
    error: str = ""
