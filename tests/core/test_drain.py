"""How fast a queue falls and when to look again: exact for a constant rate, bounded for everything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.core.drain_estimate import Forecast, forecast, next_look
from tests.core.builders import T0

RATES = st.floats(0.01, 1e6)
BOUNDS = st.tuples(st.floats(0.001, 1.0), st.floats(1.0, 60.0))
SAMPLES = st.lists(st.tuples(st.floats(0.0, 1e5), st.floats(0.0, 1e9)), max_size=12).map(
    lambda drawn: sorted(drawn, key=lambda sample: sample[0])
)


def falling(depth: float, rate: float, moments: list[float]) -> list[tuple[float, float]]:
    return [(moment, depth - rate * moment) for moment in moments]


def test_without_a_reading_nothing_is_said() -> None:
    """No reading, no forecast; the first look is soon."""
    assert forecast([]) is None
    assert next_look([], shortest=0.05, longest=1.0) == 0.05


def test_one_reading_has_no_rate() -> None:
    """One reading says how much there is and nothing about how fast it goes; the second look is soon."""
    assert forecast([(T0, 70.0)]) == Forecast(70.0, None, None)
    assert next_look([(T0, 70.0)], shortest=0.05, longest=1.0) == 0.05


def test_empty_is_empty_now() -> None:
    """A depth of 0 is reached in 0 seconds, whatever came before."""
    assert forecast([(T0, 0.0)]) == Forecast(0.0, None, 0.0)
    assert forecast([(T0, 50.0), (T0 + 1, 0.0)]) == Forecast(0.0, None, 0.0)


def test_a_constant_rate_gives_the_exact_moment() -> None:
    """100 messages, 20 a second: after 2 seconds there are 60 left, and 3 seconds to go."""
    assert forecast(falling(100.0, 20.0, [0.0, 0.5, 1.0, 2.0])) == Forecast(60.0, 20.0, 3.0)


@given(RATES, st.lists(st.floats(0.0, 0.9), min_size=2, max_size=12, unique_by=lambda share: round(share, 3)))
def test_any_constant_rate_gives_the_exact_moment(rate: float, shares: list[float]) -> None:
    """Whenever it was read, a queue that falls at a constant rate is forecast to be empty when it will be."""
    depth = 1000.0
    moments = sorted(share * depth / rate for share in shares)
    seen = forecast(falling(depth, rate, moments))
    assert seen is not None
    assert seen.rate == pytest.approx(rate, rel=1e-6)
    assert seen.eta is not None
    assert moments[-1] + seen.eta == pytest.approx(depth / rate, rel=1e-6)


@pytest.mark.parametrize(
    "samples", [[(0.0, 50.0), (1.0, 50.0)], [(0.0, 50.0), (1.0, 80.0)], [(0.0, 50.0), (0.0, 20.0)]]
)
def test_what_does_not_fall_has_no_eta(samples: list[tuple[float, float]]) -> None:
    """A queue that stands still, grows, or was read twice at one moment has no rate; the next look is the slowest."""
    seen = forecast(samples)
    assert seen == Forecast(samples[-1][1], None, None)
    assert next_look(samples, shortest=0.05, longest=1.0) == 1.0


def test_it_follows_a_change_of_speed() -> None:
    """The newest half of the readings decides: a drain that got ten times slower is forecast by its present rate."""
    fast = falling(1000.0, 100.0, [0.0, 1.0, 2.0, 3.0])
    slow = [(moment, 700.0 - 10.0 * (moment - 3.0)) for moment in (4.0, 5.0, 6.0, 7.0)]
    seen = forecast([*fast, *slow])
    assert seen is not None
    assert seen.rate == pytest.approx(10.0)


def test_one_odd_reading_does_not_throw_it() -> None:
    """With a reading off by 5 of 100 the forecast stays within 20 percent of the truth."""
    readings = falling(100.0, 10.0, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])
    readings[5] = (5.0, readings[5][1] + 5.0)
    seen = forecast(readings)
    assert seen is not None
    assert seen.eta == pytest.approx(3.0, rel=0.2)


@given(SAMPLES, BOUNDS)
def test_the_next_look_keeps_its_bounds(samples: list[tuple[float, float]], bounds: tuple[float, float]) -> None:
    """Whatever was read, the next look is neither sooner nor later than the bounds allow."""
    shortest, longest = bounds
    assert shortest <= next_look(samples, shortest=shortest, longest=longest) <= longest


@given(SAMPLES)
def test_a_forecast_is_never_negative(samples: list[tuple[float, float]]) -> None:
    """Rate and time left are positive or unknown, never below zero."""
    seen = forecast(samples)
    if seen is not None:
        assert seen.rate is None or seen.rate > 0
        assert seen.eta is None or seen.eta >= 0
