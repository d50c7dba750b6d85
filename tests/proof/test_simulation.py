"""A thousand simulated nights, and the nights that once broke a promise: none does."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import get_args

import pytest

from proof.simulation.draw import draw
from proof.simulation.effects import AT_THE_DESK, DECIDED, FROM_ELSEWHERE, OLDER, led_on, left_out
from proof.simulation.families import SIMULATIONS, stage_of
from proof.simulation.many import Figures, play_many, play_seeds
from proof.simulation.night import play
from proof.simulation.process import SimulatedClock
from proof.simulation.stores import Stores
from proof.simulation.story import KINDS, Kind, Story, StrikeKind, family_of

KEPT = [json.loads(line) for line in (Path(__file__).parent / "kept.jsonl").read_text("utf-8").splitlines()]
_BATCHES, _BATCH = 20, 50


@pytest.fixture
def stores() -> Iterator[Stores]:
    stores = Stores()
    yield stores
    stores.close()


@cache
def played(first: int) -> Figures:
    """What came of one batch of the first thousand nights."""
    return play_seeds(range(first, first + _BATCH), KINDS)


@pytest.mark.parametrize("first", range(0, _BATCHES * _BATCH, _BATCH))
def test_no_seed_breaks_a_promise(first: int) -> None:
    """All promises of docs/explanation/reliability.md that a simulation can see hold after every event."""
    figures = played(first)
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


# In the words of the fault grammars, by what the product's promise names: of every family, of message VPNs, of AMPS.
ANSWERS = {
    "lost request": r"lose request",
    "lost reply after the effect": r"lose reply",
    "truncated output": r"truncate reply",
    "senseless output": r"garbage reply",
    "a refusal": r"\brefuse\b",
    "late effect": r"\blate \d",
    "authentication failure": r"any: wrong password",
    "authentication failure in the middle of a run": r"any \+.*: wrong password",
}
NAMED = {
    "solace": ANSWERS
    | {
        "bridge drop and rebind": r"bridge down \d",
        "slow drain": r"\bslow \d+x",
        "drain that stalls": r"\bstall\b",
        "HA switch-over": r"ha switch",
        "two nodes that both say they serve": r"ha split",
        "device restart": r"node .* down \d",
        "management that is away": r"unreachable",
        "somebody else activates": r"role \w+ active",
        "a transaction manager acts": r"\btm (commits|rolls back|prepares)",
        "queue full": r"spool full",
    },
    "amps": ANSWERS
    | {
        "link drop and return": r"link .* down \d",
        "slow drain": r"\bslow \d+x",
        "instance restart": r"kill .* \d+s$",
        "files that are lost": r"lose .* all",
        "stale output": r"\bstale\b",
        "management that is away": r"\bsilent\b",
        "somebody else activates": r"somebody enables",
    },
}


def test_every_fault_happens() -> None:
    """Law: each kind of fault is not only given to several of the first thousand nights, it also happens in some, in
    either family, so that a promise could break at it."""
    happened: Counter[tuple[str, str]] = Counter()
    for first in range(0, _BATCHES * _BATCH, _BATCH):
        happened += played(first).happened
    counts = {
        (family, name): sum(
            count for (one, fault), count in happened.items() if one == family and re.search(words, fault)
        )
        for family, named in NAMED.items()
        for name, words in named.items()
    }
    assert {one: count for one, count in counts.items() if count < 3} == {}


# Readings that few runbooks take: nights of these are played besides the first thousand.
SELDOM: tuple[Kind, ...] = ("restore", "amps/restore-bootstrap")
EFFECTIVE = (
    *(AT_THE_DESK + said for said in (": what was offered", ": what was not offered")),
    *(AT_THE_DESK + said for said in (": what was offered, late", ": what was not offered, late")),
    *(FROM_ELSEWHERE + said for said in (": what was offered", ": what was not offered")),
    DECIDED,
    OLDER,
    led_on(0.0, 1.0),
    led_on(0.0, -1.0),
)


def test_everything_else_takes_effect() -> None:
    """Law: among these nights, in either family, each field that devices may leave out was left out of an answer that
    had it; a lag showed what was not true any more; people answered rightly, wrongly, at once, late and from elsewhere,
    and what was said elsewhere was decided; a run was led on by a clock that is ahead, and by one that is behind."""
    effects: Counter[tuple[str, str]] = Counter()
    for first in range(0, _BATCHES * _BATCH, _BATCH):
        effects += played(first).effects
    for kind in SELDOM:
        effects += play_seeds(range(400), (kind,)).effects
    fields = [
        (name, left_out(reading, field))
        for name, family in SIMULATIONS.items()
        for reading, field in family.draw.omitted
    ]
    assert [one for one in fields if not effects[one]] == []
    said = [
        (name, words)
        for name in SIMULATIONS
        for words in EFFECTIVE
        if not any(family == name and effect.startswith(words) for family, effect in effects)
    ]
    assert said == []


def test_both_active_on_return() -> None:
    """Law: in some of the nights of a restore the site comes back as active while its mate is: both serve, in the world
    itself, before the run begins."""
    returns = [draw(seed, ("restore", "restore-commanded")) for seed in range(40)]
    assert sum(map(_begins_with_two, returns)) > 5


def _begins_with_two(story: Story) -> bool:
    """Have both sites served, and are they both active still, as the run begins?"""
    clock = SimulatedClock()
    stage = stage_of(story, clock)
    stage.inject(story.prelude)
    clock.advance(story.wait)
    services = stage.look()["services"].values()
    stage.close()
    return any(set(one["roles"].values()) == {"active"} and one["both_active"] for one in services)


def test_every_end_is_reached() -> None:
    """Law: the nights are no quiet ones: every way a run can end is among the first thousand, and more goes wrong in
    the world than there are nights."""
    figures = [played(first) for first in range(0, _BATCHES * _BATCH, _BATCH)]
    ends = sum((one.ends for one in figures), Counter[str]())
    assert set(ends) == {
        "done",
        "refused",
        "reverted",
        "needs-operator",
        "stuck",
        "escalated",
        "paused",
        "record lost",
    }
    assert sum(one.faults for one in figures) > _BATCHES * _BATCH


def test_every_blow_falls() -> None:
    """Law: each thing that can happen to a process did happen to some of the first thousand nights: one that was torn
    lost a record, one whose disk was full was told so."""
    hit = sum((played(first).hit for first in range(0, _BATCHES * _BATCH, _BATCH)), Counter[str]())
    assert {kind: count for kind in get_args(StrikeKind) if (count := hit[kind]) < 3} == {}


@pytest.mark.realtime
def test_processes_share_the_work() -> None:
    """In two processes the same comes out as in one."""
    shared = list(play_many(range(60), ("suspend",), jobs=2))
    alone = list(play_many(range(60), ("suspend",)))
    assert shared == alone
