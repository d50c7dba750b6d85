"""The state of a site in a reading, by its facets: whether it is active, lets clients in, or is suspended."""

from __future__ import annotations

from orchestrator.model import events as ev
from orchestrator.model.facets import Facet
from orchestrator.model.readings import Role


def role_in(seen: ev.Seen) -> Role | None:
    """The role of the site by this reading, if at most one site may serve. None if the reading does not report it."""
    serves = seen.value.flag(Facet.SERVES) if seen.value is not None and seen.value.exclusive else None
    return None if serves is None else Role.ACTIVE if serves else Role.STANDBY


def lets_clients_in(seen: ev.Seen) -> bool | None:
    """Does the site let clients in, for services that both sites may serve? None if the reading does not report it."""
    return seen.value.flag(Facet.SERVES) if seen.value is not None and not seen.value.exclusive else None


def is_suspended(seen: ev.Seen) -> bool | None:
    """Is replication suspended at the site? None if the reading does not report it."""
    return None if seen.value is None else seen.value.flag(Facet.SUSPENDED)


def refuses_writes(seen: ev.Seen) -> bool | None:
    """Does this active site refuse writes while its mate is away? None if it is not active, or does not report it."""
    return None if seen.value is None else seen.value.flag(Facet.BLOCKED)
