"""The independent account: the real fate of the messages, independent of all reports.

The account records only events outside the engine: messages acknowledged to publishers, messages received by consumers,
the times at which each site served, and the changing commands that arrived. It shares no code with the engine and never
asks a device. No decision may use the account.

Moments are seconds of world time, counted from the world's start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from simulator.world.intervals import Numbers, Run

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class CommandKey:
    """One changing command as a site received it."""

    site: str
    action: str
    args: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class CommandCount:
    """How often a command arrived, and how often it had an effect. A refused or needless command has no effect."""

    received: int = 0
    effects: int = 0


@dataclass(frozen=True, slots=True)
class RoleChange:
    """A site took or gave up activity, ``by`` a command or by another operator."""

    moment: float
    site: str
    role: str
    by: str = "command"


@dataclass(frozen=True, slots=True)
class Completion:
    """A transaction was completed at a site: ``by`` a command, the transaction manager, or the mate's replication."""

    moment: float
    site: str
    xid: str
    outcome: str
    by: str


@dataclass(frozen=True, slots=True)
class Tally:
    """The account of one message VPN at one moment.

    ``lost``: messages acknowledged to a publisher, not received by a consumer, and not held by a site that can
    deliver them. ``stranded``: the lost messages that a site which does not serve still holds. ``waiting``: messages
    that a consumer can still get. ``duplicated``: deliveries after the first one. ``out_of_order``: messages first
    delivered after a later message. ``both_active``: intervals with two active sites. ``outages``: intervals without
    an active site.
    """

    vpn: str
    acknowledged: int
    received: int
    waiting: int
    lost: int
    stranded: int
    duplicated: int
    out_of_order: int
    both_active: tuple[Interval, ...]
    outages: tuple[Interval, ...]
    roles: tuple[RoleChange, ...]
    completions: tuple[Completion, ...]
    commands: Mapping[CommandKey, CommandCount]

    @property
    def outage_seconds(self) -> float:
        """The total time without a serving site."""
        return sum(end - start for start, end in self.outages)

    @property
    def mixed_transactions(self) -> tuple[str, ...]:
        """Transactions that were committed at one site and rolled back at another."""
        outcomes: dict[str, set[str]] = {}
        for one in self.completions:
            outcomes.setdefault(one.xid, set()).add(one.outcome)
        return tuple(sorted(xid for xid, found in outcomes.items() if len(found) > 1))


class Ledger:
    """The records about one message VPN while time runs."""

    __slots__ = (
        "acknowledged",
        "activity",
        "commands",
        "completions",
        "duplicated",
        "out_of_order",
        "received",
        "roles",
        "vpn",
    )

    def __init__(self, vpn: str) -> None:
        self.vpn = vpn
        self.acknowledged = Numbers()
        self.received = Numbers()
        self.duplicated = 0
        self.out_of_order = 0
        self.activity: list[tuple[float, tuple[str, ...]]] = []
        self.roles: list[RoleChange] = []
        self.completions: list[Completion] = []
        self.commands: dict[CommandKey, CommandCount] = {}

    def acknowledge(self, start: int, stop: int) -> None:
        """These messages were acknowledged to publishers."""
        self.acknowledged.add(start, stop)

    def deliver(self, runs: Iterable[Run]) -> None:
        """A consumer received these messages, in this order."""
        for start, stop in runs:
            highest = self.received.highest
            if highest is not None and start <= highest:
                again = sum(b - a for a, b in self.received.within(start, stop))
                self.duplicated += again
                self.out_of_order += min(stop, highest + 1) - start - again
            self.received.add(start, stop)

    def note_active(self, moment: float, sites: tuple[str, ...]) -> None:
        """From ``moment`` on exactly these sites serve clients."""
        if not self.activity or self.activity[-1][1] != sites:
            self.activity.append((moment, sites))

    def note_role(self, moment: float, site: str, role: str, by: str = "command") -> None:
        """A site's role changed."""
        self.roles.append(RoleChange(moment, site, role, by))

    def note_completion(self, moment: float, site: str, xid: str, outcome: str, by: str) -> None:
        """A transaction ended at a site."""
        self.completions.append(Completion(moment, site, xid, outcome, by))

    def note_command(self, site: str, action: str, args: Mapping[str, str], *, effect: bool) -> None:
        """A changing command arrived."""
        key = CommandKey(site, action, tuple(sorted(args.items())))
        so_far = self.commands.get(key, CommandCount())
        self.commands[key] = CommandCount(so_far.received + 1, so_far.effects + effect)

    def tally(self, now: float, deliverable: Numbers, held: Numbers) -> Tally:
        """The account at ``now``. ``deliverable``: messages that serving sites hold. ``held``: messages that any site
        holds."""
        outstanding = self.acknowledged.without(self.received)
        lost = outstanding.without(deliverable)
        return Tally(
            vpn=self.vpn,
            acknowledged=self.acknowledged.count,
            received=self.received.count,
            waiting=outstanding.count - lost.count,
            lost=lost.count,
            stranded=lost.count - lost.without(held).count,
            duplicated=self.duplicated,
            out_of_order=self.out_of_order,
            both_active=self._spans(now, lambda sites: len(sites) > 1),
            outages=self._spans(now, lambda sites: not sites),
            roles=tuple(self.roles),
            completions=tuple(self.completions),
            commands=dict(self.commands),
        )

    def dump(self) -> dict[str, Any]:
        """Plain data for the world's file."""
        return {
            "acknowledged": list(self.acknowledged),
            "received": list(self.received),
            "duplicated": self.duplicated,
            "out_of_order": self.out_of_order,
            "activity": [[moment, list(sites)] for moment, sites in self.activity],
            "roles": [[one.moment, one.site, one.role, one.by] for one in self.roles],
            "completions": [[c.moment, c.site, c.xid, c.outcome, c.by] for c in self.completions],
            "commands": [
                [key.site, key.action, [list(arg) for arg in key.args], count.received, count.effects]
                for key, count in self.commands.items()
            ],
        }

    @classmethod
    def load(cls, vpn: str, data: Mapping[str, Any]) -> Ledger:
        """The ledger that ``dump`` wrote. Raises KeyError, TypeError or ValueError for other data."""
        ledger = cls(vpn)
        ledger.acknowledged = Numbers((int(a), int(b)) for a, b in data["acknowledged"])
        ledger.received = Numbers((int(a), int(b)) for a, b in data["received"])
        ledger.duplicated = int(data["duplicated"])
        ledger.out_of_order = int(data["out_of_order"])
        ledger.activity = [(float(moment), tuple(sites)) for moment, sites in data["activity"]]
        ledger.roles = [RoleChange(float(moment), site, role, by) for moment, site, role, by in data["roles"]]
        ledger.completions = [
            Completion(float(m), site, xid, end, by) for m, site, xid, end, by in data["completions"]
        ]
        for site, action, args, received, effects in data["commands"]:
            key = CommandKey(site, action, tuple((str(name), str(value)) for name, value in args))
            ledger.commands[key] = CommandCount(int(received), int(effects))
        return ledger

    def _spans(self, now: float, wanted: Callable[[tuple[str, ...]], bool]) -> tuple[Interval, ...]:
        spans = pairwise([*self.activity, (now, ())])
        return tuple((start, end) for (start, sites), (end, _) in spans if wanted(sites) and end > start)
