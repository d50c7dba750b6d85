"""The simulation notices broken engines: what catches each within 1,000 seeds is remembered beside this file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.proof.mutants import GUARDS, MUTANTS, Mutant
from tests.proof.mutants.hunting import SEEDS_MAX, hunt
from tests.proof.mutants.parts import PARTS
from tests.proof.mutants.swapping import broken_by

# By mutant: the first seed that catches it or null, and how many seeds did of how many that were played.
CAUGHT: dict[str, tuple[int | None, int, int]] = json.loads(
    (Path(__file__).parent / "caught.json").read_text("utf-8")
)
SHOWN = [mutant for mutant in MUTANTS if CAUGHT.get(mutant.name, (None,))[0] is not None]


def test_there_are_enough() -> None:
    """Law: at least 60 guards are removed one by one; each mutant has a name of its own, and was hunted; and at most one
    in five gets away from 1,000 seeds."""
    names = [mutant.name for mutant in MUTANTS]
    assert len(GUARDS) >= 60
    assert len(set(names)) == len(names)
    assert set(CAUGHT) == set(names)
    assert len(SHOWN) >= len(MUTANTS) * 4 // 5
    assert all(seed is None or seed < SEEDS_MAX for seed, _, _ in CAUGHT.values())


def test_each_fits_the_source() -> None:
    """Law: each mutant changes the source as it is now. One that fits no more would count as one that is not caught."""
    for mutant in (*MUTANTS, *(one for mutants in PARTS.values() for one in mutants)):
        with broken_by(mutant):
            pass


@pytest.mark.parametrize("mutant", SHOWN, ids=lambda mutant: mutant.name)
def test_a_broken_engine_is_caught(mutant: Mutant) -> None:
    """Law: the judge names a broken promise where the engine is broken, and none at the same seed where it is whole.

    Once other runs are drawn, `python -m tests.proof.mutants tests/proof/caught.json` finds the seeds again.
    """
    seeds = [seed for seed in CAUGHT[mutant.name][:1] if seed is not None]
    assert hunt(mutant, seeds) is not None
    assert hunt(Mutant("none", "nothing is broken", ()), seeds) is None
