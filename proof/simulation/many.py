"""Plays many stories, in several processes if requested, and adds up their outcomes."""

from __future__ import annotations

import gc
import multiprocessing
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing.context import BaseContext

from orchestrator.interpreter import safe_children
from proof.promises import Broken
from proof.simulation.draw import draw
from proof.simulation.night import play
from proof.simulation.stores import Stores
from proof.simulation.story import Kind, family_of

_BATCH = 20  # small, so that no worker waits long for the last batch
_SWEPT_EVERY = 5  # simulated runs: garbage that is kept longer displaces needed data from the processor's caches


@dataclass(frozen=True, slots=True)
class Failing:
    """A seed whose story broke promises."""

    seed: int
    kind: Kind
    broken: tuple[Broken, ...]


@dataclass(slots=True)
class Figures:
    """The outcome of some stories. ``hit``: the events that hit processes, by kind. ``faults``: the number of drawn
    faults. ``happened``: the faults that really happened, by family and text. ``effects``: the other effects, by family
    and text."""

    seeds: int = 0
    ends: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    hit: Counter[str] = field(default_factory=Counter)
    faults: int = 0
    happened: Counter[tuple[str, str]] = field(default_factory=Counter)
    effects: Counter[tuple[str, str]] = field(default_factory=Counter)
    instants: int = 0
    failing: list[Failing] = field(default_factory=list)

    def add(self, other: Figures) -> None:
        """Add the outcome of other stories."""
        self.seeds += other.seeds
        self.ends += other.ends
        self.kinds += other.kinds
        self.hit += other.hit
        self.faults += other.faults
        self.happened += other.happened
        self.effects += other.effects
        self.instants += other.instants
        self.failing += other.failing


def play_seeds(seeds: Sequence[int], kinds: Sequence[Kind]) -> Figures:
    """Plays these seeds, one after the other, in this process."""
    figures = Figures()
    stores = Stores()
    gc.disable()  # a simulated run makes no reference cycles worth collecting while it is played
    try:
        for seed in seeds:
            if figures.seeds % _SWEPT_EVERY == 0:
                gc.collect(0)
            story = draw(seed, kinds)
            told = play(story, stores)
            figures.seeds += 1
            figures.ends[told.outcome or "no end"] += 1
            figures.kinds[story.kind] += 1
            figures.hit += told.hit
            figures.faults += len(story.faults) + len(story.omissions) + len(story.lags)
            figures.happened.update((family_of(story.kind), fault) for fault in told.happened)
            for effect, count in told.effects.items():
                figures.effects[family_of(story.kind), effect] += count
            figures.instants += told.instants
            if told.broken:
                figures.failing.append(Failing(seed, story.kind, told.broken))
    finally:
        gc.enable()
        stores.close()
    return figures


def play_many(
    seeds: Sequence[int], kinds: Sequence[Kind], *, jobs: int = 1, ready: Callable[[], None] | None = None
) -> Iterator[Figures]:
    """Plays these seeds in batches, in order, in ``jobs`` processes. Yields the outcome of each batch as soon as it is
    known. ``ready`` makes the families in files known to a process."""
    batches = [seeds[begin : begin + _BATCH] for begin in range(0, len(seeds), _BATCH)]
    if jobs == 1 or len(batches) == 1:
        for batch in batches:
            yield play_seeds(batch, kinds)
        return
    with safe_children(), ProcessPoolExecutor(jobs, mp_context=_context(), initializer=ready) as workers:
        yield from workers.map(play_seeds, batches, [kinds] * len(batches))


def _context() -> BaseContext:
    """Forks if possible, because a forked worker does not have to import anything. But a fork of a process with threads
    may inherit a lock that no thread will ever release."""
    is_alone = threading.active_count() == 1
    return multiprocessing.get_context("fork" if is_alone and sys.platform == "linux" else "spawn")
