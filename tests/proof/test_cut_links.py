"""A link that the world cuts for good, at each step of a planned move of AMPS: nobody is blamed for what is not lost, and
who moves the clients although messages stand behind the cut is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from orchestrator.model.plan import Policy
from proof.simulation.draw import draw
from proof.simulation.night import Telling, play
from proof.simulation.stores import Stores
from proof.simulation.story import Kind
from tests.proof.mutants import MUTANTS
from tests.proof.mutants.swapping import broken_by

# Before the run's first request, in the course of the steps that read, and at each request and after it.
CUTS = (
    "at 0s",
    "reads",
    "reads +2s",
    "reads +4s",
    "reads +8s",
    "disable",
    "disable +200ms",
    "disable +1s",
    "disable +3s",
    "enable",
    "enable +200ms",
    "enable +1s",
    "enable +4s",
    "downgrade",
    "downgrade +1s",
)
MOVES: tuple[Kind, ...] = ("amps/controlled", "amps/controlled-async", "amps/failback", "amps/failback-async")
ASYNC: tuple[Kind, ...] = ("amps/controlled-async", "amps/failback-async")


@pytest.fixture
def stores() -> Iterator[Stores]:
    stores = Stores()
    yield stores
    stores.close()


def _cut(stores: Stores, kind: Kind, cut: str, *, seed: int = 0, **more: object) -> Telling:
    """A night of that kind in which nothing goes wrong but one link, which is cut for good."""
    drawn = draw(seed, (kind,))
    one, other = (each.name for each in drawn.layout.instances if each.group_name == drawn.services[0])  # type: ignore[union-attr]
    quiet = {
        "faults": (f"{cut}: link {one} {other} down",),
        "services": drawn.services[:1],
        "strikes": (),
        "omissions": (),
        "lags": (),
        "slow": (),
        "quirks": (),
        "further": (),
        "threads": None,
        "person": None,
        "policy": Policy(),
        "resumes": 0,
        "waves": None,
    }
    return play(drawn.model_copy(update={**quiet, **more}), stores)


@pytest.mark.parametrize("kind", MOVES)
def test_nobody_is_blamed_for_a_cut_link(kind: Kind, stores: Stores) -> None:
    """Law: wherever the link is cut for good, a run that refuses, turns back, waits for a person or is done has lost
    nothing, and the judge says so; each of these ends is among them."""
    told = [_cut(stores, kind, cut) for cut in CUTS]
    assert {cut: one.broken for cut, one in zip(CUTS, told, strict=True) if one.broken} == {}
    assert {one.outcome for one in told} >= {"done", "reverted"}
    assert any("link" in fault for one in told if one.outcome == "done" for fault in one.happened)


def test_a_restore_beside_a_cut_link_is_not_blamed(stores: Stores) -> None:
    """Law: what it had not replicated is answered for by name before a restore; a cut adds nothing to that."""
    accepted = Policy(on_gate={"stale-tail": "accept"}, reasons={"stale-tail": "agreed before"})
    told = [_cut(stores, "amps/restore", cut, policy=accepted) for cut in CUTS]
    assert [one.broken for one in told if one.broken] == []
    assert {one.outcome for one in told} == {"done", "needs-operator"}


@pytest.mark.parametrize("kind", ASYNC)
@pytest.mark.parametrize(
    ("mutants", "cut", "words"),
    [
        (("catching-up-believed", "guard-ignored"), "disable", "messages were lost"),
        (("queues-not-awaited",), "enable", "still owns"),
    ],
    ids=["catching up", "queues"],
)
def test_who_leaves_messages_behind_the_cut_is_blamed(
    kind: Kind, mutants: tuple[str, ...], cut: str, words: str, stores: Stores
) -> None:
    """Law: a cut link excuses nobody who is done: an engine that does not wait is blamed in one of the first nights in
    which the cut strands something, and one that waits in none of them."""
    for seed in range(30):
        with ExitStack() as stack:
            for mutant in MUTANTS:
                if mutant.name in mutants:
                    stack.enter_context(broken_by(mutant))
            told = _cut(stores, kind, cut, seed=seed)
        if any(words in str(one) for one in told.broken):
            break
    else:
        pytest.fail("nobody was blamed")
    assert told.outcome == "done"
    assert _cut(stores, kind, cut, seed=seed).broken == ()
