"""Sessions with a site outside of a run. Almost all of them can only read."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from orchestrator.family.contract import Adapter, AdapterContext
from orchestrator.model.inventory import Site
from orchestrator.operations.runtime import Tools


@contextmanager
def reading_only(tools: Tools, site: Site) -> Iterator[Adapter]:
    """An adapter of ``site`` that can only read. It is closed afterwards."""
    with closing(tools.registry.adapter_for(site, tools.to_read)) as adapter:
        yield adapter


@contextmanager
def changing(tools: Tools, site: Site) -> Iterator[Adapter]:
    """An adapter of ``site`` that may change it, outside of every run. It is closed afterwards."""
    context = AdapterContext(tools.clock, tools.secrets, witness=tools.witness)
    with closing(tools.registry.adapter_for(site, context)) as adapter:
        yield adapter
