"""The readings that belong to no family, and the door to those that do.

A reading never changes a device. Every value may be ``None``, which means *unknown*: the device did not say, or what
it said applies to the other side only. Absent is not false. Families bring their own (``installed``); one that was
recorded by a family that is not here now stays as it is, and is understood by no one.
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
    """Who serves clients: at most one site of a pair may be active."""

    ACTIVE = "active"
    STANDBY = "standby"


class ExternalFence(Reading):
    """``external_fence``: are clients kept off this site by a means outside of its devices? The word of the check that
    belongs to the command of the site's fence plan; ``output`` is what it said besides, cut and without secrets."""

    kind: Literal["external_fence"] = "external_fence"
    closed: bool | None = None
    output: str = ""


class Reachability(Reading):
    """``reachability``: does the site's management answer at all, and if so with which role? Always had: that no one
    answers is an answer. Made by the fleet from a reading that every site of its family has."""

    facets: ClassVar[Mapping[Facet, str]] = {Facet.SERVES: "_serves"}

    kind: Literal["reachability"] = "reachability"
    answers: bool
    role: Role | None = None
    why: str = ""

    @property
    def role_known(self) -> bool:
        """Did the site say which role it has?"""
        return self.role is not None

    @property
    def _serves(self) -> bool | None:
        return None if self.role is None else self.role is Role.ACTIVE


class SiteClaims(Reading):
    """``site_claims``: who else relies on something that belongs to a whole site, or is changing it. The journal
    answers, not a device, so no runbook names it.

    ``granted``: the claim that was wished for is recorded. Otherwise ``others`` are the services that are in the way,
    each with its run, and ``is_waiting`` says that they are still under way, so that asking again may help.
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
    """By ``kind``, what every recorded reading may be: the common ones, and those of the installed families.

    A kind that two families claim belongs to neither (``clashes``): a record could not say whose it is. The kind of one
    of a family in a file begins with the family, ``redis/server``; that of the others is its name.
    """
    return _sole(_claimed(installed()))


def known_reading(kind: str) -> type[Reading] | None:
    """What a recorded reading of this kind is; None: not known. The files of families are read only for the kind of a
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
    """What a runbook of ``family`` means by the name ``reading``; None: not known here. A runbook of the operator's own
    has no family of its name; then the name must be that of one reading alone."""
    found = installed_as(family)
    if found is not None:
        own = getattr(found, "readings", {}).get(reading)
        return own or next((one for one in _COMMON if kind_of(one) == reading), None)
    named = [model for kind, model in known_readings().items() if kind.rpartition("/")[2] == reading]
    return named[0] if len(named) == 1 else None


def name_of(reading: Reading) -> str:
    """What runbooks call it."""
    return reading.kind.rpartition("/")[2]


def is_backlog(reading: str, field: str, family: str) -> bool:
    """Is it what a site still holds for its mate, or how far the mate has got with it? Not clients, seconds or anything
    else that a wait may follow. ``family``: of the runbook."""
    model = reading_called(reading, family)
    return model is not None and field in (model.facets.get(Facet.BACKLOG), model.facets.get(Facet.REACHED))


def counts_at_risk(reading: str, field: str, family: str) -> bool:
    """Is so much lost, at most, by whoever does not wait until it is 0?"""
    model = reading_called(reading, family)
    said = None if model is None else model.left.get(field)
    return is_backlog(reading, field, family) or (said is not None and said.at_risk)


def item_argument(reading: str, family: str) -> str:
    """What an action calls the item of ``reading`` that it works on. ``family``: of the runbook."""
    model = reading_called(reading, family)
    item = None if model is None else item_model(model)
    return Item.argument if item is None else item.argument


def item_arguments() -> frozenset[str]:
    """What the actions of all families call their items."""
    items = (item_model(model) for model in known_readings().values())
    return frozenset({Item.argument, *(item.argument for item in items if item is not None)})


def kind_of(model: type[Reading]) -> str:
    """What its records are told by."""
    return str(model.model_fields["kind"].default)


_DECODED: Mapping[str, type[Reading]] = {"site_claims": SiteClaims}  # the journal's own: no runbook names it


def decoded(value: object) -> object:
    """A recorded reading as the model of its kind. Raises ``ValidationError`` for one that does not fit its model."""
    if not isinstance(value, Mapping):
        return value
    kind = value.get("kind")
    model = _DECODED.get(str(kind)) or known_reading(str(kind))
    return OpaqueReading.model_validate(value) if model is None else model.model_validate(value)


AnyReading = Annotated[SerializeAsAny[Reading], BeforeValidator(decoded)]
