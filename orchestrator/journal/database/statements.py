"""The SQL statements of the journal and the leases, built once.

Building a statement takes longer than executing it, so none is built where it is used. The values that differ from call
to call are passed by name: for an insertion the names of the columns, for all others the names in ``bindparam``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles

from orchestrator.journal.database.schema import (
    CLAIMS,
    DELIVERIES,
    EVENTS,
    IDEMPOTENCY,
    INBOX,
    POLICIES,
    RUNS,
    SIGNATURES,
    SITE_CLAIMS,
)
from orchestrator.journal.hash_chain import Link

_OF_RUN: sa.BindParameter[str] = sa.bindparam("b_run")
_OF_EPOCH: sa.BindParameter[int] = sa.bindparam("b_epoch")
_AT_SEQ: sa.BindParameter[int] = sa.bindparam("b_seq")

# --- runs: b_run, b_epoch, b_seq say which ----------------------------------------------------------------------------


class server_time(sa.sql.functions.FunctionElement[float]):
    """The time by the clock of the database's server, seconds since the epoch; null for an embedded database.

    Bastions that share a server may have different clocks, so the server's clock decides when a lease ends.
    """

    type = sa.Float()
    inherit_cache = True


@compiles(server_time)
def _no_server(*_: Any, **__: Any) -> str:
    return "NULL"


@compiles(server_time, "postgresql")
def _its_clock(*_: Any, **__: Any) -> str:
    return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)"


class Head(NamedTuple):
    """The row of a run. ``head`` is the hash of its record ``seq``; ``holder`` leads it until ``expires_at``.

    ``read_at``: when it was read, by the clock that leases go by, if that is not the reader's own.
    """

    run: str
    created_at: float
    seq: int
    head: str
    epoch: int
    holder: str
    expires_at: float
    read_at: float | None


# The end of a lease that starts now by the server's clock. Without a server, it starts at ``b_now``, by the clock of
# the process that takes it.
_NOW: sa.BindParameter[float] = sa.bindparam("b_now", type_=sa.Float)
_SECONDS: sa.BindParameter[float] = sa.bindparam("b_seconds", type_=sa.Float)
_LEASE_END = sa.func.coalesce(server_time(), _NOW) + _SECONDS

_HEADS = sa.select(*(RUNS.c[name] for name in Head._fields[:-1]), server_time())
HEAD = _HEADS.where(RUNS.c.run == _OF_RUN)
HEADS = _HEADS.order_by(RUNS.c.created_at.desc(), RUNS.c.run.desc())
# The epoch of the run, and the hash of its record ``b_seq``; the hash is null if that record does not exist.
STANDING = (
    sa.select(RUNS.c.epoch, EVENTS.c.hash)
    .select_from(RUNS.outerjoin(EVENTS, (EVENTS.c.run == RUNS.c.run) & (EVENTS.c.seq == _AT_SEQ)))
    .where(RUNS.c.run == _OF_RUN)
)
ADD_RUN = sa.insert(RUNS).values(
    run=_OF_RUN,
    created_at=sa.bindparam("b_created_at"),
    seq=_AT_SEQ,
    head=sa.bindparam("b_head"),
    epoch=_OF_EPOCH,
    holder=sa.bindparam("b_holder"),
    expires_at=_LEASE_END,
)
# Matches the writer's own epoch and number only: no row matches after another process took the lease, or wrote.
MOVE_HEAD = (
    sa.update(RUNS)
    .where(RUNS.c.run == _OF_RUN, RUNS.c.epoch == _OF_EPOCH, RUNS.c.seq == _AT_SEQ)
    .values(seq=sa.bindparam("new_seq"), head=sa.bindparam("new_head"))
)
RENEW = sa.update(RUNS).where(RUNS.c.run == _OF_RUN, RUNS.c.epoch == _OF_EPOCH).values(expires_at=_LEASE_END)
LET_GO = (
    sa.update(RUNS)
    .where(RUNS.c.run == _OF_RUN, RUNS.c.epoch == _OF_EPOCH)
    .values(expires_at=sa.literal_column("0.0"))
)
TAKE_LEASE = (
    sa.update(RUNS)
    .where(RUNS.c.run == _OF_RUN, RUNS.c.epoch == _OF_EPOCH)
    .values(
        epoch=sa.bindparam("new_epoch"),
        holder=sa.bindparam("new_holder"),
        expires_at=_LEASE_END,
    )
)

# --- events and signatures --------------------------------------------------------------------------------------------

LINKS_FROM = (
    sa.select(*(EVENTS.c[name] for name in Link._fields))
    .where(EVENTS.c.run == _OF_RUN, EVENTS.c.seq >= _AT_SEQ)
    .order_by(EVENTS.c.seq)
)
ADD_EVENTS = sa.insert(EVENTS)
SIGNATURES_OF = (
    sa.select(SIGNATURES.c.seq, SIGNATURES.c.key, SIGNATURES.c.value)
    .where(SIGNATURES.c.run == _OF_RUN)
    .order_by(SIGNATURES.c.seq.desc())
)
ADD_SIGNATURE = sa.insert(SIGNATURES)

# --- the inbox --------------------------------------------------------------------------------------------------------

REQUESTS = (
    sa.select(INBOX.c.id, INBOX.c.body).where(INBOX.c.run == _OF_RUN, INBOX.c.taken.is_(False)).order_by(INBOX.c.id)
)
ADD_REQUEST = sa.insert(INBOX)
TAKE_REQUEST = sa.update(INBOX).where(INBOX.c.id == sa.bindparam("b_number")).values(taken=sa.true())

# --- claims, hooks, keys ----------------------------------------------------------------------------------------------

CLAIMED = sa.select(CLAIMS.c.service, CLAIMS.c.run)
CLAIMS_OF = sa.select(CLAIMS.c.service).where(CLAIMS.c.run == _OF_RUN)
ADD_CLAIMS = sa.insert(CLAIMS)
RELEASE_CLAIM = sa.delete(CLAIMS).where(CLAIMS.c.run == _OF_RUN, CLAIMS.c.service == sa.bindparam("b_service"))
ADD_DELIVERIES = sa.insert(DELIVERIES)
POLICIES_KEPT = sa.select(POLICIES.c.service, POLICIES.c.policies)
FORGET_POLICY = sa.delete(POLICIES).where(POLICIES.c.service == sa.bindparam("b_service"))
KEEP_POLICY = sa.insert(POLICIES)
RUN_OF_KEY = sa.select(IDEMPOTENCY.c.run, IDEMPOTENCY.c.request).where(IDEMPOTENCY.c.key == sa.bindparam("b_key"))
ADD_KEY = sa.insert(IDEMPOTENCY)

# --- claims on things of a whole site: b_place and b_thing name the thing, b_service the service ----------------------

_OF_PLACE = SITE_CLAIMS.c.place == sa.bindparam("b_place")
_OF_THING = SITE_CLAIMS.c.thing == sa.bindparam("b_thing")
_BY_SERVICE = SITE_CLAIMS.c.service == sa.bindparam("b_service")
_BY_RUN = SITE_CLAIMS.c.run == _OF_RUN
SITE_CLAIMS_AT = sa.select(*(SITE_CLAIMS.c[name] for name in ("service", "name", "run", "state", "at"))).where(
    _OF_PLACE, _OF_THING
)
SITE_CLAIMANTS = sa.select(SITE_CLAIMS.c.service)
ADD_SITE_CLAIM = sa.insert(SITE_CLAIMS)
REMOVE_SITE_CLAIM = sa.delete(SITE_CLAIMS).where(_OF_PLACE, _OF_THING, _BY_SERVICE)
# For a service that was allowed to open the thing, and does not. A service that never asked to open it still relies on
# it.
LEAVE_SITE = (
    sa.update(SITE_CLAIMS)
    .where(_OF_PLACE, _OF_THING, _BY_SERVICE, SITE_CLAIMS.c.state == sa.bindparam("b_state"))
    .values(state=sa.bindparam("new_state"))
)
# For a service that its run did not move after all.
REMOVE_SITE_CLAIMS_OF = sa.delete(SITE_CLAIMS).where(_BY_RUN, _BY_SERVICE)
# For a service that is active at this site now.
REMOVE_SITE_CLAIMS_AT = sa.delete(SITE_CLAIMS).where(_OF_PLACE, _BY_SERVICE)
DATE_SITE_CLAIMS_OF = sa.update(SITE_CLAIMS).where(_BY_RUN, _BY_SERVICE).values(at=sa.bindparam("new_at"))
