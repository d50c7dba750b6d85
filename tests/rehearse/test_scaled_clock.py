"""The clock of a rehearsal: as fast as wanted, never backwards, and without waiting where nobody watches."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.clock import ScaledClock, VirtualClock


def test_it_runs_so_many_times_as_fast() -> None:
    """Law: a second of the base is ``factor`` seconds here; it begins at the base's time."""
    base = VirtualClock(100.0)
    clock = ScaledClock(base, 10.0)
    assert clock.now() == 100.0
    base.advance(2.0)
    assert clock.now() == 120.0


def test_sleeping_takes_less_of_the_base() -> None:
    """Law: whoever sleeps ten seconds here waits one there; nothing and less is no wait."""
    base = VirtualClock(0.0)
    clock = ScaledClock(base, 10.0)
    clock.sleep(10.0)
    assert (base.now(), clock.now(), clock.real(10.0)) == (1.0, 10.0, 1.0)
    clock.sleep(0.0)
    clock.sleep(-1.0)
    assert base.now() == 1.0


def test_time_can_be_let_pass_at_once() -> None:
    """Law: ``advance`` takes none of the base's time, and backwards is a mistake."""
    base = VirtualClock(0.0)
    clock = ScaledClock(base, 3.0)
    clock.advance(50.0)
    assert (base.now(), clock.now()) == (0.0, 50.0)
    with pytest.raises(ValueError, match="negative"):
        clock.advance(-1.0)


def test_nobody_waits_while_it_rushes() -> None:
    """Law: inside ``rushing`` sleeping is an advance; afterwards it waits again, also after an error."""
    base = VirtualClock(0.0)
    clock = ScaledClock(base)
    with pytest.raises(KeyError), clock.rushing():
        clock.sleep(60.0)
        raise KeyError
    assert (base.now(), clock.now()) == (0.0, 60.0)
    clock.sleep(5.0)
    assert (base.now(), clock.now()) == (5.0, 65.0)


@given(
    st.lists(st.tuples(st.sampled_from(["factor", "advance", "base", "sleep"]), st.floats(0.01, 100.0)), max_size=20)
)
def test_it_never_runs_backwards(steps: list[tuple[str, float]]) -> None:
    """Law: whatever is done to it, and at whatever pace, time only goes on."""
    base = VirtualClock(0.0)
    clock = ScaledClock(base)
    last = clock.now()
    for what, much in steps:
        match what:
            case "factor":
                clock.set_factor(much)
                assert clock.factor == much
            case "advance":
                clock.advance(much)
            case "base":
                base.advance(much)
            case _:
                clock.sleep(much)
        assert clock.now() >= last
        last = clock.now()


def test_a_change_of_pace_holds_from_then_on() -> None:
    """Law: what has passed stays passed."""
    base = VirtualClock(0.0)
    clock = ScaledClock(base, 10.0)
    base.advance(1.0)
    clock.set_factor(1.0)
    base.advance(1.0)
    assert clock.now() == 11.0
