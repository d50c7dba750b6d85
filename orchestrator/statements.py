"""What the journal and the leases say to their database, built once.

Building a statement costs a multiple of carrying it out, so none is built where it is used; what differs from call to
call are the parameters, by the names given here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import sqlalchemy as sa

from orchestrator.chain import Link
from orchestrator.tables import CLAIMS, DELIVERIES, EVENTS, IDEMPOTENCY, INBOX, RUNS, SIGNATURES

_OF_RUN: sa.BindParameter[str] = sa.bindparam("b_run")
_OF_EPOCH: sa.BindParameter[int] = sa.bindparam("b_epoch")
_AT_SEQ: sa.BindParameter[int] = sa.bindparam("b_seq")

# --- runs: b_run, b_epoch, b_seq say which ----------------------------------------------------------------------------

RUN_ROW = sa.select(RUNS).where(RUNS.c.run == _OF_RUN)
RUN_ROWS = sa.select(RUNS).order_by(RUNS.c.created_at.desc(), RUNS.c.run.desc())
RUN_EPOCH = sa.select(RUNS.c.epoch).where(RUNS.c.run == _OF_RUN)
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

LINKS_AFTER = (
    sa.select(*(EVENTS.c[name] for name in Link._fields))
    .where(EVENTS.c.run == _OF_RUN, EVENTS.c.seq > _AT_SEQ)
    .order_by(EVENTS.c.seq)
)
HASH_AT = sa.select(EVENTS.c.hash).where(EVENTS.c.run == _OF_RUN, EVENTS.c.seq == _AT_SEQ)
ADD_EVENTS = sa.insert(EVENTS)
SIGNATURES_OF = sa.select(SIGNATURES).where(SIGNATURES.c.run == _OF_RUN).order_by(SIGNATURES.c.seq.desc())
ADD_SIGNATURE = sa.insert(SIGNATURES)

# --- the inbox --------------------------------------------------------------------------------------------------------

REQUESTS = (
    sa.select(INBOX.c.id, INBOX.c.body).where(INBOX.c.run == _OF_RUN, INBOX.c.taken.is_(False)).order_by(INBOX.c.id)
)
ADD_REQUEST = sa.insert(INBOX)
TAKE_REQUESTS = sa.update(INBOX).where(INBOX.c.id.in_(sa.bindparam("b_numbers", expanding=True))).values(taken=True)

# --- claims, hooks, keys ----------------------------------------------------------------------------------------------

CLAIMS_ALL = sa.select(CLAIMS)
CLAIMS_OF = sa.select(CLAIMS.c.service).where(CLAIMS.c.run == _OF_RUN)
ADD_CLAIMS = sa.insert(CLAIMS)
RELEASE_CLAIMS = sa.delete(CLAIMS).where(
    CLAIMS.c.run == _OF_RUN, CLAIMS.c.service.in_(sa.bindparam("b_services", expanding=True))
)
ADD_DELIVERIES = sa.insert(DELIVERIES)
RUN_OF_KEY = sa.select(IDEMPOTENCY.c.run).where(IDEMPOTENCY.c.key == sa.bindparam("b_key"))
ADD_KEY = sa.insert(IDEMPOTENCY)


class Prepared:
    """A statement compiled once for a database, for where even looking up what it was compiled to is too much."""

    def __init__(
        self, statement: sa.Update | sa.Insert | sa.Select[Any], dialect: sa.Dialect, names: Sequence[str] = ()
    ) -> None:
        compiled = statement.compile(dialect=dialect, column_keys=names)
        self.text = str(compiled)
        self._order = getattr(compiled, "positiontup", None)

    def bind(self, values: Mapping[str, Any]) -> Any:
        """``values`` as the driver wants them: by position or by name."""
        return values if self._order is None else tuple(values[name] for name in self._order)
