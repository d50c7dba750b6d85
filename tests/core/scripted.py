"""A replicated pair in memory, for the core's tests: two sites, roles, bridge, replication queue, transactions.

Its effects follow its own few rules, never what a runbook expects, and it keeps its own account of what took effect,
so that a test can judge an engine by the pair and not by the engine's words. Time is the injected clock's. It must
never import the engine or the decisions.

Rules: the queue's depth stands still while the source is active, and falls by ``rate`` a second while it is standby
and the bridge is bound; a site takes any role it is told; completing a prepared transaction shows it complete at both
sites; deleting removes it at one site. What an action did shows in readings ``lag`` seconds later.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import ClassVar

from adapters.solace.reading_models import (
    Bridge,
    QueueDepth,
    ReplicationStatus,
    Transaction,
    Transactions,
    TransactionState,
)
from orchestrator.clock import VirtualClock
from orchestrator.errors import AdapterError, CommandRejected, Forbidden, NoSuchService, NotObeyed, Unreachable
from orchestrator.family.contract import ActionSpec, ArgumentSpec, Call, Permit, ReadingSpec, Result
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading
from orchestrator.model.readings import Role
from orchestrator.model.runbook import Side

SIDES: tuple[Side, Side] = ("source", "target")


@dataclass(frozen=True, slots=True)
class Took:
    """An action that took effect: the pair's own account, independent of what anybody was told."""

    at: float
    side: Side
    action: str
    service: str
    args: tuple[tuple[str, str], ...]
    depth: float  # what the source's replication queue held at that moment
    drained: bool  # was it once empty, with the bridge bound, since the source gave up activity?
    roles: tuple[Role, Role]  # source and target, just before
    heard: int  # how many requests had reached the pair by then


@dataclass(frozen=True, slots=True)
class Heard:
    """A request that reached a site, whatever became of it."""

    at: float
    side: Side
    verb: str
    services: tuple[str, ...]
    args: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class _Mishap:
    """The next ``times`` calls of ``verb`` go wrong. ``obeyed``: it takes effect nevertheless, ``late`` seconds on."""

    verb: str
    side: Side | None
    error: AdapterError
    obeyed: bool
    late: float
    skip: int
    times: int

    def strikes(self, verb: str, side: Side) -> bool:
        if verb != self.verb or self.side not in (None, side) or self.times == 0:
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


@dataclass(slots=True)
class PairedService:
    """One service at both sites."""

    roles: dict[Side, Role] = field(default_factory=lambda: {"source": Role.ACTIVE, "target": Role.STANDBY})
    link: Bridge = Bridge.BOUND
    depth: float = 0.0
    rate: float = 100.0
    since: float = 0.0
    drained: bool = False
    transactions: dict[Side, dict[str, Transaction]] = field(default_factory=lambda: {"source": {}, "target": {}})

    @property
    def bound(self) -> bool:
        return self.link is Bridge.BOUND

    def snapshot(self) -> PairedService:
        return replace(
            self, roles=dict(self.roles), transactions={on: dict(ids) for on, ids in self.transactions.items()}
        )

    def flow(self, now: float) -> None:
        """Let the queue drain up to ``now``."""
        if self.bound and self.roles["source"] is Role.STANDBY:
            # Rounded, or the last millionth of a message would still be there when the queue is read as empty.
            self.depth = max(0.0, round(self.depth - self.rate * (now - self.since), 4))
            self.drained = self.drained or self.depth == 0
        self.since = now

    def two_active(self) -> bool:
        return all(role is Role.ACTIVE for role in self.roles.values())


