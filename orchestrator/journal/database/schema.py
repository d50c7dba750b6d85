"""The tables of the journal's database, in one place, so that the process that opens it first creates all of them.

Every change of a table must raise ``SCHEMA`` and add a step for older databases to ``migration``.
"""

from __future__ import annotations

import sqlalchemy as sa

# 1: version 0.1.0, which wrote no version. 2: the request of a key; separate tables for claims on sites, approval
# policies, and last readings.
SCHEMA = 2

METADATA = sa.MetaData()
RUNS = sa.Table(
    "runs",
    METADATA,
    sa.Column("run", sa.String(64), primary_key=True),
    sa.Column("created_at", sa.Float, nullable=False),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("head", sa.String(64), nullable=False),
    sa.Column("epoch", sa.Integer, nullable=False),
    sa.Column("holder", sa.String(200), nullable=False),
    sa.Column("expires_at", sa.Float, nullable=False),
)
EVENTS = sa.Table(
    "events",
    METADATA,
    sa.Column("run", sa.String(64), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("lane", sa.String(64)),
    sa.Column("event", sa.Text, nullable=False),
    sa.Column("hash", sa.String(64), nullable=False),
    sqlite_with_rowid=False,  # one tree to write instead of two
)
# The signatures over the head of a run, if its journal is signed: one row for each signed commit.
SIGNATURES = sa.Table(
    "signatures",
    METADATA,
    sa.Column("run", sa.String(64), primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("key", sa.String(16), nullable=False),
    sa.Column("value", sa.String(88), nullable=False),
    sqlite_with_rowid=False,
)
CLAIMS = sa.Table(
    "claims",
    METADATA,
    sa.Column("service", sa.String(400), primary_key=True),
    sa.Column("run", sa.String(64), nullable=False),
)
# The services that rely on a thing of a whole site, or are rolling it back: one row for each service. It outlives the
# run.
SITE_CLAIMS = sa.Table(
    "site_claims",
    METADATA,
    sa.Column("place", sa.String(400), primary_key=True),
    sa.Column("thing", sa.String(64), primary_key=True),
    sa.Column("service", sa.String(400), primary_key=True),
    sa.Column("name", sa.String(64), nullable=False),
    sa.Column("run", sa.String(64), nullable=False),
    sa.Column("state", sa.String(16), nullable=False),
    sa.Column("at", sa.Float, nullable=False),
)
# Requests of other processes to a run: abort, or an answer to a gate. The process that leads the run takes and records
# them.
INBOX = sa.Table(
    "inbox",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("run", sa.String(64), nullable=False, index=True),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("taken", sa.Boolean, nullable=False, default=False),
)
# How far each hook of a run has been told. ``seq`` is the last record that the hook took, or that does not concern it.
# The records after it are its outbox. ``failed`` is the last error, empty after a record was taken.
DELIVERIES = sa.Table(
    "deliveries",
    METADATA,
    sa.Column("run", sa.String(64), primary_key=True),
    sa.Column("hook", sa.String(64), primary_key=True),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("failed", sa.Text, nullable=False, default=""),
)
# The run that a caller's own key started: the same key never starts a second one. ``request``: the request made with it
# (``asked``), by part; null for a key that was used under schema 1.
IDEMPOTENCY = sa.Table(
    "idempotency",
    METADATA,
    sa.Column("key", sa.String(200), primary_key=True),
    sa.Column("run", sa.String(64), nullable=False),
    sa.Column("request", sa.Text),
)
# The approval policies that a service had in the inventories of its runs: an inventory without a policy keeps them.
POLICIES = sa.Table(
    "policies",
    METADATA,
    sa.Column("service", sa.String(400), primary_key=True),
    sa.Column("policies", sa.Text, nullable=False),
)
# The findings of the last readiness check of each service, and when it was last found good. One row a service: findings
# of older checks are not needed.
CHECKS = sa.Table(
    "checks",
    METADATA,
    sa.Column("service", sa.String(400), primary_key=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("good_at", sa.Float),
    sa.Column("findings", sa.Text, nullable=False),
)
# The newest reading of each service at one site that was taken outside of a run. One row each: older readings are not
# needed once a site is lost.
LAST_READ = sa.Table(
    "last_read",
    METADATA,
    sa.Column("service", sa.String(400), primary_key=True),
    sa.Column("reading", sa.String(40), primary_key=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("value", sa.Text, nullable=False),
)
