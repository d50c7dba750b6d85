"""Guards removed one by one: permit, lease, epoch, claims, and who may lead."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

import orchestrator.journal.database.statements as sql
from adapters.mock.adapter import MockAdapter
from adapters.mock.amps.adapter import MockAmpsAdapter
from orchestrator.core.decide.act import _start
from orchestrator.core.decide.claims import claims_of, may_undo
from orchestrator.core.decide.gates import _declined, roll_back
from orchestrator.core.decide.granting import _is_in_the_way, granted
from orchestrator.engine.deadline import Deadline
from orchestrator.engine.engine import Engine
from orchestrator.journal.database.schema import RUNS
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import Lease, create_run, take
from orchestrator.journal.site_claims import Sites
from tests.proof.mutants.editing import edit
from tests.proof.mutants.swapping import Mutant

_OF_RUN: sa.BindParameter[str] = sa.bindparam("b_run")
_OF_EPOCH: sa.BindParameter[int] = sa.bindparam("b_epoch")
_AT_SEQ: sa.BindParameter[int] = sa.bindparam("b_seq")


def _of_any_epoch(_: Any) -> Any:
    return sa.update(RUNS).where(RUNS.c.run == _OF_RUN).values(expires_at=sql._LEASE_END)


def _let_go_of_any_epoch(_: Any) -> Any:
    return sa.update(RUNS).where(RUNS.c.run == _OF_RUN).values(expires_at=sa.literal_column("0.0"))


def _appended_under_any_epoch(_: Any) -> Any:
    moved = sa.update(RUNS).where(RUNS.c.run == _OF_RUN, RUNS.c.seq == _AT_SEQ)
    return moved.values(seq=sa.bindparam("new_seq"), head=sa.bindparam("new_head"))


def _appended_anywhere(_: Any) -> Any:
    moved = sa.update(RUNS).where(RUNS.c.run == _OF_RUN, RUNS.c.epoch == _OF_EPOCH)
    return moved.values(seq=sa.bindparam("new_seq"), head=sa.bindparam("new_head"))


_SILENCE = """raise Forbidden(
                f"it is unknown whether this process still leads run {self.run}, so the command was not sent: {error}"
            ) from error"""

PERMIT = (
    Mutant(
        "permit-forgets-the-clock",
        "a command leaves though the lease has run out",
        (edit(Lease.check, ("if self._clock.now() > self._last_moment:", "if False:")),),
    ),
    Mutant(
        "permit-without-margin",
        "a command leaves in the last moment of the lease",
        (edit(Lease._last_moment, ("self.expires_at - _MARGIN", "self.expires_at")),),
    ),
    Mutant(
        "permit-forgets-the-epoch",
        "a command leaves though another process leads",
        (edit(Journal.confirm, ("if found and found[0][0] > epoch:", "if False:")),),
    ),
    Mutant(
        "permit-forgets-the-record",
        "a command leaves though the journal has lost what was recorded before it",
        (edit(Journal.confirm, ("or (seq and found[0][1] != head)", "")),),
    ),
    Mutant(
        "permit-takes-silence-for-yes",
        "a command leaves though the journal cannot be asked",
        (edit(Lease.check, (_SILENCE, "pass")),),
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
        (edit(take, ("if is_led(row, now):", "if False:")),),
    ),
    Mutant(
        "lease-never-renewed",
        "a lease runs out while its process works",
        (edit(Engine._keep_lease, ("if now >= self._lease.renew_at:", "if False:")),),
    ),
    Mutant(
        "lease-of-another-released",
        "a process that lost its lease renews or ends that of its heir",
        ((sql, "RENEW", _of_any_epoch), (sql, "LET_GO", _let_go_of_any_epoch)),
    ),
    Mutant(
        "loss-of-the-lease-unnoticed",
        "a lease that another process has taken counts as renewed",
        (
            edit(
                Lease._renewed,
                ("if commit.run(sql.RENEW, [change]) != 1:", "if commit.run(sql.RENEW, [change]) > 1:"),
            ),
        ),
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
        (edit(Lease._released, ("if settled:", "if False:")),),
    ),
    Mutant(
        "claims-not-made",
        "a run begins without claiming its services",
        (edit(create_run, ("_claim(commit, run, keys, now)", "pass")),),
    ),
)

SITE = (
    Mutant(
        "site-not-claimed",
        "what belongs to a whole site is changed without a claim",
        (edit(claims_of, ("if missing is None:", "if True:")),),
        "solace",
    ),
    Mutant(
        "site-claims-always-granted",
        "a claim on a site is granted whoever relies on it",
        (edit(granted, ("granted=not others,", "granted=True,")),),
        "solace",
    ),
    Mutant(
        "other-runs-do-not-rely",
        "a door is opened though a service of another run relies on it",
        (edit(_is_in_the_way, ("not _gives_up(row, party)", "not _gives_up(row, party) and row.run == party.run")),),
        "solace",
    ),
    Mutant(
        "lanes-of-the-run-do-not-rely",
        "a door is opened though another lane of the run relies on it",
        (edit(_is_in_the_way, ("not _gives_up(row, party)", "not _gives_up(row, party) and row.run != party.run")),),
        "solace",
    ),
    Mutant(
        "door-found-shut-is-ours",
        "a run that found a door shut owes its undo",
        (edit(_start, ("if is_hold and judge(plan, lane, task.expect).holds:", "if False:")),),
        "solace",
    ),
    Mutant(
        "door-unread-is-ours",
        "a run that could not read whether a door was shut owes its undo",
        (edit(may_undo, ('step.claim != "hold" or', "True or")),),
        "solace",
    ),
    Mutant(
        "rolled-back-behind-others",
        "a lane that others rely on rolls back all the same",
        (edit(roll_back, ("if obstacle is not None:", "if False:")),),
        "solace",
    ),
    Mutant(
        "claims-end-with-the-run",
        "a service that has failed over relies on nothing once its run is over",
        (edit(Sites.finish, ("if was_not_moved(lane.outcome):", "if lane.outcome:")),),
        "solace",
    ),
    Mutant(
        "not-claimed-again",
        "at the point of no return nobody asks whether the door is still ours",
        (edit(claims_of, ("if step.point_of_no_return and not undo:", "if False:")),),
        "solace",
    ),
)

LIMIT = (
    Mutant(
        "limit-after-the-decisions",
        "a lane decides on what came in too late, and is told afterwards that the time of the run is over",
        (
            edit(
                Engine._turn,
                ("list(self._time_out(draft))", "[]"),
                (
                    "self._fail_fast(draft))",
                    "self._fail_fast(draft))\n        requests.extend(self._time_out(draft))",
                ),
            ),
        ),
    ),
    Mutant(
        "limit-forgotten",
        "the time of a run never ends",
        (edit(Deadline.expired, ("if due is None or", "if True or due is None or")),),
    ),
    Mutant(
        "left-unasked",
        "a lane that is aborted too late is left as it is, though nobody said so",
        (edit(_declined, ("if lane.abort is None or not lane.abort.leave:", "if lane.abort is None:")),),
    ),
)
