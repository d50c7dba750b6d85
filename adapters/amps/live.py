"""Fetches the configurations that instances serve, through read-only sessions.

A served configuration never leads to a file of this machine: a configuration that includes a file is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Protocol, runtime_checkable

from adapters.amps.config.model import Instance
from adapters.amps.config.settings import Assumptions
from adapters.amps.served import read_served
from orchestrator.errors import AdapterError, DefinitionError
from orchestrator.family.contract import AdapterContext
from orchestrator.family.registry import Registry
from orchestrator.model.inventory import Site


@runtime_checkable
class ServesConfiguration(Protocol):
    """An adapter that can fetch an instance's own configuration."""

    def configuration(self, service: str) -> str:
        """The text of the configuration. Raises ``AdapterError``."""
        ...


def configurations_of(
    registry: Registry,
    context: AdapterContext,
    site: Site,
    services: Sequence[str],
    variables: Mapping[str, str] | None = None,
    assumptions: Assumptions | None = None,
) -> dict[tuple[str, str], Instance | str]:
    """The instances of these services, by site and service; a sentence with the reason where an instance could not be
    fetched."""
    part = next((one for one in site.parts if _serves(registry, one)), None)
    if part is None:
        return {
            (site.name, service): f"no adapter of {site.name} can fetch the configuration" for service in services
        }
    adapter = registry.get(part.adapter)(part, context)
    assert isinstance(adapter, ServesConfiguration)  # by _serves
    found: dict[tuple[str, str], Instance | str] = {}
    read: dict[str, Instance] = {}
    with closing(adapter):
        for service in services:
            try:
                text = adapter.configuration(service)
                if text not in read:
                    read[text] = read_served(text, f"{site.name}, {service}", variables, assumptions).instance
                found[(site.name, service)] = read[text]
            except (AdapterError, DefinitionError) as error:
                found[(site.name, service)] = str(error)
    return found


def _serves(registry: Registry, site: Site) -> bool:
    return callable(getattr(registry.get(site.adapter), "configuration", None))
