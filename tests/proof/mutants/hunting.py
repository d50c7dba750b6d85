"""Looks for the seeds that catch a mutant.

One that breaks down by itself shows nothing, however its run ends: it is no engine that does wrong, but one that does
not run. Only the lifecycle's own refusal counts as being caught, as it would stop such an engine in earnest.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from orchestrator.errors import IllegalTransition
from proof.simulation.draw import draw
from proof.simulation.night import Telling, play
from proof.simulation.stores import Stores
from proof.simulation.story import family_of
from tests.proof.mutants.swapping import Mutant, broken_by

SEEDS_MAX = 1_000
_CAUGHT_BY = ("", IllegalTransition.__name__)


@dataclass(frozen=True, slots=True)
class Catch:
    """``seed``: the first that catches a mutant (None: none does), and what is said there; ``caught``: how many do, of
    the first ``played``."""

    seed: int | None
    words: str
    caught: int
    played: int


def hunt(mutant: Mutant, seeds: Iterable[int] = range(SEEDS_MAX)) -> Telling | None:
    """The first telling in which the judge names a broken promise; None: it got away."""
    return next((told for told in _tellings(mutant, seeds) if _is_caught(told)), None)


def measure(mutant: Mutant, *, enough: int, seeds_max: int = SEEDS_MAX) -> Catch:
    """How easily it is caught: seeds are played until ``enough`` have caught it, or all are played."""
    first: Telling | None = None
    caught, last = 0, -1
    for told in _tellings(mutant, range(seeds_max)):
        if not _is_caught(told):
            continue
        first, last = first or told, told.story.seed
        caught += 1
        if caught == enough:
            return Catch(first.story.seed, str(first.broken[0]), caught, last + 1)
    if first is None:
        return Catch(None, "", 0, seeds_max)
    return Catch(first.story.seed, str(first.broken[0]), caught, seeds_max)


def _tellings(mutant: Mutant, seeds: Iterable[int]) -> Iterator[Telling]:
    stores = Stores()
    try:
        with broken_by(mutant):
            for seed in seeds:
                story = draw(seed)
                if mutant.family in (None, family_of(story.kind)):
                    yield play(story, stores)
    finally:
        stores.close()


def _is_caught(told: Telling) -> bool:
    return bool(told.broken) and told.error in _CAUGHT_BY
