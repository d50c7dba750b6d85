"""A clock on which somebody presses Ctrl-C, or types something else meanwhile: commands that go on for ever can be
tested without waiting."""

from __future__ import annotations

from collections.abc import Callable

from orchestrator.clock import VirtualClock


class StoppedClock(VirtualClock):
    """Raises ``KeyboardInterrupt`` in the first sleep that reaches ``stop_at``, or at whose end ``stop_when`` says so;
    without them, never."""

    stop_at: float | None = None
    stop_when: Callable[[], bool] | None = None
    _then: tuple[float, Callable[[], object]] | None = None

    def stop_in(self, seconds: float) -> None:
        """Ctrl-C so many seconds from now."""
        self.stop_at = self.now() + seconds

    def meanwhile(self, seconds: float, what: Callable[[], object]) -> None:
        """So many seconds from now, in the middle of somebody's sleep, ``what`` is done."""
        self._then = (self.now() + seconds, what)

    def sleep(self, seconds: float) -> None:
        if self._then is not None and self.now() + seconds >= self._then[0]:
            (moment, what), self._then = self._then, None
            until = self.now() + seconds
            self.advance_to(moment)
            what()
            seconds = max(0.0, until - self.now())
        super().sleep(seconds)
        if self.stop_at is not None and self.now() >= self.stop_at:
            self.stop_at = None
            raise KeyboardInterrupt
        if self.stop_when is not None and self.stop_when():
            self.stop_when = None
            raise KeyboardInterrupt
