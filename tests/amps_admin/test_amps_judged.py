"""The judge over the runs of AMPS can fail: engines that are broken on purpose are caught, killed or undisturbed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import get_args

import pytest

from orchestrator.model.runbook import Choice
from tests.amps_admin.leading import Leading
from tests.amps_admin.pair import AmpsPair
from tests.amps_admin.world_pair import HOME, INSTANCES, Way, WorldPair
from tests.proof.mutants import MUTANTS, Mutant, broken_by

BROKEN = {mutant.name: mutant for mutant in MUTANTS}
WHOLE = Mutant("none", "nothing is broken", ())
DEAD: dict[str, Choice] = {"unfenced": "attest"}


def scripted(folder: Path) -> AmpsPair:
    """Its queue is never emptied; the first request to ny is lost."""
    pair = AmpsPair(folder)
    pair.ny.spoiled = "lose request"
    return pair


def simulated(folder: Path, way: Way) -> WorldPair:
    """Live traffic; the first request to close is lost."""
    pair = WorldPair(folder, way)
    pair.wait(20)
    pair.fault(f"disable {INSTANCES[HOME]}: lose request")
    return pair


WAYS: dict[str, Callable[[Path], Leading]] = {
    "scripted": scripted,
    **{way: partial(simulated, way=way) for way in get_args(Way)},
}


UNCLOSED = ("closing-not-proven", "promise 1: orders: close-beside is done, and ny is not closed")
UNDRAINED = ("catching-up-believed", "promise 2: orders: ldn is told")
LEFT_SHUT = ("undo-nothing", "promise 4: orders: ended reverted, and ny is not open")


@pytest.mark.parametrize("kill_at", [None, 12])
@pytest.mark.parametrize(
    ("way", "mutant", "promise"),
    [(way, *UNCLOSED) for way in WAYS]
    + [(way, *UNDRAINED) for way in get_args(Way)]  # scripted instances hold no messages
    + [("scripted", *LEFT_SHUT)],
)
def test_a_broken_engine_is_caught(way: str, mutant: str, promise: str, kill_at: int | None, tmp_path: Path) -> None:
    """Law: where a whole engine breaks nothing, the judge of the very same run names what a broken one breaks."""
    for engine in (WHOLE, BROKEN[mutant]):
        folder = tmp_path / engine.name
        folder.mkdir()
        pair = WAYS[way](folder)
        with broken_by(engine):
            if engine is WHOLE:
                pair.lead("amps/controlled", kill_at=kill_at)
                continue
            with pytest.raises(AssertionError, match=promise):
                pair.lead("amps/controlled", kill_at=kill_at)
