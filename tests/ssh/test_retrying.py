"""Trying again: what is tried again, how often, and until when."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from orchestrator import errors
from orchestrator.clock import VirtualClock
from orchestrator.errors import (
    AdapterError,
    AuthenticationFailed,
    CommandTimedOut,
    ConnectionLost,
    HostKeyRejected,
    Unreachable,
)
from orchestrator.family.retry import CONNECT_MAY_RETRY, READ_MAY_RETRY, Backoff, Retry


class Flaky:
    """Fails with the given errors, one a call, then answers; each call takes ``seconds``."""

    def __init__(self, clock: VirtualClock, *failures: AdapterError, seconds: float = 0.0) -> None:
        self._clock = clock
        self._failures = list(failures)
        self._seconds = seconds
        self.calls_at: list[float] = []

    def __call__(self) -> str:
        self.calls_at.append(self._clock.now())
        self._clock.advance(self._seconds)
        if self._failures:
            raise self._failures.pop(0)
        return "here"


def retry(clock: VirtualClock, **backoff: Any) -> Retry:
    return Retry(clock, Random(1), Backoff(**backoff))


def test_a_connect_is_tried_again_after_unreachable() -> None:
    """What may pass by itself is tried again, until it works."""
    clock = VirtualClock()
    flaky = Flaky(clock, Unreachable("no"), Unreachable("no"))
    assert retry(clock, attempts_max=3).connect(flaky, within_s=60) == "here"
    assert len(flaky.calls_at) == 3


@pytest.mark.parametrize("error", [AuthenticationFailed("no"), HostKeyRejected("no"), ConnectionLost("no")])
def test_a_connect_is_not_tried_again_after_anything_else(error: AdapterError) -> None:
    """A wrong password or a changed key is reported the first time: trying again locks accounts."""
    clock = VirtualClock()
    flaky = Flaky(clock, error)
    with pytest.raises(type(error)):
        retry(clock).connect(flaky, within_s=60)
    assert len(flaky.calls_at) == 1


def test_the_last_attempts_own_error_is_raised() -> None:
    """Nothing of the library's is visible: the caller gets the device's error."""
    clock = VirtualClock()
    flaky = Flaky(clock, Unreachable("first"), Unreachable("second"))
    with pytest.raises(Unreachable, match="second"):
        retry(clock, attempts_max=2).connect(flaky, within_s=60)


def test_no_attempt_begins_after_the_deadline_of_the_injected_clock() -> None:
    """The deadline is the injected clock's, though the machine's clock stood still meanwhile."""
    clock = VirtualClock()
    start = clock.now()
    flaky = Flaky(clock, *[Unreachable("no")] * 50, seconds=4.0)
    with pytest.raises(Unreachable):
        retry(clock, attempts_max=50, first_s=1, longest_s=1).connect(flaky, within_s=10)
    assert [round(at - start) <= 10 for at in flaky.calls_at] == [True] * len(flaky.calls_at)
    assert len(flaky.calls_at) == 2 + (flaky.calls_at[-1] - start > 8)


def test_a_first_attempt_that_used_up_the_time_stays_the_only_one() -> None:
    """A connection attempt into nowhere may take all the time there is."""
    clock = VirtualClock()
    flaky = Flaky(clock, Unreachable("no"), seconds=10.0)
    with pytest.raises(Unreachable):
        retry(clock).connect(flaky, within_s=10)
    assert len(flaky.calls_at) == 1


def test_pauses_grow_are_bounded_and_are_spread_by_the_injected_random() -> None:
    """Exponential, at most the longest, shortened by up to half, and the same for the same seed."""
    backoff = Backoff(first_s=1.0, factor=2.0, longest_s=8.0)
    pauses = [backoff.pause_s(attempt, Random(7)) for attempt in range(1, 8)]
    for pause, whole in zip(pauses, [1, 2, 4, 8, 8, 8, 8], strict=True):
        assert whole / 2 <= pause <= whole
    assert pauses == [backoff.pause_s(attempt, Random(7)) for attempt in range(1, 8)]
    assert len({backoff.pause_s(1, Random(seed)) for seed in range(20)}) == 20
    assert backoff.pause_s(10**6, Random(1)) <= 8.0


def test_a_reading_is_asked_again_after_a_lost_connection_and_not_after_a_time_out_by_default() -> None:
    """A time-out already took the whole time a command has; asking twice is for who says so."""
    clock = VirtualClock()
    lost = Flaky(clock, ConnectionLost("no"))
    assert retry(clock).read(lost, within_s=60) == "here"
    late = Flaky(clock, CommandTimedOut("no"))
    with pytest.raises(CommandTimedOut):
        retry(clock).read(late, within_s=60)
    assert len(late.calls_at) == 1
    assert retry(clock).read(Flaky(clock, CommandTimedOut("no")), within_s=60, on={CommandTimedOut}) == "here"


def test_only_errors_that_may_pass_by_themselves_can_be_named() -> None:
    """Every error outside the two sets is refused by name, bases of them included."""
    clock = VirtualClock()
    tree = [error for error in vars(errors).values() if isinstance(error, type) and issubclass(error, Exception)]
    for error in tree:
        if error not in CONNECT_MAY_RETRY:
            with pytest.raises(ValueError, match=error.__name__):
                retry(clock).connect(lambda: 1, within_s=1, on={error})  # type: ignore[arg-type]  # whatever it is
        if error not in READ_MAY_RETRY:
            with pytest.raises(ValueError, match=error.__name__):
                retry(clock).read(lambda: 1, within_s=1, on={error})  # type: ignore[arg-type]  # whatever it is
    assert {AuthenticationFailed, HostKeyRejected}.isdisjoint(CONNECT_MAY_RETRY | READ_MAY_RETRY)


def test_there_is_no_way_to_retry_an_action() -> None:
    """Attempts of an action are counted in the journal; here are only a connect and a reading."""
    assert {name for name in dir(Retry) if not name.startswith("_")} == {"connect", "read"}


@pytest.mark.parametrize("wrong", [{"attempts_max": 0}, {"first_s": -1}, {"factor": 0.5}, {"longest_s": -1}])
def test_a_back_off_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    """A mistake in a constant is found when it is made, not at the first outage."""
    with pytest.raises(ValueError, match="back-off"):
        Backoff(**wrong)
