"""Looks for a seed that catches a mutant. A mutant that breaks down altogether is caught too: it keeps no promise."""

from __future__ import annotations

from collections.abc import Iterable

from proof.mutants.swapping import Mutant, broken_by
from proof.simulation.draw import draw
from proof.simulation.night import Telling, play
from proof.simulation.stores import Stores
from proof.simulation.story import family_of

SEEDS_MAX = 1_000


def hunt(mutant: Mutant, seeds: Iterable[int] = range(SEEDS_MAX)) -> Telling | None:
    """The first telling in which the judge names a broken promise; None: it got away."""
    stores = Stores()
    try:
        with broken_by(mutant):
            stories = (draw(seed) for seed in seeds)
            shown = (story for story in stories if mutant.family in (None, family_of(story.kind)))
            return next((told for story in shown if (told := play(story, stores)).broken), None)
    finally:
        stores.close()
