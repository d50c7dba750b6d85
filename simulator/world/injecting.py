"""Scripts faults for the world of a simulated site, in the vocabulary of its family."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator.clock import Clock
from orchestrator.model.inventory import Site
from simulator.amps.faults import FAULTS as AMPS_FAULTS
from simulator.amps.worlds import AMPS_WORLDS
from simulator.generic.faults import FAULTS as GENERIC_FAULTS
from simulator.generic.worlds import GENERIC_WORLDS
from simulator.solace.faults import FAULTS
from simulator.world.worlds import WORLDS


def inject(site: Site, clock: Clock, texts: Sequence[str]) -> None:
    """Script these faults, each a fault or the name of a file of them. Raises ``DefinitionError``, ``Unreachable``."""
    reference = str(site.options["world"])
    if site.adapter.startswith("mock-") and site.adapter != "mock-amps":
        generic_faults = GENERIC_FAULTS.typed(texts)
        generic = GENERIC_WORLDS.acquire(reference, clock)
        try:
            generic.inject(generic_faults)
        finally:
            GENERIC_WORLDS.release(generic)
        return
    if site.adapter == "mock-amps":
        fabric_faults = AMPS_FAULTS.typed(texts)
        fabric = AMPS_WORLDS.acquire(reference, clock)
        try:
            fabric.inject(fabric_faults)
        finally:
            AMPS_WORLDS.release(fabric)
        return
    faults = FAULTS.typed(texts)
    world = WORLDS.acquire(reference, clock)
    try:
        world.inject(faults)
    finally:
        WORLDS.release(world)
