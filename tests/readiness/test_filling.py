"""When will a queue be full? Arithmetic on past readings, and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.family.fill_estimate import Filling, Sample, crossing, filling


def samples(*usages: float | None, every: float = 10.0, quota: float | None = 100.0) -> list[Sample]:
    """Readings ``every`` so many seconds, one message a MB."""
    return [
        Sample(1_000.0 + every * number, None if usage is None else round(usage), usage, quota)
        for number, usage in enumerate(usages)
    ]


def test_nothing_read_is_nothing_known() -> None:
    """Law: without a reading everything is unknown, and with one everything but the rate and the outlook."""
    assert filling([]) == Filling(None, None, None, None)
    assert filling(samples(25.0)) == Filling(25.0, None, None, None)


def test_time_until_full() -> None:
    """Law: what is left of the quota, at the rate at which it fills."""
    assert filling(samples(20.0, 30.0, 40.0)) == Filling(40.0, 1.0, 1.0, 60.0)


def test_the_newest_readings_count() -> None:
    """Law: the rate follows a change of speed; one standing still for long does not dilute it."""
    assert filling(samples(0, 0, 0, 0, 10, 20, 30)).rate == pytest.approx(1.0)


def test_a_queue_that_drains_is_never_full() -> None:
    """Law: a falling queue has a negative rate and no time until full."""
    seen = filling(samples(40.0, 20.0))
    assert (seen.rate, seen.full_in_s) == (-2.0, None)


def test_a_queue_that_stands_is_never_full() -> None:
    """Law: without growth there is no such time; unknown is not for ever."""
    assert filling(samples(40.0, 40.0)).full_in_s is None


@pytest.mark.parametrize("usage", [100.0, 99.95, 104.0])
def test_full_is_when_nothing_fits_any_more(usage: float) -> None:
    """Law: the quota itself is never quite reached, because messages are whole."""
    assert filling(samples(usage)).full_in_s == 0.0


def test_what_was_not_told_stays_unknown() -> None:
    """Law: without usage or quota there is no percentage and no outlook; a rate needs two known values."""
    assert filling(samples(None, None)) == Filling(None, None, None, None)
    assert filling(samples(10.0, 20.0, quota=None)) == Filling(None, 1.0, 1.0, None)
    assert filling(samples(10.0, None, 30.0)).rate == 1.0
    assert filling(samples(10.0, None)).percent is None


def test_two_readings_of_one_moment_have_no_rate() -> None:
    """Law: nothing is divided by no time."""
    assert filling(samples(10.0, 20.0, every=0.0)).rate is None


@given(st.lists(st.one_of(st.none(), st.floats(0, 200)), max_size=12), st.one_of(st.none(), st.floats(0, 100)))
def test_it_never_promises_too_much(usages: list[float | None], quota: float | None) -> None:
    """Law: whatever was read, a time until full is neither negative nor given for a queue that does not grow."""
    seen = filling(samples(*usages, quota=quota))
    if seen.full_in_s:
        assert seen.full_in_s > 0
        assert seen.rate_mb is not None
        assert seen.rate_mb > 0
    if seen.percent is None:
        assert seen.full_in_s in (None, 0.0)


def test_the_high_mark_is_told_once() -> None:
    """Law: it is set at the higher mark and cleared below the lower one, so that a queue at the border is quiet."""
    told, is_high = [], False
    for percent in (79.9, 80.0, 85.0, 79.0, 60.0, 59.9, 70.0, None, 90.0):
        crossed = crossing(is_high, percent)
        is_high = crossed == "high" if crossed is not None else is_high
        told.append(crossed)
    assert told == [None, "high", None, None, None, "clear", None, None, "high"]
