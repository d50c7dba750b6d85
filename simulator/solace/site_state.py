"""The state of a message VPN at one site, the state of its clients, and the file format of both.

The rules that change this state are in ``vpn``. Nothing here depends on the passing of time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any

from simulator.solace.appliance import BridgeName, RoleName, TransactionView
from simulator.solace.layout import TransactionLayout, TransactionStateName, transaction_from
from simulator.world.intervals import Run, Runs

FOREVER = 1e18


@dataclass(slots=True)
class HeldTransaction:
    """A transaction as one site knows it. ``since`` is the world time of its last change of state."""

    what: TransactionLayout
    state: TransactionStateName
    since: float

    def view(self, vpn: str, now: float) -> TransactionView:
        """The row and the details that ``show transaction`` would print."""
        what = self.what
        return TransactionView(
            xid=what.xid,
            vpn=vpn,
            type=what.type,
            state=self.state,
            replicated=what.replicated,
            client=what.client,
            client_username=what.username,
            in_state_s=max(0.0, now - self.since),
            messages_published=what.published,
            messages_consumed=len(what.consumed),
            spooled=what.spooled,
            consumed=tuple((number, "queue", what.endpoint) for number in what.consumed),
        )


@dataclass(slots=True)
class Client:
    """The publishers, or the consumers, of one VPN. ``at``: the site they are connected to.

    While disconnected, the clients try their host list at ``anchor`` and then at regular intervals. If a site serves,
    ``due`` is the moment of the try that will succeed.
    """

    jitter: float
    at: str | None = None
    anchor: float = 0.0
    due: float | None = None

    def leave(self, now: float, pause: float) -> None:
        """The connection is gone. The first new try comes after a part of ``pause``."""
        self.at, self.anchor, self.due = None, now + pause * self.jitter, None

    def next_try(self, now: float, pause: float) -> float:
        """The first moment, at ``now`` or later, at which the client tries the host list."""
        if self.anchor >= now or pause <= 0:
            return max(self.anchor, now)
        return max(now, self.anchor + ceil((now - self.anchor) / pause) * pause)


class Side:
    """The state of one message VPN at one site.

    ``spool``: messages for the consumers. ``queue``: the replication queue, first in first out; its first ``lead``
    messages are already spooled at the mate, but not yet acknowledged. ``acks``: messages consumed here that the mate was
    not yet told about. ``early``: messages whose consumption at the mate was reported here before the message arrived.
    ``bridge``: the local bridge, which dials the mate while this side is standby. ``bridge_due``: the moment of its next
    step.
    """

    __slots__ = (
        "acks",
        "admin_up",
        "bridge",
        "bridge_due",
        "discarded",
        "early",
        "eligible",
        "high_water",
        "lead",
        "name",
        "queue",
        "role",
        "spool",
        "transactions",
    )

    def __init__(self, name: str, role: RoleName, *, admin_up: bool) -> None:
        self.name = name
        self.role: RoleName = role
        self.admin_up = admin_up
        self.spool = Runs()
        self.queue = Runs()
        self.lead = 0
        self.high_water = 0
        self.discarded = 0
        self.acks = Runs()
        self.early = Runs()
        self.bridge: BridgeName = "down"
        self.bridge_due: float | None = None
        self.eligible = False
        self.transactions: dict[str, HeldTransaction] = {}

    def dump(self) -> dict[str, Any]:
        """Plain data for the world's file."""
        return {
            "role": self.role,
            "admin_up": self.admin_up,
            "spool": list(self.spool),
            "queue": list(self.queue),
            "lead": self.lead,
            "high_water": self.high_water,
            "discarded": self.discarded,
            "acks": list(self.acks),
            "early": list(self.early),
            "bridge": self.bridge,
            "bridge_due": self.bridge_due,
            "eligible": self.eligible,
            "transactions": [[asdict(tx.what), tx.state, tx.since] for tx in self.transactions.values()],
        }

    @classmethod
    def load(cls, name: str, data: Mapping[str, Any]) -> Side:
        """The side that ``dump`` wrote. Raises KeyError, TypeError or ValueError for other data."""
        side = cls(name, data["role"], admin_up=bool(data["admin_up"]))
        side.spool = Runs(load_runs(data["spool"]))
        side.queue = Runs(load_runs(data["queue"]))
        side.lead = int(data["lead"])
        side.high_water = int(data["high_water"])
        side.discarded = int(data["discarded"])
        side.acks = Runs(load_runs(data["acks"]))
        side.early = Runs(load_runs(data["early"]))
        side.bridge = data["bridge"]
        side.bridge_due = data["bridge_due"]
        side.eligible = bool(data["eligible"])
        for what, state, since in data["transactions"]:
            layout = transaction_from(what)
            side.transactions[layout.xid] = HeldTransaction(layout, state, float(since))
        return side


@dataclass(slots=True)
class Conditions:
    """Temporary faults of one VPN's bridge: until when the link is cut, stalled or slow, and how slow it is."""

    cut_until: float = 0.0
    stalled_until: float = 0.0
    slow_until: float = 0.0
    slow_factor: float = 1.0

    def next_end(self, now: float) -> float:
        """The moment after ``now`` at which the next of these faults ends."""
        soonest = FOREVER
        for end in (self.cut_until, self.stalled_until, self.slow_until):
            if now < end < soonest:
                soonest = end
        return soonest


def load_runs(data: Any) -> list[Run]:
    """Runs from their data in a file."""
    return [(int(start), int(stop)) for start, stop in data]
