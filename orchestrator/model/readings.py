"""The readings that do not belong to a family, and the access to the readings of families.

A reading never changes a device. Every value may be ``None``, which means *unknown*: the device did not report the value,
or the value applies only to the other side. Absent does not mean false. Families define their own readings
(``installed``). A recorded reading of a family that is not installed now is kept as it is, without interpretation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from functools import cache
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, SerializeAsAny

from orchestrator.model.facets import Facet
from orchestrator.model.installed import Installed, distributed, installed, installed_as, remembered
from orchestrator.model.other_manager import OtherManager
from orchestrator.model.reading import Item, OpaqueReading, Reading, item_model


class Role(StrEnum):
    """The role of a site. Only the active site serves clients, and at most one site of a pair may be active."""

    ACTIVE = "active"
    STANDBY = "standby"


class ExternalFence(Reading):
    """``external_fence``: whether a fence outside of the devices keeps clients off this site. The result comes from the
    check that belongs to the ``command`` of the site's fence plan. ``output``: the text that the check printed, shortened
    and without secrets."""

    kind: Literal["external_fence"] = "external_fence"
    closed: bool | None = None
    output: str = ""


class Reachability(Reading):
    """``reachability``: whether the site's management interface answers at all, and with which role. This reading never
    fails, because a missing answer is a result too. The fleet makes it from a reading that every site of its family
    has."""

    facets: ClassVar[Mapping[Facet, str]] = {Facet.SERVES: "_serves"}

    kind: Literal["reachability"] = "reachability"
    answers: bool
    role: Role | None = None
    why: str = ""

    @property
    def role_known(self) -> bool:
        """Did the site report its role?"""
        return self.role is not None

    @property
    def _serves(self) -> bool | None:
        return None if self.role is None else self.role is Role.ACTIVE


class SiteClaims(Reading):
    """``site_claims``: which other services rely on a thing of a whole site, or are changing it. The journal answers, not
    a device, so runbooks cannot name this reading.

    ``granted``: the requested claim is recorded. Otherwise ``others`` are the services that prevent it, each with its
    run. ``is_waiting``: these services are still under way, so a later request may be granted.
    """

    kind: Literal["site_claims"] = "site_claims"
    thing: str
    wish: Literal["hold", "release", "leave"]
    granted: bool
    others: tuple[str, ...] = ()
    is_waiting: bool = False


_COMMON: tuple[type[Reading], ...] = (ExternalFence, Reachability, OtherManager)


@remembered
def known_readings() -> Mapping[str, type[Reading]]:
    """By ``kind``, the models of recorded readings: the common readings, and those of the installed families.

    A kind that two families claim belongs to neither (``clashes``), because a record could not say which family it means.
    For a family in a file, the kind begins with the family, as in ``redis/server``. For other families, the kind is the
    name of the reading.
    """
    return _sole(_claimed(installed()))


def known_reading(kind: str) -> type[Reading] | None:
    """The model of a recorded reading of this kind; None: unknown. The files of families are read only for the kind of a
    family in a file."""
    return (known_readings() if "/" in kind else _without_files()).get(kind)


@cache
def _without_files() -> Mapping[str, type[Reading]]:
    return _sole(_claimed(distributed()))


def _sole(claimed: Mapping[str, list[type[Reading]]]) -> dict[str, type[Reading]]:
    return {kind: models[0] for kind, models in claimed.items() if len(set(models)) == 1}


def clashes() -> Mapping[str, list[type[Reading]]]:
    """The kinds that more than one model claims."""
    return {kind: models for kind, models in _claimed(installed()).items() if len(set(models)) > 1}


def _claimed(known: Installed) -> dict[str, list[type[Reading]]]:
    claimed: dict[str, list[type[Reading]]] = {}
    for model in (*_COMMON, *_of_families(known)):
        claimed.setdefault(kind_of(model), []).append(model)
    return claimed


def _of_families(known: Installed) -> Iterable[type[Reading]]:
    for family in known.families.values():
        readings = getattr(family, "readings", {})
        yield from (one for one in readings.values() if isinstance(one, type) and issubclass(one, Reading))


def reading_called(reading: str, family: str) -> type[Reading] | None:
    """The reading that a runbook of ``family`` means by the name ``reading``; None: unknown. If no family of this name is
    installed, as with an operator's own runbook, the name must belong to exactly one reading."""
    found = installed_as(family)
    if found is not None:
        own = getattr(found, "readings", {}).get(reading)
        return own or next((one for one in _COMMON if kind_of(one) == reading), None)
    named = [model for kind, model in known_readings().items() if kind.rpartition("/")[2] == reading]
    return named[0] if len(named) == 1 else None


def name_of(reading: Reading) -> str:
    """The name of the reading in runbooks."""
    return reading.kind.rpartition("/")[2]


def is_backlog(reading: str, field: str, family: str) -> bool:
    """Does the field show how much a site still holds for its mate, or how far the mate has applied it? Not clients,
    seconds or any other number that a wait may follow. ``family``: of the runbook."""
    model = reading_called(reading, family)
    return model is not None and field in (model.facets.get(Facet.BACKLOG), model.facets.get(Facet.REACHED))


def counts_at_risk(reading: str, field: str, family: str) -> bool:
    """Is the number in this field the most that may be lost if the wait ends before the number is 0?"""
    model = reading_called(reading, family)
    said = None if model is None else model.left.get(field)
    return is_backlog(reading, field, family) or (said is not None and said.at_risk)


def item_argument(reading: str, family: str) -> str:
    """The name of the action's argument for an item of ``reading``. ``family``: of the runbook."""
    model = reading_called(reading, family)
    item = None if model is None else item_model(model)
    return Item.argument if item is None else item.argument


def item_arguments() -> frozenset[str]:
    """The names of the arguments for items in the actions of all families."""
    items = (item_model(model) for model in known_readings().values())
    return frozenset({Item.argument, *(item.argument for item in items if item is not None)})


def kind_of(model: type[Reading]) -> str:
    """The ``kind`` of the model's records."""
    return str(model.model_fields["kind"].default)


_DECODED: Mapping[str, type[Reading]] = {"site_claims": SiteClaims}  # the journal's reading: runbooks cannot name it


def decoded(value: object) -> object:
    """A recorded reading as the model of its kind. Raises ``ValidationError`` if the record does not fit the model."""
    if not isinstance(value, Mapping):
        return value
    kind = value.get("kind")
    model = _DECODED.get(str(kind)) or known_reading(str(kind))
    return OpaqueReading.model_validate(value) if model is None else model.model_validate(value)


AnyReading = Annotated[SerializeAsAny[Reading], BeforeValidator(decoded)]
