"""The content of a simulated pair of a declared family, as plain data.

All knowledge of the family comes from its file: the effects of each action, and the rules that follow (``model``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from orchestrator.errors import DefinitionError
from orchestrator.model.declared.file import ActionFile, FamilyFile, ReadingFile, managers_in
from orchestrator.model.declared.requests import ModelFile

# The protocols of a site: the keys of a reading or an action.
WAYS = ("sql", "exec", "ssh", "http", "nats")


class _Plain(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ActionLayout(_Plain):
    """``makes``: the state of a site after the action. ``way``: one of ``WAYS``, or empty. ``parts``: the number of
    requests. ``whole_site``: the action runs once for all services. ``item``: the argument that names an item. The
    action removes that item from the list."""

    makes: Mapping[str, bool] = Field(default_factory=dict)
    way: str = ""
    parts: int = 1
    whole_site: bool = False
    item: str = ""


class ItemLayout(_Plain):
    """An item that a reading lists at the site that serves first."""

    reading: str
    key: str
    fields: Mapping[str, str | int | float | bool | None] = Field(default_factory=dict)


class GenericService(_Plain):
    """``rate``: units written each second by ``clients``. ``drain``: units that a healthy link carries each second.
    ``waiting``: units that the target lacks when the world starts. ``lingers``: seconds for which clients stay connected
    to a site that no longer serves."""

    name: str
    rate: float = Field(default=50.0, ge=0)
    drain: float = Field(default=500.0, gt=0)
    waiting: int = Field(default=0, ge=0)
    clients: int = Field(default=3, ge=0)
    lingers: float = Field(default=0.2, ge=0)
    in_doubt: int = Field(default=0, ge=0)
    items: tuple[ItemLayout, ...] = ()


class GenericLayout(_Plain):
    """The pair at the start. ``source``: the site that serves. ``readings``: maps names to one of ``WAYS``.
    ``managers``: the managers besides this program that readings show. ``model``: see ``FamilyFile``. ``latency``:
    seconds that a request takes. ``lag``: seconds by which a healthy link is behind while clients write. ``noticed``:
    seconds until a site shows that its link is gone."""

    family: str
    sites: tuple[str, str]
    source: str
    services: tuple[GenericService, ...] = Field(min_length=1)
    actions: Mapping[str, ActionLayout]
    readings: Mapping[str, str] = Field(default_factory=dict)
    managers: tuple[str, ...] = ()
    model: Mapping[str, tuple[bool, bool] | ModelFile] = Field(default_factory=dict)
    latency: float = Field(default=0.005, ge=0)
    lag: float = Field(default=0.05, ge=0)
    noticed: float = Field(default=0.5, ge=0)

    def mate_of(self, site: str) -> str:
        """The other site. Raises ``DefinitionError`` for an unknown site."""
        if site not in self.sites:
            raise DefinitionError(f"the simulated pair has no site {site}; it has {' and '.join(self.sites)}")
        return self.sites[1] if site == self.sites[0] else self.sites[0]


def actions_of(file: FamilyFile) -> dict[str, ActionLayout]:
    """The actions of a family, from its file."""
    items = {one.items.argument for one in file.readings.values() if one.items is not None}
    return {
        name: ActionLayout(
            makes=dict(one.makes),
            way=_way(one),
            parts=one.parts,
            whole_site=one.per == "site",
            item=next((argument for argument in one.arguments if argument in items), ""),
        )
        for name, one in file.actions.items()
    }


def _way(one: ReadingFile | ActionFile) -> str:
    return next((name for name in WAYS if getattr(one, name, None) is not None), "")


def generic_layout(file: FamilyFile, **more: Any) -> GenericLayout:
    """A layout of this family. ``more``: the other fields of ``GenericLayout``."""
    ways = {name: _way(one) for name, one in file.readings.items()}
    managers = tuple(managers_in(file))
    return GenericLayout(
        family=file.family, actions=actions_of(file), readings=ways, managers=managers, model=file.model, **more
    )
