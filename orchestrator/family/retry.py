"""Retries connections and readings. The only module that uses tenacity. It must never repeat an action.

There is no method for an action here on purpose. Attempts of an action are counted in the journal, where a crash loop
cannot reset them, and an action in doubt is resolved by reading (docs/decisions/retry.md). The caller names the errors
after which to retry. Only errors that may pass by themselves can be named here: a wrong password or a changed host key
is never tried twice.

Time is the injected clock's. tenacity's own ``stop_after_delay`` reads the machine's clock and would not stop in time
with another clock, so the deadline is kept here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from tenacity import RetryCallState, Retrying, retry_if_exception_type

from orchestrator.clock import Clock
from orchestrator.errors import AdapterError, CommandTimedOut, ConnectionLost, Unreachable

T = TypeVar("T")

# The errors that a caller may name. A reading changes nothing, so it may also be repeated after a lost or late reply.
CONNECT_MAY_RETRY: frozenset[type[AdapterError]] = frozenset({Unreachable})
READ_MAY_RETRY: frozenset[type[AdapterError]] = frozenset({Unreachable, ConnectionLost, CommandTimedOut})


@dataclass(frozen=True, slots=True)
class Backoff:
    """The pauses between attempts: ``first_s`` seconds, times ``factor`` each time, at most ``longest_s``.

    Each pause is shortened by up to half, at random, so that a thousand sessions do not retry at the same moment.
    """

    attempts_max: int = 3
    first_s: float = 0.1
    factor: float = 2.0
    longest_s: float = 2.0

    def __post_init__(self) -> None:
        if self.attempts_max < 1 or self.first_s < 0 or self.factor < 1 or self.longest_s < 0:
            raise ValueError("a back-off needs at least one attempt, pauses of 0 or more, and a factor of 1 or more")

    def pause_s(self, attempt: int, random: Random) -> float:
        """Seconds to wait after attempt number ``attempt``, counted from 1."""
        # The exponent is bounded: a float overflows long before the longest pause would matter.
        whole = min(self.longest_s, self.first_s * self.factor ** min(attempt - 1, 64))
        return whole * (0.5 + 0.5 * random.random())


class Retry:
    """Retries connections and readings, within a deadline on the injected clock."""

    def __init__(self, clock: Clock, random: Random, backoff: Backoff | None = None) -> None:
        self._clock = clock
        self._random = random
        self._backoff = backoff or Backoff()

    def connect(
        self,
        attempt: Callable[[], T],
        *,
        within_s: float,
        on: Collection[type[AdapterError]] = CONNECT_MAY_RETRY,
    ) -> T:
        """The connection that ``attempt`` makes, tried again after ``Unreachable`` while ``within_s`` seconds last.

        No attempt starts after the deadline. Raises the last attempt's own error; ``ValueError`` if ``on`` names an
        error that a retry does not fix.
        """
        return self._again(attempt, within_s, _checked(on, CONNECT_MAY_RETRY, "a connect"))

    def read(
        self,
        attempt: Callable[[], T],
        *,
        within_s: float,
        on: Collection[type[AdapterError]] = frozenset({ConnectionLost}),
    ) -> T:
        """The reading that ``attempt`` takes, under the same rules. ``attempt`` must not change anything."""
        return self._again(attempt, within_s, _checked(on, READ_MAY_RETRY, "a reading"))

    def _again(self, attempt: Callable[[], T], within_s: float, on: tuple[type[AdapterError], ...]) -> T:
        deadline = self._clock.now() + within_s

        def stop(state: RetryCallState) -> bool:
            enough = state.attempt_number >= self._backoff.attempts_max
            return enough or self._clock.now() + state.upcoming_sleep >= deadline

        def pause(state: RetryCallState) -> float:
            return self._backoff.pause_s(state.attempt_number, self._random)

        trying = Retrying(
            stop=stop, wait=pause, retry=retry_if_exception_type(on), sleep=self._clock.sleep, reraise=True
        )
        return trying(attempt)


def _checked(
    on: Collection[type[AdapterError]], allowed: frozenset[type[AdapterError]], what: str
) -> tuple[type[AdapterError], ...]:
    refused = [error.__name__ for error in on if error not in allowed]
    if refused:
        raise ValueError(f"{what} must not be tried again after {', '.join(sorted(refused))}")
    return tuple(on)
