"""What a reading reports of where a service is, by its facets: who is active, who lets clients in, what is suspended."""

from __future__ import annotations

from orchestrator.model import events as ev
from orchestrator.model.facets import Facet
from orchestrator.model.readings import Role


def role_in(seen: ev.Seen) -> Role | None:
    """The role that a site has by this reading, where one site serves at most. None if it does not report it."""
    serves = seen.value.flag(Facet.SERVES) if seen.value is not None and seen.value.exclusive else None
    return None if serves is None else Role.ACTIVE if serves else Role.STANDBY


def lets_clients_in(seen: ev.Seen) -> bool | None:
    """The same of services that both sites may serve: does this one let clients in? None if it does not report it."""
    return seen.value.flag(Facet.SERVES) if seen.value is not None and not seen.value.exclusive else None


def is_suspended(seen: ev.Seen) -> bool | None:
    """Is replication suspended there? None if the reading does not report it."""
    return None if seen.value is None else seen.value.flag(Facet.SUSPENDED)


def refuses_writes(seen: ev.Seen) -> bool | None:
    """Does this active site refuse what its mate cannot take now? None if it is not active, or does not report it."""
    return None if seen.value is None else seen.value.flag(Facet.BLOCKED)
