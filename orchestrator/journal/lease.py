"""Who may act: claims on services, and the lease of a run with its epoch.

A *claim* ties a service to one unfinished run, so that two runs never move the same service. A *lease* says which
process leads a run. Taking the lease raises the epoch. The journal refuses every append under a lower epoch, and the
permit stops a command at the last moment before it leaves. So a process that was stopped until its lease expired can
change nothing. Its permit has expired by its own clock. The journal tells it of the higher epoch, even if clocks
differ. Its intents no longer get on disk.

One clock decides when a lease has ended: the clock of the database's server, if there is a server, else the machine's
clock. By that clock no lease can end later than a full lease from now. So a bastion whose clock is ahead blocks others
for no longer than that. If that bastion still leads, the higher epoch stops it.

Limit: a command that has left cannot be undone. If a process is stopped between the answer of its permit and the write
to its socket, it sends that one command when it continues. Devices know nothing of epochs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from orchestrator.clock import Clock
from orchestrator.errors import Forbidden, JournalError, JournalLost, LeaseHeld, LeaseLost
from orchestrator.journal.database import statements as sql
from orchestrator.journal.database.database import Database, Transaction
from orchestrator.journal.errors import lost, mapped_errors, taken_over
from orchestrator.journal.idempotency_keys import use_up
from orchestrator.journal.journal import Journal, RunRow, Writer, head_if_any, head_of
from orchestrator.journal.process_identity import holder_is_dead, holder_name
from orchestrator.model import events as ev
from orchestrator.model.places import service_place

LEASE_SECONDS = 15.0
# How far apart the clocks of two bastions may be, seconds. If a lease ends later than a new lease plus this value, the
# clock that wrote it is wrong.
CLOCKS_APART = 15.0
# A command must not leave so late that it takes effect when another process may already act.
_MARGIN = 2.0
# The prefix of each claim. Version 0.1.0 put the family of the runbook here, so that runbooks of two families could
# move one service.
_CLAIM = "service/"


def service_key(plan: ev.Plan, service: str) -> str:
    """The key of a service. It is equal for all inventories that name the service on the same devices, and for all
    runbooks."""
    sites = [site for site in plan.inventory.sites.values() if site.name in (plan.source, plan.target)]
    return _CLAIM + service_place(service, sites)


class Lease:
    """The right to lead one run, held by this process until ``expires_at``. Made by ``create_run`` and ``take``."""

    def __init__(self, journal: Journal, clock: Clock, run: str, epoch: int, expires_at: float) -> None:
        self._journal = journal
        self._clock = clock
        self.run = run
        self.epoch = epoch
        self.expires_at = expires_at

    def check(self) -> None:
        """Permit: return if a command may leave now. Raises ``Forbidden``. Any thread may call it.

        The journal is asked first. It must still have the last record, since another process may have taken over by a
        clock that is ahead of ours. If the journal does not answer, it is asked again while this lease lasts. This
        process's own clock is checked last, since the journal may take time to answer.
        """
        see = f"see who leads it: `failover runs show {self.run}`"
        try:
            self._journal.insist(lambda: self._journal.confirm(self.run, self.epoch), lambda: self._last_moment)
        except LeaseLost as error:
            raise Forbidden(f"{error}, so the command was not sent", hint=see) from error
        except JournalLost as error:
            raise Forbidden(f"{error}, so the command was not sent", hint=error.hint) from error
        except JournalError as error:
            raise Forbidden(
                f"it is unknown whether this process still leads run {self.run}, so the command was not sent: {error}"
            ) from error
        if self._clock.now() > self._last_moment:
            raise Forbidden(f"the lease on run {self.run} has expired, so the command was not sent", hint=see)

    @property
    def _last_moment(self) -> float:
        """The last moment at which a command may leave, by this process's clock."""
        return self.expires_at - _MARGIN

    def revoke(self) -> None:
        """From now on no command may leave, not even a waiting one."""
        self.expires_at = 0.0

    @property
    def renew_at(self) -> float:
        """The time to renew, when two thirds of the lease are still left."""
        return self.expires_at - LEASE_SECONDS * 2 / 3

    def renew(self) -> None:
        """Keep the lease for another ``LEASE_SECONDS``. Raises ``LeaseLost`` if another process took over."""
        self.expires_at = self._journal.insist(self._renewed)

    def _renewed(self) -> float:
        """The new end of the lease. By our own clock the lease starts before the journal is asked, so it ends no later
        than in the journal."""
        now = self._clock.now()
        with mapped_errors("be written"), self._journal.database.writing() as commit:
            change = {"b_run": self.run, "b_epoch": self.epoch, "b_now": now, "b_seconds": LEASE_SECONDS}
            if commit.run(sql.RENEW, [change]) != 1:
                found = head_if_any(commit, self.run)
                raise lost(self.run) if found is None or found.epoch < self.epoch else taken_over(self.run)
        return now + LEASE_SECONDS

    def release(self, settled: Sequence[str] = ()) -> None:
        """End the lease at once, so that other processes need not wait for its expiry. A lease lost meanwhile is no
        error.

        ``settled``: the keys of services whose lanes ended permanently. They are free for other runs.
        """
        self._journal.insist(lambda: self._released(settled))

    def _released(self, settled: Sequence[str]) -> None:
        with mapped_errors("be written"), self._journal.database.writing() as commit:
            commit.run(sql.LET_GO, [{"b_run": self.run, "b_epoch": self.epoch}])
            if settled:
                commit.run(sql.RELEASE_CLAIM, [{"b_run": self.run, "b_service": key} for key in settled])
            left = commit.ask(sql.CLAIMS_OF, {"b_run": self.run})
        if not left:
            self._journal.let_go(self.run)


