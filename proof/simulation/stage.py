"""What a family brings to a simulated run: its simulated sites, as the theatre uses them. Plays and judges nothing."""

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
        """The inventory of the pair ``night``; a command is waited for so many seconds."""
        ...

    def inject(self, faults: Iterable[str]) -> None:
        """Script faults, each in the words of the family."""
        ...

    def released(self) -> AbstractContextManager[None]:
        """A process is stopped, perhaps while a site hears it: time passes for the sites anyway."""
        ...

    def happened(self) -> Sequence[str]:
        """Those of them that have happened now, as they were written."""
        ...

    def adapter(self, site: Site, context: AdapterContext) -> Adapter:
        """A new session with one of the sites."""
        ...

    def look(self, *, count: bool = False) -> dict[str, Any]:
        """What is true now, for the judge (see ``proof.promises``); with ``count``, also the outcome of messages."""
        ...

    def settling(self, longest: float, *, counts: bool) -> Iterator[float]:
        """Seconds to let pass, piece by piece, until everything that was on its way has arrived and nothing more will
        happen; ``longest`` at most, all together. ``counts``: messages too, for they will be counted."""
        ...

    def close(self) -> None:
        """Make room for the next night."""
        ...
