"""Guards removed one by one: permit, lease, epoch, claims, and who may lead."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

import orchestrator.statements as sql
from adapters.mock.adapter import MockAdapter
from adapters.mock.amps.adapter import MockAmpsAdapter
from orchestrator.engine import Engine
from orchestrator.lease import Lease, create_run, take
from orchestrator.tables import RUNS
from tests.proof.mutants.editing import edit
from tests.proof.mutants.swapping import Mutant

_OF_RUN: sa.BindParameter[str] = sa.bindparam("b_run")
_OF_EPOCH: sa.BindParameter[int] = sa.bindparam("b_epoch")
_AT_SEQ: sa.BindParameter[int] = sa.bindparam("b_seq")


def _of_any_epoch(_: Any) -> Any:
    return sa.update(RUNS).where(RUNS.c.run == _OF_RUN).values(expires_at=sa.bindparam("new_expires_at"))


def _appended_under_any_epoch(_: Any) -> Any:
    moved = sa.update(RUNS).where(RUNS.c.run == _OF_RUN, RUNS.c.seq == _AT_SEQ)
    return moved.values(seq=sa.bindparam("new_seq"), head=sa.bindparam("new_head"))


def _appended_anywhere(_: Any) -> Any:
    moved = sa.update(RUNS).where(RUNS.c.run == _OF_RUN, RUNS.c.epoch == _OF_EPOCH)
    return moved.values(seq=sa.bindparam("new_seq"), head=sa.bindparam("new_head"))


_SILENCE = """raise Forbidden(
                f"whether run {self.run} is still ours is not known, so the command was not sent: {error}"
            ) from error"""

PERMIT = (
    Mutant(
        "permit-forgets-the-clock",
        "a command leaves though the lease has run out",
        (edit(Lease.check, ("if self._clock.now() > self.expires_at - _MARGIN:", "if False:")),),
    ),
    Mutant(
        "permit-without-margin",
        "a command leaves in the last moment of the lease",
        (edit(Lease.check, ("self.expires_at - _MARGIN", "self.expires_at")),),
    ),
    Mutant(
        "permit-forgets-the-epoch",
        "a command leaves though another process leads",
        (edit(Lease.check, ("if epoch != self.epoch:", "if False:")),),
    ),
    Mutant(
        "permit-epoch-the-wrong-way",
        "only a lower epoch in the journal stops a command",
        (edit(Lease.check, ("epoch != self.epoch", "epoch < self.epoch")),),
    ),
    Mutant(
        "permit-takes-silence-for-yes",
        "a command leaves though the journal cannot be asked",
        (edit(Lease.check, (_SILENCE, "epoch = self.epoch")),),
    ),
    Mutant(
        "permit-not-asked-by-the-device",
        "the adapter of message VPNs sends without asking for the permit",
        (edit(MockAdapter._command, ("permit.check()", "pass")),),
        "solace",
    ),
    Mutant(
        "permit-not-asked-by-the-instance",
        "the adapter of AMPS instances sends without asking for the permit",
        (edit(MockAmpsAdapter._do, ("permit.check()", "pass")),),
        "amps",
    ),
    Mutant(
        "lease-not-revoked",
        "what waits in the fleet may still leave once the engine has ended",
        (edit(Lease.revoke, ("self.expires_at = 0.0", "pass")),),
    ),
)

LEASE = (
    Mutant(
        "lease-given-while-held",
        "a run is taken from a process that leads it",
        (edit(take, ("if row.expires_at > now and not holder_is_dead(row.holder):", "if False:")),),
    ),
    Mutant(
        "lease-never-renewed",
        "a lease runs out while its process works",
        (edit(Engine._round, ("if self._clock.now() >= self._lease.renew_at:", "if False:")),),
    ),
    Mutant(
        "lease-of-another-released",
        "a process that lost its lease renews or ends that of its heir",
        ((sql, "SET_EXPIRY", _of_any_epoch),),
    ),
    Mutant(
        "loss-of-the-lease-unnoticed",
        "a lease that another process has taken counts as renewed",
        (edit(Lease.renew, ("if not self._set_expiry(commit, expires_at):", "if False:")),),
    ),
    Mutant(
        "lease-kept-at-the-end",
        "a run that has ended is still led",
        (edit(Engine._finish, ("self._lease.release(", "list(")),),
    ),
)

EPOCH = (
    Mutant(
        "epoch-not-raised",
        "whoever takes a lease has the epoch of the one before",
        (
            edit(
                take,
                ('"new_epoch": row.epoch + 1', '"new_epoch": row.epoch'),
                ("Writer(run, row.epoch + 1,", "Writer(run, row.epoch,"),
            ),
        ),
    ),
    Mutant(
        "append-under-any-epoch",
        "a process that lost its lease still appends",
        ((sql, "MOVE_HEAD", _appended_under_any_epoch),),
    ),
    Mutant(
        "append-at-any-place",
        "a record is appended wherever the run stands",
        ((sql, "MOVE_HEAD", _appended_anywhere),),
    ),
)

CLAIMS = (
    Mutant(
        "claims-freed",
        "the services of lanes that stopped half-way are free for other runs",
        (edit(Engine._finish, ("for lane in lanes if lane.settled", "for lane in lanes")),),
    ),
    Mutant(
        "claims-never-freed",
        "the services of a finished run stay locked",
        (edit(Lease.release, ("if settled:", "if False:")),),
    ),
    Mutant(
        "claims-not-made",
        "a run begins without claiming its services",
        (edit(create_run, ("_claim(commit, run, keys, now)", "pass")),),
    ),
)
