"""A thousand simulated nights, and the nights that once broke a promise: none does."""

from __future__ import annotations

import json
import re
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


# In the words of the fault grammars, by what the product's promise names.
NAMED = {
    "bridge drop and rebind": r"bridge down \d",
    "slow drain": r"\bslow \d+x",
    "drain that stalls": r"\bstall\b",
    "lost request": r"lose request",
    "lost reply after the effect": r"lose reply",
    "truncated output": r"truncate reply",
    "HA switch-over": r"ha switch",
    "two nodes that both say they serve": r"ha split",
    "device restart": r"node .* down \d",
    "instance restart": r"kill .* \d+s$",
    "stale output": r"\bstale\b",
    "somebody else activates": r"role \w+ active",
    "authentication failure": r"wrong password",
    "a transaction manager acts": r"\btm (commits|rolls back|prepares)",
    "queue full": r"spool full",
    "late effect": r"\blate \d",
}


def test_every_fault_is_drawn() -> None:
    """Law: each kind of fault is in several of the first thousand nights, so that a promise could break at it."""
    drawn = Counter(
        name
        for seed in range(_BATCHES * _BATCH)
        for name, words in NAMED.items()
        if any(re.search(words, fault) for fault in (*draw(seed).prelude, *draw(seed).faults))
    )
    assert {name for name in NAMED if drawn[name] < 5} == set()


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
