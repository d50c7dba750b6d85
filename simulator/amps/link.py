"""One replication link out of an instance, as that instance keeps it. What is carried is decided in ``replication``."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Link:
    """``to``: the instance it is connected to. Positions are of the source's log: ``sent`` up to there is on its way
    or over, ``delivered`` is written at the destination, ``acked`` the source knows of. ``flying``: when what ends at
    a position arrives. ``downgraded`` lasts until an upgrade or a restart (docs/sources/amps.md, 9.2)."""

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
        """It is connected, and starts at ``position`` of a log that ends at ``end``."""
        self.to = destination
        self.sent = self.delivered = self.acked = position
        self.flying.clear()
        self.connected_at, self.ack_at = now, now
        self.replay_end = end
        self.refused = ""

    def stop(self, now: float, *, try_at: float) -> None:
        """The connection is gone; where it starts again is told when it is made again."""
        if self.to is not None:
            self.disconnects += 1
            self.disconnected_at = now
        self.to, self.replay_end = None, None
        self.try_at = try_at

    def skip(self, position: int) -> None:
        """Nothing before ``position`` is for the destination."""
        self.acked = max(self.acked, position)
        self.delivered = max(self.delivered, position)
        self.sent = max(self.sent, position)

    def forget_log(self, next_position: int) -> None:
        """The log it counts in was lost, or starts again."""
        self.sent = self.delivered = self.acked = next_position
        self.flying.clear()
