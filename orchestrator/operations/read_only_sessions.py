"""Sessions with a site that can only look."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from orchestrator.family.contract import Adapter, AdapterContext
from orchestrator.model.inventory import Site
from orchestrator.operations.runtime import Tools


@contextmanager
def reading_only(tools: Tools, site: Site) -> Iterator[Adapter]:
    """An adapter of ``site`` that can only look; closed afterwards."""
    with closing(
        tools.registry.adapter_for(site, AdapterContext(tools.clock, tools.secrets, read_only=True))
    ) as adapter:
        yield adapter
