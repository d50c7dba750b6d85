"""The simulated sites that a family provides for a simulation. Plays and judges nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from orchestrator.family.contract import Adapter, AdapterContext
from orchestrator.model.inventory import Inventory, Site


class Stage(Protocol):
    """The sites of one simulated run. Close it at the end."""

    @property
    def sites(self) -> Sequence[str]:
        """The names of the two sites."""
        ...

    def inventory(self, *, command_timeout: float) -> Inventory:
        """The inventory of the pair ``night``. ``command_timeout``: the timeout of a command, in seconds."""
        ...

    def inject(self, faults: Iterable[str]) -> None:
        """Injects faults, each in the fault grammar of the family."""
        ...

    def released(self) -> AbstractContextManager[None]:
        """A process is stopped, perhaps during a request to a site. Time passes for the sites anyway."""
        ...

    def happened(self) -> Sequence[str]:
        """The injected faults that have happened so far, in their original text."""
        ...

    def adapter(self, site: Site, context: AdapterContext) -> Adapter:
        """A new session with one of the sites."""
        ...

    def look(self, *, count: bool = False) -> dict[str, Any]:
        """The present true state, for the judge (see ``proof.promises``). With ``count``, also the outcome of
        messages."""
        ...

    def settling(self, longest: float, *, counts: bool) -> Iterator[float]:
        """The seconds to let pass, piece by piece, until everything in transit has arrived and nothing more will happen.
        Their sum is at most ``longest``. ``counts``: wait for messages too, because they will be counted."""
        ...

    def close(self) -> None:
        """Free the resources for the next simulation."""
        ...
