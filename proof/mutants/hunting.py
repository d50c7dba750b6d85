"""Looks for a seed that catches a mutant. A mutant that breaks down altogether is caught too: it keeps no promise."""

from __future__ import annotations

from collections.abc import Iterable

from proof.mutants.swapping import Mutant, broken_by
from proof.simulation.draw import draw
from proof.simulation.night import Telling, play
from proof.simulation.stores import Stores

SEEDS_MAX = 1_000


def hunt(mutant: Mutant, seeds: Iterable[int] = range(SEEDS_MAX)) -> Telling | None:
    """The first telling in which the judge names a broken promise; None: it got away."""
    stores = Stores()
    try:
        with broken_by(mutant):
            return next((told for seed in seeds if (told := play(draw(seed), stores)).broken), None)
    finally:
        stores.close()
