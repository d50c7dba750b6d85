"""What a reading tells of where a service stands: who is active, who lets clients in, what is suspended."""

from __future__ import annotations

from orchestrator import events as ev
from orchestrator.readings import QueueDepth, Reachability, ReplicationStatus, Role
from orchestrator.readings_amps import Transports


def role_in(seen: ev.Seen) -> Role | None:
    """The role that a site has by this reading; None if the reading does not tell."""
    return seen.value.role if isinstance(seen.value, ReplicationStatus | Reachability) else None


def lets_clients_in(seen: ev.Seen) -> bool | None:
    """AMPS: are there doors for clients, and is one of them open? None if the reading does not tell."""
    doors = seen.value
    return bool(doors.open) if isinstance(doors, Transports) and (doors.open or doors.closed) else None


def is_suspended(seen: ev.Seen) -> bool | None:
    """Is replication suspended there (seed 003, uncontrolled, step 3)? None if the reading does not tell."""
    rejects = seen.value.rejects_on_discard if isinstance(seen.value, QueueDepth) else None
    return None if rejects is None else not rejects


def refuses_synchronous(seen: ev.Seen) -> bool | None:
    """Does this active site refuse synchronous messages while its mate is away (seed 003, controlled, step 1:
    reject-msg-when-sync-ineligible)? None if the reading is not of an active site, or does not report it."""
    state = seen.value
    if not isinstance(state, ReplicationStatus) or state.role is not Role.ACTIVE:
        return None
    return None if state.reject_when_ineligible is None else state.reject_when_ineligible and not state.sync_eligible
