"""What is to be done about a guarded site: pure judgement of what it and its mate say."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest

from adapters.solace.offers.guard_decision import GuardObservation, decide_guard
from adapters.solace.reading_models import Fence, NodeFence
from orchestrator.family.guard import GuardDecision
from orchestrator.model.readings import Reachability, Role

A, S = Role.ACTIVE, Role.STANDBY


def doors(*states: bool | None) -> Fence:
    """Nodes by their backbone; a shut one has no client."""
    return Fence(
        nodes=tuple(
            NodeFence(node=f"N{number}", backbone_up=up, clients=None if up is None else 3 if up else 0)
            for number, up in enumerate(states)
        )
    )


def seen(
    here: Role | str | None = A,
    there: Role | None = A,
    fence: Fence | None = None,
    *,
    others: Sequence[str] = (),
    can_fence: bool = True,
) -> GuardDecision:
    """One service V: ``here`` is a role, None for a site that does not tell it, ``silent`` for one that is dark."""
    reach = Reachability(answers=False, why="dark") if here == "silent" else Reachability(answers=True, role=here)
    return decide_guard(GuardObservation({"V": reach}, {"V": there}, fence, others, can_fence))


def test_dark() -> None:
    """Law: a site that does not answer is waited for, and its mate is not even needed."""
    assert seen("silent", None) == GuardDecision("silent", "dark")


def test_back_as_active() -> None:
    """Law: active beside an active mate is acted on at once, doors and role."""
    found = seen(A, A, doors(True))
    assert (found.kind, found.services, found.fence) == ("act", ("V",), True)


def test_back_as_standby_and_open() -> None:
    """Law: an open door is enough: nothing may get in before the site is restored (docs/sources/solace-procedure.md,
    uncontrolled 2)."""
    found = seen(S, A, doors(False, True))
    assert (found.kind, found.services, found.fence) == ("act", ("V",), True)


def test_coming_up() -> None:
    """Law: while no node serves yet the role is unknown, and the doors of those that answer are shut already."""
    assert seen(None, A, doors(True, None)).kind == "act"
    assert seen(None, A, doors(False, None)).kind == "unclear"


def test_safe() -> None:
    """Law: only a standby whose every door was seen to be shut is safe, where doors can be shut."""
    assert seen(S, A, doors(False, False)).kind == "safe"
    assert seen(S, A, doors(False, None)).kind == "unclear"
    assert seen(S, A, None).kind == "unclear"
    assert seen(S, A, None, can_fence=False).kind == "safe"


def test_without_a_fence() -> None:
    """Law: where doors cannot be read or shut, the role is changed alone, and an active one is never left."""
    for found in (seen(A, A, None, can_fence=False), seen(A, A, None)):
        assert (found.kind, found.services, found.fence) == ("act", ("V",), False)


def test_doors_that_others_need() -> None:
    """Law: doors stay open while a service that serves there alone needs them; the role is changed all the same."""
    found = seen(A, A, doors(True), others=["W"])
    assert (found.kind, found.fence) == ("act", False)
    rest = seen(S, A, doors(True), others=["W"])
    assert rest.kind == "safe"
    assert "W" in rest.why


@pytest.mark.parametrize(
    ("here", "there", "fence", "others", "can_fence"),
    list(product([A, S, None], [S, None], [None, doors(True), doors(False)], [(), ("W",)], [True, False])),
)
def test_nobody_is_cut_off(
    here: Role | None, there: Role | None, fence: Fence | None, others: Sequence[str], can_fence: bool
) -> None:
    """Law: unless its mate says that it is active, a site is left as it is, whatever else is known of it."""
    found = seen(here, there, fence, others=others, can_fence=can_fence)
    assert (found.kind, found.services, found.fence) == ("leave", (), False)


def test_several_services() -> None:
    """Law: a service whose mate is not active is not acted on; with the doors, all that are served elsewhere are."""
    here = {name: Reachability(answers=True, role=role) for name, role in {"V": A, "W": S, "X": S}.items()}
    sight = GuardObservation(here, {"V": A, "W": A, "X": S}, doors(True), (), True)
    assert decide_guard(sight).services == ("V", "W")
    without = GuardObservation(here, {"V": A, "W": A, "X": S}, None, (), False)
    assert decide_guard(without).services == ("V",)
