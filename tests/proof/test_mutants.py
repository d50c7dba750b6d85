"""The simulation notices broken engines: each is caught by a seed below 1,000, which is remembered beside this file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.proof.mutants import MUTANTS, Mutant
from tests.proof.mutants.hunting import SEEDS_MAX, hunt

CAUGHT: dict[str, int] = json.loads((Path(__file__).parent / "caught.json").read_text("utf-8"))


def test_there_are_enough() -> None:
    """At least 25 broken engines, each with a name of its own, and a remembered seed for each and for no other."""
    names = [mutant.name for mutant in MUTANTS]
    assert len(names) >= 25
    assert len(set(names)) == len(names)
    assert set(CAUGHT) == set(names)
    assert max(CAUGHT.values()) < SEEDS_MAX


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_broken_engine_is_caught(mutant: Mutant) -> None:
    """The judge names a broken promise where the engine is broken, and none at the same seed where it is whole.

    Once other nights are drawn, `python -m tests.proof.mutants tests/proof/caught.json` finds the seeds anew.
    """
    seeds = [CAUGHT[mutant.name]]
    assert hunt(mutant, seeds) is not None
    assert hunt(Mutant("none", "nothing is broken", ()), seeds) is None
