"""How time passes for leases, and how what was noted of them is forgotten: by the clock that counts, on each database."""

from __future__ import annotations

import sqlalchemy as sa

from orchestrator.clock import VirtualClock
from orchestrator.journal.database.schema import RUNS
from orchestrator.journal.journal import Journal
from orchestrator.journal.lease import LEASE_SECONDS


def age(journal: Journal, clock: VirtualClock, seconds: float) -> None:
    """So much time passes. A server has a clock of its own, which no test moves: there the leases become older."""
    clock.advance(seconds)
    age_leases(journal, seconds)


def age_leases(journal: Journal, seconds: float) -> None:
    """Only for the clock of a server, if there is one."""
    if journal.engine.dialect.name == "postgresql":
        with journal.engine.begin() as connection:
            connection.execute(sa.update(RUNS).values(expires_at=RUNS.c.expires_at - seconds))


def wait_out(journal: Journal, clock: VirtualClock) -> None:
    """Until no lease is left that was not renewed."""
    age(journal, clock, LEASE_SECONDS + 0.001)


def forget(journal: Journal) -> None:
    """Take away what is noted beside the database, as a forger would who knows of it."""
    if journal.heads is not None:
        for run in list(journal.heads.runs()):
            noted = journal.noted(run)
            assert noted is not None
            noted.path.unlink()
