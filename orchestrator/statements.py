"""What the journal and the leases say to their database, built once.

Building a statement takes longer than carrying it out, so none is built where it is used. What differs from call to
call are its values, by name: an insertion's are the columns, all others are in ``bindparam``.
"""

from __future__ import annotations

from typing import NamedTuple

import sqlalchemy as sa

from orchestrator.chain import Link
from orchestrator.tables import CLAIMS, DELIVERIES, EVENTS, IDEMPOTENCY, INBOX, RUNS, SIGNATURES, SITE_CLAIMS

_OF_RUN: sa.BindParameter[str] = sa.bindparam("b_run")
_OF_EPOCH: sa.BindParameter[int] = sa.bindparam("b_epoch")
_AT_SEQ: sa.BindParameter[int] = sa.bindparam("b_seq")

# --- runs: b_run, b_epoch, b_seq say which ----------------------------------------------------------------------------


class Head(NamedTuple):
    """The row of a run: ``head`` is the hash of its record ``seq``; ``holder`` leads it until ``expires_at``."""

    run: str
    created_at: float
    seq: int
    head: str
    epoch: int
    holder: str
    expires_at: float


_HEADS = sa.select(*(RUNS.c[name] for name in Head._fields))
HEAD = _HEADS.where(RUNS.c.run == _OF_RUN)
HEADS = _HEADS.order_by(RUNS.c.created_at.desc(), RUNS.c.run.desc())
EPOCH = sa.select(RUNS.c.epoch).where(RUNS.c.run == _OF_RUN)
ADD_RUN = sa.insert(RUNS)
# Of a writer's own place only: no row matches once another process took the lease, or wrote.
MOVE_HEAD = (
    sa.update(RUNS)
    .where(RUNS.c.run == _OF_RUN, RUNS.c.epoch == _OF_EPOCH, RUNS.c.seq == _AT_SEQ)
    .values(seq=sa.bindparam("new_seq"), head=sa.bindparam("new_head"))
)
SET_EXPIRY = (
    sa.update(RUNS)
    .where(RUNS.c.run == _OF_RUN, RUNS.c.epoch == _OF_EPOCH)
    .values(expires_at=sa.bindparam("new_expires_at"))
)
TAKE_LEASE = (
    sa.update(RUNS)
    .where(RUNS.c.run == _OF_RUN, RUNS.c.epoch == _OF_EPOCH)
    .values(
        epoch=sa.bindparam("new_epoch"),
        holder=sa.bindparam("new_holder"),
        expires_at=sa.bindparam("new_expires_at"),
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
RUN_OF_KEY = sa.select(IDEMPOTENCY.c.run).where(IDEMPOTENCY.c.key == sa.bindparam("b_key"))
ADD_KEY = sa.insert(IDEMPOTENCY)

# --- claims on what belongs to a whole site: b_place, b_thing say which thing, b_service whose claim ------------------

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
LEAVE_SITE = sa.update(SITE_CLAIMS).where(_OF_PLACE, _OF_THING, _BY_SERVICE).values(state=sa.bindparam("new_state"))
# Of a service that its run did not move after all.
REMOVE_SITE_CLAIMS_OF = sa.delete(SITE_CLAIMS).where(_BY_RUN, _BY_SERVICE)
# Of a service that is active at this site by now.
REMOVE_SITE_CLAIMS_AT = sa.delete(SITE_CLAIMS).where(_OF_PLACE, _BY_SERVICE)
DATE_SITE_CLAIMS_OF = sa.update(SITE_CLAIMS).where(_BY_RUN, _BY_SERVICE).values(at=sa.bindparam("new_at"))
