"""Whether a manager beside this program may act at a site: what each reading says of the one it knows, and all together.

A family may know several (a Sentinel, a cluster manager), each by a reading of its own with the facet ``pilot``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, Literal

from orchestrator.model.facets import Facet
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading, ReadingModel

# The reading that all of them make together, and its field and that of a single reading which steps compare with.
OTHER_MANAGER = "other_manager"
# The field of a single reading that says why its manager is unknown.
MANAGER_WHY = "other_manager_why"
# The gate at which an operator accepts that another manager may act, and the option that answers it in advance.
MANAGER_GATE, MANAGER_OPTION = "other-manager", "--accept-manager"

# ``unasked``: the inventory does not say where to ask.
ManagerState = Literal["acts", "unknown", "none", "unasked"]
_WORST_FIRST: tuple[ManagerState, ...] = ("acts", "unknown", "none", "unasked")


class Manager(ReadingModel):
    """One of them. ``name``: as its family calls it; ``who``: as it calls itself; ``why``: what was not read."""

    name: str
    state: ManagerState
    who: str = ""
    why: str = ""

    @property
    def called(self) -> str:
        """How a sentence names it."""
        return self.who or self.name.replace("_", " ")

    @property
    def unknown_why(self) -> str:
        """How a sentence names one of which nothing is known."""
        return f"{self.called}: {self.why}" if self.why else self.called


class OtherManager(Reading):
    """``other_manager``: may any manager beside this program act at the site? Made by the fleet from every reading with
    the facet ``pilot``; one that acts counts before one that is unknown, and that before none."""

    facets: ClassVar[Mapping[Facet, str]] = {Facet.PILOT: OTHER_MANAGER}

    kind: Literal["other_manager"] = "other_manager"
    other_manager: ManagerState
    managers: tuple[Manager, ...] = ()

    def remark(self, names: Collection[str]) -> str:
        """Who may act, and of whom that is unknown."""
        return in_a_sentence(self.managers) if OTHER_MANAGER in names else ""


def in_a_sentence(managers: Sequence[Manager]) -> str:
    """Who may act, and of whom that is unknown; empty: nothing of either."""
    told = [f"{one.called} may act" for one in managers if one.state == "acts"]
    told += [f"unknown of {one.unknown_why}" for one in managers if one.state == "unknown"]
    return "; ".join(told)


def name_of_manager(model: type[Reading]) -> str:
    """What the manager that this reading shows is called; empty: it shows none."""
    return model.pilot_field or model.facets.get(Facet.PILOT, "").lstrip("_")


def shows_only_a_manager(model: type[Reading]) -> bool:
    """Does it show nothing else, so that a failure of it leaves nothing else unknown?"""
    return set(model.facets) == {Facet.PILOT}


def manager_in(model: type[Reading], found: Reading | Failure | None) -> Manager:
    """What one reading says of the manager that it shows."""
    name = name_of_manager(model)
    if not isinstance(found, Reading):
        return Manager(name=name, state="unknown", why="it was not read" if found is None else found.text)
    said = found.facet(Facet.PILOT)
    state: ManagerState = next((one for one in _WORST_FIRST if one == said), "unknown")
    who = getattr(found, model.pilot_field) if model.pilot_field and state == "acts" else ""
    return Manager(
        name=name, state=state, who=who if isinstance(who, str) else "", why=getattr(found, MANAGER_WHY, None) or ""
    )


def worst(managers: Sequence[Manager]) -> ManagerState:
    """What all of them come to."""
    return next((one for one in _WORST_FIRST if any(said.state == one for said in managers)), "unknown")
