"""Makes a failing story small: it keeps only the faults that are needed to break the same promise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from proof.simulation.night import Telling, play
from proof.simulation.stores import Stores
from proof.simulation.story import Story

_LISTS = ("faults", "strikes", "omissions", "lags", "prelude")
# The parts that a story may do without, with the values that replace them.
_PLAIN: tuple[dict[str, Any], ...] = (
    {"rehearsed": False},
    {"waves": None},
    {"person": None},
    {"resumes": 0, "later": None},
    {"on_disk": False},
    {"clock_s": 0.0},
)


def shrink(story: Story, stores: Stores) -> Telling:
    """The smallest failing story that is found by leaving things out. Raises ``ValueError`` for a story that does not
    fail."""
    told = play(story, stores)
    if not told.broken:
        raise ValueError(f"seed {story.seed} breaks no promise")
    promise = told.broken[0].promise
    smaller: Telling | None = told
    while smaller is not None:
        told = smaller
        smaller = _first_failing(told.story, promise, stores)
    return told


def _first_failing(story: Story, promise: int, stores: Stores) -> Telling | None:
    for candidate in _smaller(story):
        told = play(candidate, stores)
        if any(one.promise == promise for one in told.broken):
            return told
    return None


def _smaller(story: Story) -> Iterator[Story]:
    """The story without one of its faults, or without one of its other parts."""
    for name in _LISTS:
        items = getattr(story, name)
        for index in range(len(items)):
            yield story.model_copy(update={name: (*items[:index], *items[index + 1 :])})
    for plain in _PLAIN:
        if any(getattr(story, name) != value for name, value in plain.items()):
            yield story.model_copy(update=plain)