class ScriptedPair:
    """Both sites of some services. ``depth`` messages wait for the mate at first, ``rate`` can leave in a second."""

    def __init__(
        self,
        clock: VirtualClock,
        services: Sequence[str] = ("Trading",),
        *,
        depth: float = 100.0,
        rate: float = 100.0,
        lag: float = 0.0,
    ) -> None:
        self.clock = clock
        self.services = {name: PairedService(depth=float(depth), rate=rate, since=clock.now()) for name in services}
        self.lag = lag
        self._past: dict[str, list[tuple[float, PairedService]]] = {name: [] for name in self.services}
        self.took: list[Took] = []
        self.heard: list[Heard] = []
        self.closed: list[Side] = []
        self.mishaps: list[_Mishap] = []
        self._script: list[tuple[float, Callable[[], None]]] = []
        self._reactions: dict[tuple[Side, str], tuple[float, Callable[[], None]]] = {}
        self._happening_at: float | None = None
        self.answer: dict[tuple[Side, str], Callable[[str], Reading | Failure | None]] = {}

    # --- what a test may arrange ----------------------------------------------------------------------------------

    def site(self, side: Side) -> ScriptedSite:
        return ScriptedSite(self, side)

    def adapters(self) -> dict[Side, ScriptedSite]:
        return {side: self.site(side) for side in SIDES}

    def fail(
        self,
        verb: str,
        error: AdapterError,
        *,
        on: Side | None = None,
        obeyed: bool = False,
        late: float = 0.0,
        skip: int = 0,
        times: int = 1,
    ) -> None:
        """After ``skip`` calls of the reading or action ``verb``, the next ``times`` end with ``error``."""
        self.mishaps.append(_Mishap(verb, on, error, obeyed, late, skip, times))

    def after(self, seconds: float, happening: Callable[[], None]) -> None:
        """Let something happen ``seconds`` from now; it is seen by whatever is asked or told later."""
        self._script.append((self._moment() + seconds, happening))
        self._script.sort(key=lambda entry: entry[0])

    def once_told(self, verb: str, side: Side, seconds: float, happening: Callable[[], None]) -> None:
        """Let something happen ``seconds`` after the first time ``verb`` takes effect at ``side``."""
        self._reactions[(side, verb)] = (seconds, happening)

    def lose_bridge(self, service: str = "Trading") -> None:
        self._set_link(service, Bridge.DOWN)

    def mend_bridge(self, service: str = "Trading") -> None:
        self._set_link(service, Bridge.BOUND)

    def _set_link(self, service: str, link: Bridge) -> None:
        one = self.services[service]
        one.flow(self._moment())
        one.link = link

    def _moment(self) -> float:
        """The world's own time: inside a happening, the moment at which it was to happen."""
        return self.clock.now() if self._happening_at is None else self._happening_at

    def prepare(self, xid: str, service: str = "Trading", *, replicated: bool = True) -> None:
        """A transaction that was prepared at the source, and is known at the target as replicated ones are."""
        one = Transaction(xid=xid, state=TransactionState.PREPARED, type="xa", replicated=replicated)
        sides: tuple[Side, ...] = SIDES if replicated else ("source",)
        for side in sides:
            self.services[service].transactions[side][xid] = one

    def catch_up(self) -> None:
        """Let the world run up to the clock."""
        while self._script and self._script[0][0] <= self.clock.now():
            moment, happening = self._script.pop(0)
            for one in self.services.values():
                one.flow(max(moment, one.since))
            self._happening_at = moment
            happening()
            self._happening_at = None
        for one in self.services.values():
            one.flow(self.clock.now())

    # --- what the sites do ----------------------------------------------------------------------------------------

    def next_mishap(self, verb: str, side: Side) -> _Mishap | None:
        return next((one for one in self.mishaps if one.strikes(verb, side)), None)

    def take_effect(self, side: Side, action: str, call: Call) -> None:
        """Raises ``CommandRejected`` when the rules say no."""
        one = self.services[call.service]
        one.flow(self._moment())
        before = one.snapshot()
        roles = (one.roles["source"], one.roles["target"])
        match action:
            case "set_role":
                one.roles[side] = Role(call.args["role"])
                one.drained = one.drained and one.roles["source"] is Role.STANDBY
            case "complete_transaction":
                self._complete(one, side, call.args["xid"])
            case "delete_transaction":
                self._delete(one, side, call.args["xid"])
            case "nudge":
                pass
            case _:
                raise CommandRejected(f"unknown command {action}", device=side)
        self._past[call.service].append((self._moment() + self.lag, before))
        args, heard = tuple(sorted(call.args.items())), len(self.heard)
        self.took.append(Took(self._moment(), side, action, call.service, args, one.depth, one.drained, roles, heard))
        reaction = self._reactions.pop((side, action), None)
        if reaction is not None:
            self.after(*reaction)

    def take_effect_if_possible(self, side: Side, action: str, call: Call) -> None:
        """The effect of a command whose answer nobody waits for any more."""
        with suppress(CommandRejected):
            self.take_effect(side, action, call)

    @staticmethod
    def _complete(one: PairedService, side: Side, xid: str) -> None:
        known = one.transactions[side].get(xid)
        if known is None or known.state is not TransactionState.PREPARED:
            raise CommandRejected(f"{xid} is not prepared", device=side)
        for listed in one.transactions.values():
            if xid in listed:
                listed[xid] = known.model_copy(update={"state": TransactionState.COMPLETE})

    @staticmethod
    def _delete(one: PairedService, side: Side, xid: str) -> None:
        known = one.transactions[side].get(xid)
        if known is None or known.state is not TransactionState.COMPLETE:
            raise CommandRejected(f"{xid} is not complete", device=side)
        del one.transactions[side][xid]

    def look(self, side: Side, reading: str, service: str) -> Reading | Failure:
        override = self.answer.get((side, reading))
        said = None if override is None else override(service)
        if said is not None:
            return said
        one = self._shown(service)
        if one is None:
            return Failure.of(NoSuchService(f"there is no {service}", device=side))
        match reading:
            case "replication":
                return _status(one, self.services[service].link, side)
            case "replication_queue":
                return QueueDepth(messages=math.ceil(self.services[service].depth))
            case "transactions":
                return Transactions(items=tuple(one.transactions[side].values()))
            case _:
                raise ValueError(f"no such reading: {reading}")

    def _shown(self, service: str) -> PairedService | None:
        """The service as readings show it: without what took effect less than ``lag`` ago."""
        if service not in self.services:
            return None
        hidden = (before for visible_at, before in self._past[service] if visible_at > self.clock.now())
        return next(hidden, self.services[service])


