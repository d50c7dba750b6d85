"""The state of one replication link, kept by its source instance. ``replication`` decides which messages it carries."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Link:
    """``to``: the connected instance. ``sent``, ``delivered`` and ``acked`` are positions in the source's log:
    messages up to there were sent, were written at the destination, or were acknowledged to the source. ``flying``:
    the arrival time and end position of each batch in transit. ``downgraded`` lasts until an upgrade or a restart
    (docs/sources/amps.md, 9.2)."""

    to: str | None = None
    downgraded: bool = False
    sent: int = 0
    delivered: int = 0
    acked: int = 0
    flying: list[tuple[float, int]] = field(default_factory=list)
    ack_at: float = 0.0
    try_at: float = 0.0
    replay_end: int | None = None
    fraction: float = 0.0
    messages_out: int = 0
    connected_at: float | None = None
    disconnected_at: float | None = None
    disconnects: int = 0
    refused: str = ""

    def start(self, destination: str, position: int, end: int, now: float) -> None:
        """The link is connected and starts at ``position`` of a log that ends at ``end``."""
        self.to = destination
        self.sent = self.delivered = self.acked = position
        self.flying.clear()
        self.connected_at, self.ack_at = now, now
        self.replay_end = end
        self.refused = ""

    def stop(self, now: float, *, try_at: float) -> None:
        """The connection is gone. The next connection determines the new start position."""
        if self.to is not None:
            self.disconnects += 1
            self.disconnected_at = now
        self.to, self.replay_end = None, None
        self.try_at = try_at

    def skip(self, position: int) -> None:
        """Skip the messages before ``position``, because none of them is for the destination."""
        self.acked = max(self.acked, position)
        self.delivered = max(self.delivered, position)
        self.sent = max(self.sent, position)

    def forget_log(self, next_position: int) -> None:
        """Reset the positions, because the source's log was lost or starts again."""
        self.sent = self.delivered = self.acked = next_position
        self.flying.clear()
