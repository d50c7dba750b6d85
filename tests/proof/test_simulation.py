"""A thousand simulated nights, and the nights that once broke a promise: none does."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from proof.simulation.draw import draw
from proof.simulation.many import play_many, play_seeds
from proof.simulation.night import play
from proof.simulation.stores import Stores
from proof.simulation.story import KINDS, Story, family_of

KEPT = [json.loads(line) for line in (Path(__file__).parent / "kept.jsonl").read_text("utf-8").splitlines()]
_BATCHES, _BATCH = 20, 50


@pytest.fixture
def stores() -> Iterator[Stores]:
    stores = Stores()
    yield stores
    stores.close()


@pytest.mark.parametrize("first", range(0, _BATCHES * _BATCH, _BATCH))
def test_no_seed_breaks_a_promise(first: int) -> None:
    """All promises of DESIGN section 5 that a simulation can see hold after every event of a thousand nights."""
    figures = play_seeds(range(first, first + _BATCH), KINDS)
    assert figures.failing == []
    assert figures.seeds == _BATCH


@pytest.mark.parametrize("kept", KEPT, ids=lambda kept: kept["name"])
def test_a_kept_night_stays_mended(kept: dict[str, object], stores: Stores) -> None:
    """What once broke a promise does not break one again, whatever its seed is drawn to by now."""
    told = play(Story.model_validate(kept["story"]), stores)
    assert told.broken == ()


def test_the_same_seed_gives_the_same_night(stores: Stores) -> None:
    """A seed is all that is needed to see a night again, also one that is stored and read back."""
    for seed in (3, 25, 117):
        story = draw(seed)
        assert draw(seed) == story
        assert Story.model_validate_json(story.model_dump_json(exclude_defaults=True)) == story
        first, again = play(story, stores), play(story, stores)
        assert first == again


def test_every_kind_is_drawn() -> None:
    """Of the first thousand nights about a fourth are of AMPS, and some of each kind."""
    drawn = Counter(draw(seed).kind for seed in range(_BATCHES * _BATCH))
    assert set(drawn) == set(KINDS)
    assert 200 <= sum(count for kind, count in drawn.items() if family_of(kind) == "amps") <= 300


def test_much_goes_wrong_in_these_nights() -> None:
    """The nights are no quiet ones: every way a run can end, and every way a process is hit, is among a few hundred."""
    figures = play_seeds(range(2_000, 2_300), KINDS)
    assert set(figures.ends) >= {"done", "refused", "reverted", "needs-operator", "stuck", "escalated", "paused"}
    assert set(figures.hit) >= {"kill", "torn", "pause", "race", "step", "abort", "answer", "disk full"}
    assert figures.faults > figures.seeds


@pytest.mark.realtime
def test_processes_share_the_work() -> None:
    """In two processes the same comes out as in one."""
    shared = list(play_many(range(60), ("suspend",), jobs=2))
    alone = list(play_many(range(60), ("suspend",)))
    assert shared == alone
