"""Selects the named pairs and services."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from orchestrator.errors import DefinitionError
from orchestrator.model.inventory import Inventory, Pair
from orchestrator.suggestions import closest

_NAMES = 12  # at most so many are named in an error


class Asked(Protocol):
    """The requested services: by name, or every service of a pair."""

    @property
    def services(self) -> Sequence[str]:
        """Their names."""

    @property
    def everything(self) -> bool:
        """Every service of the pair?"""

    @property
    def pair(self) -> str | None:
        """The pair, if it is named."""


def pairs_of(inventory: Inventory, only: str | None) -> list[Pair]:
    """The requested pairs. Raises ``DefinitionError`` for a name that no pair has."""
    pairs = [pair for pair in inventory.pairs if only in (None, pair.name)]
    if not pairs:
        known = ", ".join(pair.name for pair in inventory.pairs)
        raise DefinitionError(f"no pair is called {only!r}", hint=f"the inventory has: {known}")
    return pairs


def narrowed(inventory: Inventory, names: Sequence[str]) -> Inventory:
    """``inventory`` with only the services called ``names``; unchanged if there are no names. Raises
    ``DefinitionError`` for a name that the inventory does not list."""
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
    """Raise ``DefinitionError`` for a name that is not listed."""
    known = list(listed)
    for name in names:
        if name not in known:
            near = closest(name, known)
            meant = f"did you mean {near}? " if near else ""
            few = (
                f"listed: {', '.join(known)}"
                if len(known) <= _NAMES
                else f"the inventory lists {len(known):,} services"
            )
            raise DefinitionError(f"the inventory does not list {name!r}", hint=f"{meant}{few}")


def services_of(inventory: Inventory, asked: Asked) -> tuple[list[str], Pair]:
    """The requested services, and the one pair they belong to. Raises ``DefinitionError``."""
    if asked.services and asked.everything:
        raise DefinitionError(
            "give names of services or --all, not both", hint="--all means every service of the pair"
        )
    if not asked.services and not asked.everything:
        raise DefinitionError(
            "no service is named", hint="name one service or more, or add --all; `failover status` lists the services"
        )
    pairs = [pair for pair in inventory.pairs if asked.pair in (None, pair.name)]
    if not pairs:
        known = ", ".join(pair.name for pair in inventory.pairs)
        raise DefinitionError(f"no pair is called {asked.pair!r}", hint=f"the inventory has: {known}")
    if asked.everything:
        if len(pairs) > 1:
            names = ", ".join(pair.name for pair in pairs)
            raise DefinitionError("--all means the services of one pair", hint=f"add --pair, one of: {names}")
        return list(pairs[0].services), pairs[0]
    services = list(dict.fromkeys(asked.services))
    owners = {service: next((pair for pair in pairs if service in pair.services), None) for service in services}
    see_listed(services, (name for pair in pairs for name in pair.services))
    distinct = {owner.name: owner for owner in owners.values() if owner is not None}
    if len(distinct) > 1:
        raise DefinitionError(
            f"one run moves services of only one pair, but these services are of {', '.join(distinct)}",
            hint="start a separate run for each pair",
        )
    return services, next(iter(distinct.values()))
