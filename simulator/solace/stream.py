"""The flow of messages of one VPN: published, spooled, queued for the mate, carried, consumed, acknowledged.

Between two changes of state the rates are constant. So any length of time is one step of arithmetic on intervals,
for any backlog. ``vpn`` decides the connections. Nothing here changes a role or a connection.
Sources: docs/sources/solace.md, 4.1 and 1.4.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from simulator.solace.account import Ledger
from simulator.solace.layout import VpnLayout, WorldLayout
from simulator.solace.site_state import FOREVER, Side, load_runs
from simulator.world.intervals import Numbers, Run, Runs

_MEGABYTE = 1_048_576
_STAMP_EVERY = 1.0  # seconds: resolution of the recorded send times


@dataclass(slots=True)
class Rates:
    """The rates until the next change of state, in messages a second, and the sides they apply to."""

    feed: float = 0.0  # into ``inlet``
    inlet: Side | None = None
    carry: float = 0.0  # out of the queue of ``drained``
    drained: Side | None = None
    eat: float = 0.0  # out of the spool of ``outlet``
    outlet: Side | None = None


class Stream:
    """All messages of one VPN. Message ``n`` is synchronous when ``n`` is a multiple of ``sync_every``."""

    __slots__ = (
        "_carried",
        "_eaten",
        "_fed",
        "consumed_at",
        "layout",
        "ledger",
        "next_number",
        "outbox",
        "quota_messages",
        "rates",
        "rejects",
        "sides",
        "stamps",
        "unacked",
        "world",
    )

    def __init__(self, layout: VpnLayout, world: WorldLayout, sides: Mapping[str, Side], ledger: Ledger) -> None:
        self.layout = layout
        self.world = world
        self.sides = sides
        self.ledger = ledger
        self.rates = Rates()
        self.quota_messages = layout.quota_mb * _MEGABYTE // layout.message_bytes
        self.next_number = 1
        self.unacked = Numbers()  # sent, but not acknowledged to the publisher
        self.outbox = Runs()  # the publisher resends these before new messages
        self.consumed_at = 0.0
        self.rejects = layout.reject_on_discard
        self.stamps: list[tuple[int, float]] = [(1, 0.0)]  # first number of a stretch, and when it was sent
        self._fed = self._carried = self._eaten = 0.0  # fractions of a message

    def mate(self, side: Side) -> Side:
        """The same VPN at the other site."""
        one, other = self.sides.values()
        return other if side is one else one

    def begin(self, active: Side) -> None:
        """Create the messages that exist when time starts."""
        layout, standby = self.layout, self.mate(active)
        held = max(layout.backlog, layout.unconsumed)
        queued, waiting = held - layout.backlog + 1, held - layout.unconsumed + 1
        self.next_number = held + 1
        self.ledger.acknowledge(1, held + 1)
        self.ledger.received.add(1, waiting)
        active.queue.push(queued, held + 1)
        active.spool.push(waiting, held + 1)
        active.acks.push(queued, waiting)
        active.high_water = active.queue.count
        standby.spool.push(waiting, queued)

    def move(self, start: float, stop: float) -> None:
        """Let the time from ``start`` to ``stop`` pass at the present rates."""
        passed = stop - start
        if passed <= 0:
            return
        carried = self._whole_carried(passed)
        before = self.next_number
        asked = self._publish(passed, carried)
        if self.next_number > before:
            self._stamp(before, start)
        self._carry(carried)
        if asked:
            self._settle_asked(asked)
        self._consume(start, stop)
        self._propagate(stop)

    def acknowledge(self, runs: Iterable[Run]) -> None:
        """Acknowledge these messages to the publisher."""
        for start, stop in runs:
            self.ledger.acknowledge(start, stop)
            if self.unacked:
                self.unacked.discard(start, stop)

    def acknowledge_all(self) -> None:
        """Acknowledge all sent messages to the publisher."""
        self.acknowledge(list(self.unacked))

    def resend(self) -> None:
        """The publisher has a new connection. It first resends the messages that were not acknowledged."""
        self.outbox = Runs(self.unacked)

    def sent_at(self, number: int) -> float:
        """The world time at which a message was first sent, rounded down to the resolution of about a second."""
        return self.stamps[bisect_right(self.stamps, (number, FOREVER)) - 1][1]

    def _stamp(self, first: int, moment: float) -> None:
        """Record the send time. Drop the records of messages that no spool holds any more."""
        if moment - self.stamps[-1][1] >= _STAMP_EVERY:
            self.stamps.append((first, moment))
            held = [run[0] for side in self.sides.values() for run in side.spool]
            oldest = min(held, default=first)
            del self.stamps[: max(0, bisect_right(self.stamps, (oldest, FOREVER)) - 1)]

    def _whole_carried(self, passed: float) -> int:
        self._carried += self.rates.carry * passed
        whole = int(self._carried)
        self._carried -= whole
        return whole

    def _publish(self, passed: float, carried: int) -> list[Run]:
        """Spool and queue the publisher's messages. Returns those that the mate must receive before the
        acknowledgement."""
        side = self.rates.inlet
        if side is None or not self.rates.feed:
            return []
        self._fed += self.rates.feed * passed
        wanted = int(self._fed)
        if not wanted:
            return []  # the caller asks more often than messages come
        self._fed -= wanted
        room = wanted
        if side.admin_up:
            room = max(0, self.quota_messages - side.queue.count + (carried if self.rates.drained is side else 0))
            if self.rejects:
                wanted = min(wanted, room)
        sent = Runs(self.outbox.pop(wanted))
        fresh = wanted - sent.count
        sent.push(self.next_number, self.next_number + fresh)
        self.next_number += fresh
        side.spool.extend(sent)
        if not side.admin_up:
            self.acknowledge(sent)
            return []
        queued = sent.slice(0, room)
        side.discarded += max(0, sent.count - room)
        side.queue.extend(queued)
        if not (side.eligible and self.layout.sync_every):
            self.acknowledge(sent)
            return []
        self.acknowledge(sent.slice(room, sent.count))
        return queued

    def _carry(self, carried: int) -> None:
        """Move messages over the bridge. A message first arrives at the mate, then leaves the queue when acknowledged."""
        side = self.rates.drained
        if side is None or not side.queue.count:
            return
        gone = min(carried, side.queue.count)
        left = side.queue.count - gone
        ahead = min(left, self.world.window, int(self.rates.carry * self.world.link_latency))
        lead = max(side.lead - gone, ahead)
        if gone + lead > side.lead:
            self.mate(side).spool.extend(side.queue.slice(side.lead, gone + lead))
        side.lead = lead
        popped = side.queue.pop(gone)
        if popped and self.layout.sync_every and self.rates.inlet is side:
            self.acknowledge(popped)
        side.high_water = max(side.high_water, side.queue.count)

    def _settle_asked(self, runs: list[Run]) -> None:
        """Of the messages just sent and still queued, acknowledge the asynchronous ones. The synchronous ones wait."""
        side, every, asked = self.rates.inlet, self.layout.sync_every, Runs(runs)
        if side is None:
            return
        still = min(asked.count, side.queue.count)
        for start, stop in asked.slice(asked.count - still, asked.count):
            if every == 1:
                self._wait(start, stop)
                continue
            at = start
            for number in range(-(-start // every) * every, stop, every):  # few: short queue
                self.acknowledge([(at, number)])
                self._wait(number, number + 1)
                at = number + 1
            self.acknowledge([(at, stop)])

    def _wait(self, start: int, stop: int) -> None:
        self.unacked.add(start, stop)

    def _consume(self, start: float, stop: float) -> None:
        side = self.rates.outlet
        if side is None:
            return
        self._eaten += self.rates.eat * (stop - start)
        wanted = int(self._eaten)
        if not wanted:
            return
        self._eaten -= wanted
        taken = side.spool.pop(wanted)
        if not taken:
            return
        self.ledger.deliver(taken)
        self.consumed_at = stop
        if side.admin_up:
            side.acks.extend(taken)

    def _propagate(self, now: float) -> None:
        """While the mate's bridge is bound, tell the mate which messages were consumed at the side that the bridge
        drains."""
        side = self.rates.drained
        if side is None:
            return
        mate = self.mate(side)
        quiet = now - self.consumed_at >= self.world.ack_after
        told = side.acks.count if quiet else side.acks.count // self.world.ack_batch * self.world.ack_batch
        if told:
            mate.early.extend(side.acks.pop(told))
        if mate.early:
            mate.early = mate.spool.remove(mate.early)

    def dump(self) -> dict[str, Any]:
        """Plain data for the world's file."""
        return {
            "next_number": self.next_number,
            "unacked": list(self.unacked),
            "outbox": list(self.outbox),
            "consumed_at": self.consumed_at,
            "rejects": self.rejects,
            "stamps": self.stamps,
            "fractions": [self._fed, self._carried, self._eaten],
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Load the data of ``dump``. Raises KeyError, TypeError or ValueError for other data."""
        self.next_number = int(data["next_number"])
        self.unacked = Numbers(load_runs(data["unacked"]))
        self.outbox = Runs(load_runs(data["outbox"]))
        self.consumed_at = float(data["consumed_at"])
        self.rejects = bool(data["rejects"])
        self.stamps = [(int(number), float(moment)) for number, moment in data["stamps"]]
        self._fed, self._carried, self._eaten = (float(part) for part in data["fractions"])
        if not self.stamps:
            raise ValueError("nothing tells when messages were sent")
