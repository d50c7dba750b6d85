"""Who may act: claims on services, and the lease of a run with its epoch.

A *claim* ties a service to one unfinished run, so that two runs never move the same service. A *lease* says which
process leads a run. Taking it raises the epoch; the journal refuses every append under a lower one, and the permit
stops a command at the last moment before it leaves. A process that slept through its lease can therefore change
nothing: its permit has run out by its own clock, the journal tells it of the higher epoch even where clocks differ,
and its intents no longer get on disk.

What this cannot do: take back a command that has left. A process that is stopped between the answer of its permit and
the write to its socket sends that one command when it goes on; no device knows of epochs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

import sqlalchemy as sa

from orchestrator import events as ev
from orchestrator import statements as sql
from orchestrator.clock import Clock
from orchestrator.database import Database, Transaction
from orchestrator.errors import Forbidden, JournalError, KeyUsed, LeaseHeld, LeaseLost
from orchestrator.holder import holder_is_dead, holder_name
from orchestrator.journal import Journal, RunRow, Writer, head_of, mapped_errors
from orchestrator.site import Device, Site, is_this_machine

LEASE_SECONDS = 15.0
# A command must not leave so late that its effect could come after somebody else may act.
_MARGIN = 2.0
# Characters of a place that are kept as they are: with family and service it fits into the column of a server.
_PLACE_MAX = 300


def service_key(plan: ev.Plan, service: str) -> str:
    """The same for every inventory that names the same service on the same devices."""
    sites = [site for site in plan.inventory.sites.values() if site.name in (plan.source, plan.target)]
    return f"{plan.runbook.family}/{service_place(service, sites)}"


def service_place(service: str, sites: Iterable[Site]) -> str:
    """Which service this is, whatever the inventory calls the sites it is at, and however it speaks to them.

    What it cannot know: that a host's name and its address are the same device.
    """
    devices = sorted(_place(device) + str(site.options.get("world", "")) for site in sites for device in site.devices)
    place = ",".join(devices)
    if len(place) > _PLACE_MAX:
        place = f"sha256:{sha256(place.encode()).hexdigest()}"
    return f"{service}@{place}"


def _place(device: Device) -> str:
    """A device is the same over every port; but on this machine, where labs and tunnels have one address for all."""
    host = (device.address or device.name).lower()
    return f"{host}:{device.port}" if is_this_machine(host) else host


class Lease:
    """The right to lead one run, held by this process until ``expires_at``. Made by ``create_run`` and ``take``."""

    def __init__(self, journal: Journal, clock: Clock, run: str, epoch: int, expires_at: float) -> None:
        self._journal = journal
        self._clock = clock
        self.run = run
        self.epoch = epoch
        self.expires_at = expires_at

    def check(self) -> None:
        """Permit: return if a command may leave now. Raises ``Forbidden``.

        By this process's own clock, and by the journal: whoever took over may have done so by a clock that is ahead
        of ours. The clock is asked last, since the journal may take its time to answer. Any thread may ask.
        """
        try:
            epoch = self._journal.epoch(self.run)
        except JournalError as error:
            raise Forbidden(
                f"whether run {self.run} is still ours is not known, so the command was not sent: {error}"
            ) from error
        if epoch != self.epoch:
            raise Forbidden(
                f"run {self.run} is led by another process now, so the command was not sent",
                hint=f"see who leads it: `failover runs show {self.run}`",
            )
        if self._clock.now() > self.expires_at - _MARGIN:
            raise Forbidden(
                f"the lease on run {self.run} has run out, so the command was not sent",
                hint=f"see who leads it: `failover runs show {self.run}`",
            )

    def revoke(self) -> None:
        """From now on nothing may leave, whatever is still waiting to be sent."""
        self.expires_at = 0.0

    @property
    def renew_at(self) -> float:
        """When to renew, with two thirds of the time still left."""
        return self.expires_at - LEASE_SECONDS * 2 / 3

    def renew(self) -> None:
        """Hold on for another ``LEASE_SECONDS``. Raises ``LeaseLost`` if somebody took over."""
        expires_at = self._clock.now() + LEASE_SECONDS
        with mapped_errors("be written"), self._journal.database.writing() as commit:
            if not self._set_expiry(commit, expires_at):
                raise LeaseLost(f"run {self.run} is led by another process now")
        self.expires_at = expires_at

    def release(self, settled: Sequence[str] = ()) -> None:
        """Let go at once, so that nobody has to wait for the expiry. Losing it meanwhile is no error.

        ``settled``: the keys of services whose lanes ended for good; they are free for other runs.
        """
        with mapped_errors("be written"), self._journal.database.writing() as commit:
            self._set_expiry(commit, 0.0)
            if settled:
                commit.run(sql.RELEASE_CLAIM, [{"b_run": self.run, "b_service": key} for key in settled])

    def _set_expiry(self, commit: Transaction, expires_at: float) -> bool:
        """Is the lease still ours to change?"""
        change = {"b_run": self.run, "b_epoch": self.epoch, "new_expires_at": expires_at}
        return commit.run(sql.SET_EXPIRY, [change]) == 1


def create_run(
    journal: Journal, clock: Clock, run: str, created: ev.RunCreated, *, key: str | None = None
) -> tuple[Lease, Writer]:
    """Record a new run, claim its services, owe its hooks everything, and lead it: one transaction.

    ``key`` is the caller's own name for this wish; of all calls with the same one, at most one begins a run. Raises
    ``KeyUsed`` for the others, ``LeaseHeld``.
    """
    now = clock.now()
    expires_at = now + LEASE_SECONDS
    keys = {service_key(created.plan, service): service for service in created.plan.services}
    with mapped_errors("be written"), journal.database.writing() as commit:
        if key is not None:
            _use_up(journal, commit, key, run)
        _claim(commit, run, keys, now)
        writer = journal.create(commit, run, created, now, holder=holder_name(), expires_at=expires_at)
        hooks = [{"run": run, "hook": hook.name, "seq": 0, "failed": ""} for hook in created.plan.inventory.hooks]
        if hooks:
            commit.run(sql.ADD_DELIVERIES, hooks)
    return Lease(journal, clock, run, writer.epoch, expires_at), writer


def run_of_key(journal: Journal, key: str) -> str | None:
    """The run that ``key`` began, or None."""
    with mapped_errors("be read"):
        return _run_of_key(journal.database, key)


def _run_of_key(read: Transaction | Database, key: str) -> str | None:
    found = read.ask(sql.RUN_OF_KEY, {"b_key": key})
    return str(found[0][0]) if found else None


def _use_up(journal: Journal, commit: Transaction, key: str, run: str) -> None:
    first = _run_of_key(commit, key)
    if first is None:
        try:
            commit.run(sql.ADD_KEY, [{"key": key, "run": run}])
            return
        except sa.exc.IntegrityError:  # only where writers do not wait for each other: PostgreSQL
            first = run_of_key(journal, key)
    raise KeyUsed(f"the key {key!r} has begun run {first}", run=first or "", hint="see `failover runs show`")


def take(journal: Journal, clock: Clock, run: str, services: Mapping[str, str]) -> tuple[Lease, Writer]:
    """Lead an existing run from now on, under a higher epoch; ``services`` is what it still moves, by service key.

    Raises ``LeaseHeld`` while another process leads it, or if another run has claimed one of the services.
    """
    now = clock.now()
    expires_at = now + LEASE_SECONDS
    with mapped_errors("be written"), journal.database.writing() as commit:
        row = head_of(commit, run)
        if row.expires_at > now and not holder_is_dead(row.holder):
            raise LeaseHeld(
                f"run {run} is led by {leader(row, now)}",
                hint=f"see what it waits for with `failover runs show {run}`; if that process is gone, its lease ends by"
                f" itself in {row.expires_at - now:.0f}s",
            )
        held = {key for (key,) in commit.ask(sql.CLAIMS_OF, {"b_run": run})}
        missing = {key: name for key, name in services.items() if key not in held}
        _claim(commit, run, missing, now)
        heir = {"new_epoch": row.epoch + 1, "new_holder": holder_name(), "new_expires_at": expires_at}
        if commit.run(sql.TAKE_LEASE, [{"b_run": run, "b_epoch": row.epoch, **heir}]) != 1:
            raise LeaseHeld(f"another process took run {run} at the same moment")
        writer = Writer(run, row.epoch + 1, row.seq, row.head)
    return Lease(journal, clock, run, writer.epoch, expires_at), writer


def is_led(row: RunRow, now: float) -> bool:
    """Does a process lead this run now, as far as its lease tells?"""
    return row.expires_at > now and not holder_is_dead(row.holder)


def leader(row: RunRow | sql.Head, now: float) -> str:
    """Who leads this run, and when its lease was last renewed: a process on another machine may be gone since."""
    return f"{row.holder.split()[0]}, last heard of {max(0.0, now + LEASE_SECONDS - row.expires_at):.0f}s ago"


def claims(journal: Journal) -> dict[str, str]:
    """Which run has claimed which service, by ``service_key``: what the runs hold that are not at their end."""
    with mapped_errors("be read"):
        return dict(_claimed(journal.database))


def _claimed(read: Transaction | Database) -> list[tuple[str, str]]:
    """Every claim: the key of a service, and its run."""
    return [(key, run) for key, run in read.ask(sql.CLAIMED, {})]


def _claim(commit: Transaction, run: str, keys: Mapping[str, str], now: float) -> None:
    _refuse_claimed(commit, keys, now)
    if not keys:
        return
    try:
        commit.run(sql.ADD_CLAIMS, [{"service": key, "run": run} for key in keys])
    except sa.exc.IntegrityError as error:  # only where writers do not wait for each other: PostgreSQL
        names = ", ".join(keys.values())
        raise LeaseHeld(
            f"another run has just claimed one of these: {names}", hint="see `failover runs list`"
        ) from error


def _refuse_claimed(commit: Transaction, keys: Mapping[str, str], now: float) -> None:
    if not keys:
        return
    # One by one would be a thousand queries for a thousand services; the table holds only unfinished runs.
    claimed = {key: run for key, run in _claimed(commit) if key in keys}
    if not claimed:
        return
    key, run = next(iter(claimed.items()))
    found = [sql.Head(*row) for row in commit.ask(sql.HEAD, {"b_run": run})]
    led = [row for row in found if row.expires_at > now and not holder_is_dead(row.holder)]
    if led:
        state = f"which {led[0].holder.split()[0]} leads"
        hint = f"wait for its end (`failover runs show {run}`), or ask it to turn back: `failover abort {run}`"
    else:
        state = "unfinished, and led by nobody"
        hint = f"go on with it: `failover resume {run}`; or call it off: `failover abort {run}`"
    raise LeaseHeld(f"{keys[key]} belongs to run {run}, {state}", hint=hint)
