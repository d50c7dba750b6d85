"""Whether another manager besides this program may act at a site: by each reading of a manager, and for all managers.

A family may know several managers (a Sentinel, a cluster manager), each by its own reading with the facet ``pilot``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar, Literal

from orchestrator.model.facets import Facet
from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading, ReadingModel

# The name of the combined reading of all managers, and of the field that steps check. The combined reading and the single
# readings have this field.
OTHER_MANAGER = "other_manager"
# The field of a single reading that says why its manager is unknown.
MANAGER_WHY = "other_manager_why"
# The gate at which an operator accepts that another manager may act, and the option that answers it in advance.
MANAGER_GATE, MANAGER_OPTION = "other-manager", "--accept-manager"

# ``unasked``: the inventory does not say where to ask.
ManagerState = Literal["acts", "unknown", "none", "unasked"]
_WORST_FIRST: tuple[ManagerState, ...] = ("acts", "unknown", "none", "unasked")


class Manager(ReadingModel):
    """One manager. ``name``: its name in the family. ``who``: its own name. ``why``: why its state is unknown."""

    name: str
    state: ManagerState
    who: str = ""
    why: str = ""

    @property
    def called(self) -> str:
        """The name of the manager in a sentence."""
        return self.who or self.name.replace("_", " ")

    @property
    def unknown_why(self) -> str:
        """The text for a manager whose state is unknown: its name, with the reason."""
        return f"{self.called}: {self.why}" if self.why else self.called


class OtherManager(Reading):
    """``other_manager``: whether any other manager may act at the site. The fleet makes it from every reading with the
    facet ``pilot``. The worst state counts: ``acts`` before ``unknown``, before ``none``, before ``unasked``."""

    facets: ClassVar[Mapping[Facet, str]] = {Facet.PILOT: OTHER_MANAGER}

    kind: Literal["other_manager"] = "other_manager"
    other_manager: ManagerState
    managers: tuple[Manager, ...] = ()

    def remark(self, names: Collection[str]) -> str:
        """The managers that may act, and the managers of which that is unknown."""
        return in_a_sentence(self.managers) if OTHER_MANAGER in names else ""


def in_a_sentence(managers: Sequence[Manager]) -> str:
    """The managers that may act, and the managers of which that is unknown; empty: none of either."""
    told = [f"{one.called} may act" for one in managers if one.state == "acts"]
    unknown = [one for one in managers if one.state == "unknown"]
    told += [f"unknown whether {one.called} may act{f': {one.why}' if one.why else ''}" for one in unknown]
    return "; ".join(told)


def name_of_manager(model: type[Reading]) -> str:
    """The name of the manager that this reading shows; empty: the reading shows no manager."""
    return model.pilot_field or model.facets.get(Facet.PILOT, "").lstrip("_")


def shows_only_a_manager(model: type[Reading]) -> bool:
    """Does the reading show only a manager, so that its failure leaves nothing else unknown?"""
    return set(model.facets) == {Facet.PILOT}


def manager_in(model: type[Reading], found: Reading | Failure | None) -> Manager:
    """The manager that one reading shows."""
    name = name_of_manager(model)
    if not isinstance(found, Reading):
        return Manager(name=name, state="unknown", why="no reading was taken" if found is None else found.text)
    said = found.facet(Facet.PILOT)
    state: ManagerState = next((one for one in _WORST_FIRST if one == said), "unknown")
    who = getattr(found, model.pilot_field) if model.pilot_field and state == "acts" else ""
    return Manager(
        name=name, state=state, who=who if isinstance(who, str) else "", why=getattr(found, MANAGER_WHY, None) or ""
    )


def worst(managers: Sequence[Manager]) -> ManagerState:
    """The worst state among ``managers``."""
    return next((one for one in _WORST_FIRST if any(said.state == one for said in managers)), "unknown")
