"""Looks for a seed that catches a mutant.

One that breaks down by itself shows nothing, however its night ends: it is no engine that does wrong, but one that does
not run. Only the lifecycle's own refusal counts as being caught, as it would stop such an engine in earnest.
"""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator.errors import IllegalTransition
from proof.mutants.swapping import Mutant, broken_by
from proof.simulation.draw import draw
from proof.simulation.night import Telling, play
from proof.simulation.stores import Stores
from proof.simulation.story import family_of

SEEDS_MAX = 1_000
_CAUGHT_BY = ("", IllegalTransition.__name__)


def hunt(mutant: Mutant, seeds: Iterable[int] = range(SEEDS_MAX)) -> Telling | None:
    """The first telling in which the judge names a broken promise; None: it got away."""
    stores = Stores()
    try:
        with broken_by(mutant):
            stories = (draw(seed) for seed in seeds)
            shown = (story for story in stories if mutant.family in (None, family_of(story.kind)))
            tellings = (play(story, stores) for story in shown)
            return next((told for told in tellings if told.broken and told.error in _CAUGHT_BY), None)
    finally:
        stores.close()