def create_run(
    journal: Journal,
    clock: Clock,
    run: str,
    created: ev.RunCreated,
    *,
    key: str | None = None,
    asked: str | None = None,
) -> tuple[Lease, Writer]:
    """Record a new run, claim its services, register its hooks for all its records, and lead it: one transaction.

    ``key`` is the caller's own name for this request, ``asked`` the content of the request
    (``idempotency_keys.stored``). Of all calls with the same key, at most one starts a run. Raises ``KeyUsed`` for the
    others, ``LeaseHeld``.
    """
    now = clock.now()
    keys = {service_key(created.plan, service): service for service in created.plan.services}
    journal.prepare(run)
    with mapped_errors("be written"), journal.database.writing() as commit:
        if key is not None:
            use_up(journal, commit, key, run, asked)
        _claim(commit, run, keys, now)
        writer = journal.create(commit, run, created, now, holder=holder_name(), lease_s=LEASE_SECONDS)
        hooks = [{"run": run, "hook": hook.name, "seq": 0, "failed": ""} for hook in created.plan.inventory.hooks]
        if hooks:
            commit.run(sql.ADD_DELIVERIES, hooks)
    return Lease(journal, clock, run, writer.epoch, now + LEASE_SECONDS), journal.led(writer)


def take(journal: Journal, clock: Clock, run: str, services: Mapping[str, str]) -> tuple[Lease, Writer]:
    """Lead an existing run from now on, under a higher epoch. ``services``: the services it still moves, by service
    key.

    Raises ``LeaseHeld`` while another process leads it, or if another run has claimed one of the services.
    """
    now = clock.now()
    journal.prepare(run)
    with mapped_errors("be written"), journal.database.writing() as commit:
        row = head_of(commit, run)
        if is_led(row, now):
            raise LeaseHeld(
                f"run {run} is led by {leader(row, now)}",
                hint=f"see what the run waits for with `failover runs show {run}`; if that process no longer runs, its"
                f" lease ends by itself in {lease_left(row, now):.0f}s",
            )
        held = {key for (key,) in commit.ask(sql.CLAIMS_OF, {"b_run": run})}
        earlier = [key for key in held if not key.startswith(_CLAIM)]
        if earlier:
            commit.run(sql.RELEASE_CLAIM, [{"b_run": run, "b_service": key} for key in earlier])
        missing = {key: name for key, name in services.items() if key not in held}
        _claim(commit, run, missing, now)
        heir = {"new_epoch": row.epoch + 1, "new_holder": holder_name(), "b_now": now, "b_seconds": LEASE_SECONDS}
        if commit.run(sql.TAKE_LEASE, [{"b_run": run, "b_epoch": row.epoch, **heir}]) != 1:
            raise LeaseHeld(f"another process took run {run} at the same moment")
        journal.database.guard_files()
        writer = Writer(run, row.epoch + 1, row.seq, row.head)
    return Lease(journal, clock, run, writer.epoch, now + LEASE_SECONDS), journal.led(writer)


def is_led(row: RunRow | sql.Head, now: float) -> bool:
    """Does a process lead this run, by its lease? ``now``: by our clock, used where the row has no better time."""
    return 0 < lease_left(row, now) <= LEASE_SECONDS + CLOCKS_APART and not holder_is_dead(row.holder)


def lease_left(row: RunRow | sql.Head, now: float) -> float:
    """Seconds until the lease ends if it is not renewed, by the clock that leases go by."""
    return row.expires_at - (now if row.read_at is None else row.read_at)


def leader(row: RunRow | sql.Head, now: float) -> str:
    """The process that leads this run, and when its lease was last renewed. A process on another machine may have died
    since."""
    return f"{row.holder.split()[0]}, last heard of {max(0.0, LEASE_SECONDS - lease_left(row, now)):.0f}s ago"


def claims(journal: Journal) -> dict[str, str]:
    """The run that has claimed each service, by ``service_key``, for all runs that have not ended."""
    with mapped_errors("be read"):
        return dict(_claimed(journal.database))


def _claimed(read: Transaction | Database) -> list[tuple[str, str]]:
    """Every claim: the key of a service, and its run."""
    return [(_CLAIM + key.partition("/")[2], run) for key, run in read.ask(sql.CLAIMED, {})]


def _claim(commit: Transaction, run: str, keys: Mapping[str, str], now: float) -> None:
    _refuse_claimed(commit, keys, now)
    if not keys:
        return
    try:
        commit.run(sql.ADD_CLAIMS, [{"service": key, "run": run} for key in keys])
    except sa.exc.IntegrityError as error:  # only PostgreSQL: there, writers do not wait for each other
        names = ", ".join(keys.values())
        raise LeaseHeld(
            f"another run has just claimed one of these services: {names}", hint="see `failover runs list`"
        ) from error


def _refuse_claimed(commit: Transaction, keys: Mapping[str, str], now: float) -> None:
    if not keys:
        return
    # A query for each service would be a thousand queries for a thousand services; the table holds only unfinished
    # runs.
    claimed = {key: run for key, run in _claimed(commit) if key in keys}
    if not claimed:
        return
    key, run = next(iter(claimed.items()))
    found = [sql.Head(*row) for row in commit.ask(sql.HEAD, {"b_run": run})]
    led = [row for row in found if is_led(row, now)]
    if led:
        state = f"which {led[0].holder.split()[0]} leads"
        hint = f"wait until the run ends (`failover runs show {run}`), or roll it back: `failover abort {run}`"
    else:
        state = "which is unfinished, and no process leads the run"
        hint = f"resume the run: `failover resume {run}`; or roll it back: `failover abort {run}`"
    raise LeaseHeld(f"{keys[key]} belongs to run {run}, {state}", hint=hint)
