"""A clock on which somebody presses Ctrl-C: commands that go on for ever can be tested without waiting."""

from __future__ import annotations

from orchestrator.clock import VirtualClock


class StoppedClock(VirtualClock):
    """Raises ``KeyboardInterrupt`` in the first sleep that reaches ``stop_at``; without it, never."""

    stop_at: float | None = None

    def stop_in(self, seconds: float) -> None:
        """Ctrl-C so many seconds from now."""
        self.stop_at = self.now() + seconds

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if self.stop_at is not None and self.now() >= self.stop_at:
            self.stop_at = None
            raise KeyboardInterrupt
