"""One message VPN at both sites: its roles, bridges, clients and transactions as time passes.

Sources: docs/sources/solace-procedure.md and docs/sources/solace.md, 4. A VPN is brought up to date only on a request.

The documents do not cover these cases. Each assumption takes the behaviour that is worse for an operator:

- A bound bridge survives the demotion of the site it drains. Between two standby sites only the bridge towards the
  site that was active last can bind again. The other bridge stays down.
- A publisher whose message is refused sends it again before any later one. It stops producing while disconnected.
- Messages consumed at the active are not pruned from its replication queue.
- A site that could not tell its mate about consumed messages does so when the mate's bridge is bound to it again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from itertools import islice
from random import Random
from typing import Any, Protocol

from simulator.solace.account import Ledger, Tally
from simulator.solace.appliance import (
    ClientView,
    EndpointKind,
    EndpointView,
    MessageView,
    NoSuchObject,
    Outcome,
    QueueView,
    RoleName,
    TransactionView,
    VpnReplication,
)
from simulator.solace.layout import VpnLayout, WorldLayout
from simulator.solace.site_state import FOREVER, Client, Conditions, Side
from simulator.solace.stream import Rates, Stream
from simulator.solace.transactions import TransactionTable
from simulator.world.intervals import Numbers

_MEGABYTE = 1_048_576
_STEP_MIN = 0.001  # seconds: resolution of the moment at which the eligibility changes


class SiteState(Protocol):
    """The state of a site that a VPN needs: whether a node serves, whether clients can connect, whether the spool is
    full."""

    @property
    def serves(self) -> bool: ...

    @property
    def connects(self) -> bool: ...

    @property
    def full(self) -> bool: ...


class Vpn:
    """One message VPN. Every public method works at the moment ``at``. Call ``advance`` first."""

    def __init__(self, layout: VpnLayout, world: WorldLayout, sites: Mapping[str, SiteState]) -> None:
        self.layout = layout
        self.world = world
        self.sites = sites
        self.at = 0.0
        self.ledger = Ledger(layout.name)
        self.sides = {site.name: Side(site.name, "standby", admin_up=layout.replicated) for site in world.sites}
        self.stream = Stream(layout, world, self.sides, self.ledger)
        self.table = TransactionTable(self.ledger, layout.manager)
        jitter = Random(f"{world.seed}:{layout.name}")
        self.publisher = Client(jitter=jitter.uniform(0.5, 1.0))
        self.consumer = Client(jitter=jitter.uniform(0.5, 1.0))
        self.conditions = Conditions()
        self.reconcile_at: float | None = None
        self.last_active: str | None = None

    @property
    def name(self) -> str:
        return self.layout.name

    def begin(self) -> None:
        """Set up the layout's first state: one site active, its mate bound, clients connected."""
        active = self.sides[self.world.first_active]
        standby = self.stream.mate(active)
        active.role, self.last_active = "active", active.name
        standby.bridge = "up" if self.layout.replicated else "down"
        self.stream.begin(active)
        self.publisher.at = self.consumer.at = active.name
        self.table.begin(active, standby, self.layout.transactions)
        self.ledger.note_role(0.0, active.name, "active")
        self.settle()

    # Time

    def advance(self, moment: float) -> None:
        """Bring the VPN up to ``moment``, event by event."""
        while self.at < moment:
            event = max(self._next_event(), self.at)
            stop = min(moment, event)
            self.stream.move(self.at, stop)
            self.at = stop
            if stop == event:
                self._happen()
                self.settle()

    def settle(self) -> None:
        """Apply the consequences of a change: update the connections, the eligibility and the message rates."""
        for client in (self.publisher, self.consumer):
            self._settle_client(client)
        for side in self.sides.values():
            self._settle_bridge(side)
        bound = next((side for side in self.sides.values() if side.bridge == "up"), None)
        drained = None if bound is None else self.stream.mate(bound)
        for side in self.sides.values():
            self._settle_eligibility(side, drained)
        self.stream.rates = self._rates(drained)
        self.ledger.note_active(self.at, tuple(side.name for side in self.sides.values() if self._serves(side)))

    def _next_event(self) -> float:
        event = min(self.conditions.next_end(self.at), self._crossing())
        dues = [self.publisher.due, self.consumer.due, self.reconcile_at]
        dues += [side.bridge_due for side in self.sides.values()]
        for moment in dues:
            if moment is not None and moment < event:
                event = moment
        return event

    def _happen(self) -> None:
        """Run the events that are due now."""
        for client in (self.publisher, self.consumer):
            if client.due is not None and client.due <= self.at:
                self._connect(client)
        for side in self.sides.values():
            if side.bridge_due is not None and side.bridge_due <= self.at:
                dialled = side.bridge == "queue-unbound"
                side.bridge = "up" if dialled else "queue-unbound"
                side.bridge_due = None if dialled else self.at + self.world.redial / 2
        if self.reconcile_at is not None and self.reconcile_at <= self.at:
            self.reconcile_at = None
            for side in self.sides.values():
                if side.name == self.last_active:
                    self.table.reconcile(self.at, side, self._mirror(side))

    def _crossing(self) -> float:
        """The next moment at which the depth of the drained queue makes the active side eligible or ineligible."""
        rates = self.stream.rates
        side = rates.drained
        if side is None or side.role != "active":
            return FOREVER
        growth = (rates.feed if rates.inlet is side else 0.0) - rates.carry
        distance = (
            self.world.congested + 1 - side.queue.count if side.eligible else self._caught_up - side.queue.count
        )
        if growth == 0 or distance / growth < 0:
            return FOREVER
        return self.at + max(distance / growth, _STEP_MIN)

    # Consequences

    def _serves(self, side: Side) -> bool:
        return side.role == "active" and self.sites[side.name].connects

    def _settle_client(self, client: Client) -> None:
        if client.at is not None and not self._serves(self.sides[client.at]):
            client.leave(self.at, self.world.reconnect)
        if client.at is None:
            somewhere = any(self._serves(side) for side in self.sides.values())
            client.due = client.next_try(self.at, self.world.reconnect) if somewhere else None

    def _connect(self, client: Client) -> None:
        """The host list has the sites in the layout's order. The client connects to the first site that serves."""
        client.at = next((side.name for side in self.sides.values() if self._serves(side)), None)
        client.due = None
        if client is self.publisher:
            self.stream.resend()

    def _settle_bridge(self, side: Side) -> None:
        if not self._may_bind(side):
            side.bridge, side.bridge_due = "down", None
        elif side.bridge == "down" and side.bridge_due is None:
            side.bridge_due = self.at + self.world.redial / 2

    def _may_bind(self, side: Side) -> bool:
        mate = self.stream.mate(side)
        reachable = self.sites[side.name].connects and self.sites[mate.name].connects
        wanted = side.role == "standby" and side.admin_up and mate.admin_up
        towards = mate.role == "active" or self.last_active == mate.name
        return reachable and wanted and towards and self.at >= self.conditions.cut_until

    @property
    def _caught_up(self) -> int:
        return self.world.congested // 10

    def _settle_eligibility(self, side: Side, drained: Side | None) -> None:
        """Synchronous replication becomes asynchronous by itself when the mate is away or cannot keep up
        (docs/sources/solace.md, 4.1)."""
        if side.role != "active":
            side.eligible = False
            return
        limit = self.world.congested if side.eligible else self._caught_up
        eligible = drained is side and side.queue.count <= limit
        if (
            side.eligible
            and not eligible
            and not self.layout.reject_when_ineligible
            and self.publisher.at == side.name
        ):
            self.stream.acknowledge_all()
        side.eligible = eligible

    def _rates(self, drained: Side | None) -> Rates:
        rates = Rates(drained=drained)
        if self.publisher.at is not None and not self.sites[self.publisher.at].full:
            inlet = self.sides[self.publisher.at]
            blocked = self.layout.sync_every and self.layout.reject_when_ineligible and not inlet.eligible
            rates.inlet = inlet
            rates.feed = 0.0 if blocked else self.layout.publish_rate
        if drained is not None and not self.sites[self.stream.mate(drained).name].full:
            stalled = self.at < self.conditions.stalled_until
            slow = self.conditions.slow_factor if self.at < self.conditions.slow_until else 1.0
            rates.carry = 0.0 if stalled else self._bridge_rate(drained) / slow
        if self.consumer.at is not None:
            rates.outlet = self.sides[self.consumer.at]
            rates.eat = self.layout.consume_rate
        return rates

    def _bridge_rate(self, drained: Side) -> float:
        back = self.layout.return_rate
        return self.layout.drain_rate if back is None or drained.name == self.world.first_active else back

    # Commands

    def set_role(self, site: str, role: RoleName, *, by: str = "command") -> bool:
        """Change the role at one site. Returns False if the site had that role already."""
        side = self.sides[site]
        if side.role == role:
            return False
        side.role = role
        self.ledger.note_role(self.at, site, role, by)
        if role == "active":
            self.last_active = site
            if self.layout.manager.outcomes:
                self.reconcile_at = self.at + self.layout.manager.reconciles_after
        self.settle()
        return True

    def set_reject_on_discard(self, *, enabled: bool) -> bool:
        """Turn the rejection of messages for a full queue on or off. Config-sync copies the setting to both sites
        (docs/sources/solace.md, 1.4)."""
        changed, self.stream.rejects = self.stream.rejects is not enabled, enabled
        return changed

    def complete_transaction(self, site: str, xid: str, outcome: Outcome) -> None:
        """Heuristic commit or rollback. Raises ``NoSuchObject``, or ``Refused`` unless the transaction is prepared."""
        side = self.sides[site]
        self.table.complete(self.at, side, self._mirror(side), xid, outcome)

    def delete_transaction(self, site: str, xid: str) -> None:
        """Forget a completed transaction at one site. Raises ``NoSuchObject`` or ``Refused``."""
        self.table.delete(self.sides[site], xid)

    def manager_ends(self, xid: str, outcome: Outcome) -> None:
        """The transaction manager completes and forgets a transaction at the site that was active last."""
        if self.last_active is not None:
            side = self.sides[self.last_active]
            self.table.manager_ends(self.at, side, self._mirror(side), xid, outcome)

    def manager_prepares(self, xid: str) -> None:
        """A new branch is prepared at the site that was active last."""
        if self.last_active is not None:
            side = self.sides[self.last_active]
            self.table.manager_prepares(self.at, side, self._mirror(side), xid)

    def _mirror(self, side: Side) -> Side | None:
        """The mate while its bridge is bound to ``side``, else None."""
        return self.stream.mate(side) if self.stream.rates.drained is side else None

    # Views

    def replication(self, site: str) -> VpnReplication:
        """The row of ``show message-vpn … replication`` at one site. A flag that does not apply there is ``None``."""
        side = self.sides[site]
        mate = self.stream.mate(side)
        active = side.role == "active"
        connected = mate.role == "standby" and mate.bridge != "down"
        return VpnReplication(
            vpn=self.name,
            admin_up=side.admin_up,
            role=side.role,
            local_bridge=None if active else side.bridge,
            remote_bridge_up=connected if active else None,
            queue_bound=connected and mate.bridge == "up" if active else None,
            sync_eligible=side.eligible if active else None,
            reject_when_ineligible=self.layout.reject_when_ineligible,
            transaction_mode=self.layout.transaction_mode,
        )

    def replication_queue(self, site: str) -> QueueView:
        """The replication queue at one site. Raises ``NoSuchObject`` when the VPN is not replicated."""
        side = self.sides[site]
        if not self.layout.replicated:
            raise NoSuchObject(f"message VPN {self.name} has no replication queue")
        return QueueView(
            vpn=self.name,
            messages=side.queue.count,
            usage_mb=side.queue.count * self.layout.message_bytes / _MEGABYTE,
            high_water_mb=side.high_water * self.layout.message_bytes / _MEGABYTE,
            quota_mb=self.layout.quota_mb,
            reject_on_discard=self.stream.rejects,
        )

    def clients(self, site: str) -> list[ClientView]:
        """The clients that are connected to one site."""
        found = (("feed/1/#00000001", self.publisher), ("book/1/#00000002", self.consumer))
        return [ClientView(name, self.name, "default") for name, client in found if client.at == site]

    def endpoints(self, site: str) -> list[EndpointView]:
        """The queue that the consumers read, and a topic endpoint that stays empty. Moments are world time."""
        spool = self.sides[site].spool
        oldest = next(iter(spool), None)
        number = None if oldest is None else oldest[0]
        return [
            EndpointView(
                vpn=self.name,
                name="orders",
                kind="queue",
                messages=spool.count,
                usage_mb=spool.count * self.layout.message_bytes / _MEGABYTE,
                oldest_id=number,
                oldest_at=None if number is None else self.stream.sent_at(number),
            ),
            EndpointView(self.name, "audit", "topic-endpoint", 0, 0.0, None, None),
        ]

    def messages(self, site: str, kind: EndpointKind, name: str, after: int | None, count: int) -> list[MessageView]:
        """Up to ``count`` messages of an endpoint with numbers above ``after``, in order. Moments are world time.

        A second copy of a message is not shown. Over SEMP it would have a separate id.
        """
        if (name, kind) not in [(view.name, view.kind) for view in self.endpoints(site)]:
            raise NoSuchObject(f"{kind} {name} does not exist")
        side = self.sides[site]
        held = Numbers(side.spool) if name == "orders" else Numbers()
        held.discard(0, 0 if after is None else after + 1)
        waiting = Numbers(side.queue)
        return [
            MessageView(
                number=number,
                spooled_at=self.stream.sent_at(number),
                size=self.layout.message_bytes,
                state="pending-replication" if number in waiting else "replicated",
            )
            for number in islice((number for start, stop in held for number in range(start, stop)), count)
        ]

    def transactions(self, site: str) -> list[TransactionView]:
        """Every transaction that one site knows."""
        return [held.view(self.name, self.at) for held in self.sides[site].transactions.values()]

    def tally(self) -> Tally:
        """The independent account, now. If no site is active, either site could become active, so messages at both
        count as deliverable."""
        serving = [side for side in self.sides.values() if self._serves(side)]
        deliverable = Numbers(run for side in serving or self.sides.values() for run in side.spool)
        held = Numbers(run for side in self.sides.values() for run in side.spool)
        return self.ledger.tally(self.at, deliverable, held)

    # On file

    def dump(self) -> dict[str, Any]:
        """Plain data for the world's file."""
        return {
            "at": self.at,
            "sides": {name: side.dump() for name, side in self.sides.items()},
            "stream": self.stream.dump(),
            "publisher": asdict(self.publisher),
            "consumer": asdict(self.consumer),
            "conditions": asdict(self.conditions),
            "reconcile_at": self.reconcile_at,
            "last_active": self.last_active,
            "ledger": self.ledger.dump(),
        }

    def restore(self, data: Mapping[str, Any]) -> None:
        """Load the data of ``dump``. Raises KeyError, TypeError or ValueError for other data."""
        self.at = float(data["at"])
        self.sides = {name: Side.load(name, data["sides"][name]) for name in self.sides}
        self.ledger = Ledger.load(self.name, data["ledger"])
        self.stream = Stream(self.layout, self.world, self.sides, self.ledger)
        self.stream.restore(data["stream"])
        self.table = TransactionTable(self.ledger, self.layout.manager)
        self.publisher = Client(**data["publisher"])
        self.consumer = Client(**data["consumer"])
        self.conditions = Conditions(**data["conditions"])
        self.reconcile_at = data["reconcile_at"]
        self.last_active = data["last_active"]
        self.settle()