def _status(one: PairedService, link: Bridge, side: Side) -> ReplicationStatus:
    role, bound = one.roles[side], link is Bridge.BOUND
    if role is Role.STANDBY:
        return ReplicationStatus(enabled=True, role=role, bridge=link)
    return ReplicationStatus(
        enabled=True, role=role, queue_bound=bound, remote_bridge_up=link is not Bridge.DOWN, sync_eligible=bound
    )


def _nothing(_: object) -> Sequence[str]:
    return ()


def _line(call: Call) -> Sequence[str]:
    return (" ".join((call.service, *call.args.values())),)


class ScriptedSite:
    """One site of the pair, as an adapter."""

    simulated: ClassVar[bool] = True
    readings: ClassVar[Mapping[str, ReadingSpec]] = {
        name: ReadingSpec(name, name, commands=_nothing)
        for name in ("replication", "replication_queue", "transactions")
    }
    actions: ClassVar[Mapping[str, ActionSpec]] = {
        "set_role": ActionSpec(
            "set_role",
            "change the role",
            idempotent=True,
            commands=_line,
            arguments={"role": ArgumentSpec(choices=("active", "standby"))},
            inverse="set_role",
        ),
        "complete_transaction": ActionSpec(
            "complete_transaction",
            "commit or roll back",
            idempotent=False,
            commands=_line,
            arguments={
                "xid": ArgumentSpec(filled_by="item"),
                "outcome": ArgumentSpec(choices=("commit", "rollback"), filled_by="decision"),
            },
        ),
        "delete_transaction": ActionSpec(
            "delete_transaction",
            "delete",
            idempotent=False,
            commands=_line,
            arguments={"xid": ArgumentSpec(filled_by="item")},
        ),
        "nudge": ActionSpec("nudge", "does nothing that shows", idempotent=True, commands=_line),
    }

    def __init__(self, pair: ScriptedPair, side: Side) -> None:
        self.pair = pair
        self.side = side

    def open(self) -> None:
        """There is no session to make."""

    def probe(self, reading: str, services: Sequence[str]) -> Mapping[str, Reading | Failure]:
        self.pair.catch_up()
        self.pair.heard.append(Heard(self.pair.clock.now(), self.side, reading, tuple(services)))
        mishap = self.pair.next_mishap(reading, self.side)
        if mishap is not None:
            raise mishap.error
        return {service: self.pair.look(self.side, reading, service) for service in services}

    def apply(self, action: str, calls: Sequence[Call], permit: Permit) -> Iterator[Result]:
        for call in calls:
            try:
                permit.check()
            except Forbidden as error:
                yield Result.of(call, error)
                continue
            self.pair.catch_up()
            yield self._one(action, call)

    def _one(self, action: str, call: Call) -> Result:
        mishap = self.pair.next_mishap(action, self.side)
        if mishap is None or not isinstance(mishap.error, Unreachable):
            args = tuple(sorted(call.args.items()))
            self.pair.heard.append(Heard(self.pair.clock.now(), self.side, action, (call.service,), args))
        sent = tuple(self.actions[action].commands(call))
        try:
            if mishap is None:
                self.pair.take_effect(self.side, action, call)
                return Result(call, Effect.ACCEPTED, device=self.side, sent=sent)
            if mishap.obeyed and mishap.late:
                self.pair.after(mishap.late, lambda: self.pair.take_effect_if_possible(self.side, action, call))
            elif mishap.obeyed:
                self.pair.take_effect(self.side, action, call)
            raise mishap.error
        except AdapterError as error:
            left = not isinstance(error, NotObeyed) or isinstance(error, CommandRejected)
            return replace(Result.of(call, error, sent if left else ()), device=self.side)

    def close(self) -> None:
        self.pair.closed.append(self.side)


class Free:
    """A permit that never refuses, or always does."""

    def __init__(self, why: str = "") -> None:
        self.why = why

    def check(self) -> None:
        if self.why:
            raise Forbidden(self.why)
