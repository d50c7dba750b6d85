"""Only the pairs and the services that are named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from orchestrator.errors import DefinitionError
from orchestrator.model.inventory import Inventory, Pair


def pairs_of(inventory: Inventory, only: str | None) -> list[Pair]:
    """The pairs that are meant. Raises ``DefinitionError`` for a name that none has."""
    pairs = [pair for pair in inventory.pairs if only in (None, pair.name)]
    if not pairs:
        known = ", ".join(pair.name for pair in inventory.pairs)
        raise DefinitionError(f"no pair is called {only!r}", hint=f"the inventory has: {known}")
    return pairs


def narrowed(inventory: Inventory, names: Sequence[str]) -> Inventory:
    """``inventory`` with the services called ``names`` alone; all of it where none is named. Raises ``DefinitionError``
    for a name that it does not list."""
    if not names:
        return inventory
    see_listed(names, (name for pair in inventory.pairs for name in pair.services))
    pairs = []
    for pair in inventory.pairs:
        services = tuple(name for name in pair.services if name in names)
        if services:
            pairs.append(pair.model_copy(update={"services": services}))
    return inventory.model_copy(update={"pairs": tuple(pairs)})


def see_listed(names: Iterable[str], listed: Iterable[str]) -> None:
    """Raises ``DefinitionError`` for a name that is none of those listed."""
    known = list(listed)
    for name in names:
        if name not in known:
            raise DefinitionError(f"the inventory does not list {name!r}", hint=f"it lists: {', '.join(known)}")
