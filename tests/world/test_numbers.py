"""Intervals behave as the sets and queues of single numbers that they stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from simulator.world.intervals import Numbers, Run, Runs, overlap

SPAN = st.tuples(st.integers(0, 60), st.integers(0, 12)).map(lambda pair: (pair[0], pair[0] + pair[1]))
SPANS = st.lists(SPAN, max_size=12)


def singles(runs: Iterable[Run]) -> list[int]:
    return [number for start, stop in runs for number in range(start, stop)]


@given(st.lists(st.tuples(st.booleans(), SPAN), max_size=25))
def test_a_set_of_intervals_is_the_set_of_its_numbers(steps: list[tuple[bool, Run]]) -> None:
    """Adding and discarding intervals equals adding and discarding each number, and the form stays canonical."""
    subject, model = Numbers(), set[int]()
    for adds, (start, stop) in steps:
        if adds:
            subject.add(start, stop)
            model |= set(range(start, stop))
        else:
            subject.discard(start, stop)
            model -= set(range(start, stop))
        runs = list(subject)
        assert singles(runs) == sorted(model)
        assert subject.count == len(model)
        assert subject.highest == (max(model) if model else None)
        assert all(before[1] < after[0] for before, after in pairwise(runs))


@given(SPANS, SPANS, SPAN)
def test_questions_to_a_set_leave_it_as_it_is(some: list[Run], others: list[Run], window: Run) -> None:
    """``within`` and ``without`` answer as set intersection and difference do, and change nothing."""
    subject, other = Numbers(some), Numbers(others)
    before = list(subject)
    assert singles(subject.within(*window)) == sorted(set(singles(some)) & set(range(*window)))
    assert singles(subject.without(other)) == sorted(set(singles(some)) - set(singles(others)))
    assert list(subject) == before


@given(SPANS, st.lists(st.integers(0, 15), max_size=8))
def test_a_queue_gives_back_what_was_put_in_order(pushed: list[Run], pops: list[int]) -> None:
    """First in, first out, copies included; the count is always the number of messages."""
    subject, model = Runs(pushed), singles(pushed)
    for wanted in pops:
        taken = singles(subject.pop(wanted))
        assert taken == model[:wanted]
        model = model[wanted:]
        assert subject.count == len(model)
    assert singles(subject) == model


@given(SPANS, st.integers(0, 40), st.integers(0, 40))
def test_a_slice_shows_positions_and_takes_nothing(pushed: list[Run], first: int, last: int) -> None:
    """``slice`` is the slice of the list of numbers."""
    subject = Runs(pushed)
    assert singles(subject.slice(first, last)) == singles(pushed)[first:last]
    assert subject.count == len(singles(pushed))


@given(SPANS, SPANS)
def test_removing_takes_one_copy_of_each_and_names_the_missing(pushed: list[Run], removed: list[Run]) -> None:
    """Removal is subtraction of multisets that keeps the order of what stays."""
    subject = Runs(pushed)
    missing = subject.remove(removed)
    held, asked = Counter(singles(pushed)), Counter(singles(removed))
    assert Counter(singles(subject)) == held - asked
    assert Counter(singles(missing)) == asked - held
    assert subject.count == (held - asked).total()
    assert missing.count == (asked - held).total()


@given(SPAN, SPAN)
def test_overlap_is_the_intersection(one: Run, other: Run) -> None:
    """Two runs share one run, or nothing."""
    assert set(range(*(overlap(one, other) or (0, 0)))) == set(range(*one)) & set(range(*other))
