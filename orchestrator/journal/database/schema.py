"""The tables of the journal's database, in one place, so that whoever opens it first makes all of them.

Whoever changes a table raises ``SCHEMA`` and says in ``migration`` what an older database needs.
"""

from __future__ import annotations

import sqlalchemy as sa

# 1: version 0.1.0, which marked nothing. 2: what a key was used for; separate tables for claims
# on sites, approval policies, and what was read last.
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
# Who signed the head of a run, where its journal is signed: one row for each commit, none for what is not signed.
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
# Who relies on what belongs to a whole site, or is rolling it back: one row for each service. It outlives the run.
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
# What other processes ask of a run: abort, or an answer to a gate. The process that leads it takes and records them.
INBOX = sa.Table(
    "inbox",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("run", sa.String(64), nullable=False, index=True),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("taken", sa.Boolean, nullable=False, default=False),
)
# How far each hook of a run has been told: ``seq`` is the last record that it took, or that does not concern it.
# The records after it are its outbox. ``failed`` is what went wrong last, empty since the last one it took.
DELIVERIES = sa.Table(
    "deliveries",
    METADATA,
    sa.Column("run", sa.String(64), primary_key=True),
    sa.Column("hook", sa.String(64), primary_key=True),
    sa.Column("seq", sa.Integer, nullable=False),
    sa.Column("failed", sa.Text, nullable=False, default=""),
)
# Which run a caller's own key started: the same key never starts a second one. ``request``: what was asked with it
# (``asked``), by part; null for a key that was used under schema 1.
IDEMPOTENCY = sa.Table(
    "idempotency",
    METADATA,
    sa.Column("key", sa.String(200), primary_key=True),
    sa.Column("run", sa.String(64), nullable=False),
    sa.Column("request", sa.Text),
)
# The approval policies that a service had in the inventories of its runs: an inventory without one does not drop them.
POLICIES = sa.Table(
    "policies",
    METADATA,
    sa.Column("service", sa.String(400), primary_key=True),
    sa.Column("policies", sa.Text, nullable=False),
)
# What the last readiness check of each service found, and when it was last found good. One row a service: what older
# checks found is no one's business at three in the morning.
CHECKS = sa.Table(
    "checks",
    METADATA,
    sa.Column("service", sa.String(400), primary_key=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("good_at", sa.Float),
    sa.Column("findings", sa.Text, nullable=False),
)
# The newest reading of each service at one site that was taken outside of a run. One row each: what is older is no one's
# business once a site is lost.
LAST_READ = sa.Table(
    "last_read",
    METADATA,
    sa.Column("service", sa.String(400), primary_key=True),
    sa.Column("reading", sa.String(40), primary_key=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("value", sa.Text, nullable=False),
)
