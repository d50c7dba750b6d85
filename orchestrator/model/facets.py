"""Facets: the general meaning of a field of a reading, for any product. A pair is judged and shown by facets alone.

A reading declares which of its fields has a facet. At an end where the facet has no meaning its value is ``None``, which
means unknown, never 0 or false.
"""

from __future__ import annotations

from enum import StrEnum


class Facet(StrEnum):
    """The facets, each with the type of its value."""

    SERVES = "serves"  # bool: this end serves clients, or would serve them
    LINK = "link"  # bool: replication to or from the mate holds, as far as this end knows
    BACKLOG = "backlog"  # int: how much waits at this end for the mate, in the unit of the reading
    MARK = "mark"  # int: the last number this end has issued
    REACHED = "reached"  # int: the last number this end has applied
    IN_DOUBT = "in_doubt"  # int: prepared transactions without an outcome
    CLIENTS = "clients"  # int: applications connected now
    SUSPENDED = "suspended"  # bool: replication is switched off, so the backlog does not grow
    BLOCKED = "blocked"  # bool: this serving end refuses writes while its mate is away
    PILOT = "pilot"  # str: whether another manager may act at this end: acts, unknown, none or unasked
    NODE = "node"  # str: which device answered
