"""What a field of a reading means to everybody, whatever the product: by facets alone a pair is judged and shown.

A reading says which of its fields has a facet, at the end at which it means something; elsewhere the value is ``None``,
which is unknown and never 0 or false.
"""

from __future__ import annotations

from enum import StrEnum


class Facet(StrEnum):
    """The facets, each with the type of its value."""

    SERVES = "serves"  # bool: clients are served here, or would be
    LINK = "link"  # bool: replication to or from the mate holds, as far as this end knows
    BACKLOG = "backlog"  # int: what waits here for the mate, in the unit of the reading
    MARK = "mark"  # int: the last number this end has issued
    REACHED = "reached"  # int: the last number this end has applied
    IN_DOUBT = "in_doubt"  # int: prepared transactions without an outcome
    CLIENTS = "clients"  # int: applications connected now
    SUSPENDED = "suspended"  # bool: replication is switched off, so the backlog does not grow
    BLOCKED = "blocked"  # bool: this serving end refuses writes while its mate is away
    PILOT = "pilot"  # str: whether a manager beside this program may act here: acts, unknown, none or unasked
    NODE = "node"  # str: which device answered
