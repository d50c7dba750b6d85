"""The values of a sample of an instance's statistics. Moments are world time, or None.

``samples`` takes the values. ``statistics`` turns them into text for an administrator.
"""

from __future__ import annotations

from typing import NamedTuple


class ClientFigures(NamedTuple):
    """An application that is connected."""

    name: str
    id: int
    connected_at: float


class LinkFigures(NamedTuple):
    """A link out of the instance, named after its destination. ``behind_s``: the age of the oldest message without an
    acknowledgement, in whole seconds."""

    name: str
    connected: bool
    sync: bool
    behind_s: int
    messages_out: int
    connected_at: float | None
    disconnected_at: float | None
    disconnects: int


class IncomingFigures(NamedTuple):
    """A link that ends here: the instance it comes from, and its name there."""

    source: str
    name: str
    sync: bool
    connected_at: float | None
    disconnects: int


class QueueFigures(NamedTuple):
    """A queue, in messages. ``oldest_lease_s`` in whole seconds."""

    depth: int
    owned: int
    backlog: int
    oldest_lease_s: int
    proxied: bool
    transferred_in: int
    transferred_out: int


class SowFigures(NamedTuple):
    """A topic with a SOW: the number of its keys and of each kind of change."""

    keys: int
    inserts: int
    updates: int
    deletes: int


class JournalFigures(NamedTuple):
    """One journal file, and when its oldest and newest message were written."""

    number: int
    oldest_at: float | None
    newest_at: float | None
    archived: bool
    compressed: bool


class Sample(NamedTuple):
    """The statistics at ``moment``. ``starts``: how often the process was started. ``queues`` are by name, ``sow`` is by
    topic id. ``transports`` are by name: is the transport enabled?"""

    moment: float
    starts: int
    started_at: float
    clients: tuple[ClientFigures, ...]
    links: tuple[LinkFigures, ...]
    incoming: tuple[IncomingFigures, ...]
    queues: dict[str, QueueFigures]
    sow: dict[str, SowFigures]
    journals: tuple[JournalFigures, ...]
    transports: dict[str, bool]

    @property
    def oldest_at(self) -> float | None:
        """When the oldest message in the log was written."""
        return next((one.oldest_at for one in self.journals if one.oldest_at is not None), None)

    @property
    def newest_at(self) -> float | None:
        """When the newest message in the log was written."""
        return next((one.newest_at for one in reversed(self.journals) if one.newest_at is not None), None)
