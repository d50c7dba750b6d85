"""What every reading is: a frozen value that refuses unknown keys, and three-valued logic over its parts.

A part may be ``None``, which means unknown. Nothing here may take unknown for false. ``matches`` compares a reading with
the ``where`` of a runbook in three values: true, false, unknown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import ClassVar, NamedTuple, get_args, get_type_hints

from pydantic import BaseModel, ConfigDict

from orchestrator.counting import counted
from orchestrator.model.facets import Facet


class ReadingModel(BaseModel):
    """The base of readings and of the items in them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def is_mixed(self) -> bool:
        """Do its parts say different things, as when one node of two has obeyed? Never said of what has no parts."""
        return False

    def remark(self, names: Collection[str]) -> str:
        """What a sentence about the values of ``names`` adds for a person; empty for most readings."""
        return ""

    def means_something(self, name: str, *, is_alone: bool) -> bool:
        """Has the field ``name`` a meaning beside its other values, so that ``None`` is an answer that is missing?
        ``is_alone``: the site has one device."""
        del name, is_alone
        return True


class Item(ReadingModel):
    """One of many that a reading lists. ``argument``: what an action calls the one it works on. ``shown``: the fields
    that a question about one shows."""

    argument: ClassVar[str] = "item"
    shown: ClassVar[tuple[str, ...]] = ()

    @property
    def key(self) -> str:
        """What an action names this item by, and what tells it from the others of its service."""
        raise NotImplementedError(f"{type(self).__name__} has no key")


class Left(NamedTuple):
    """How a number that a wait follows is said: ``1 client still connected``, ``3 s behind``. ``many``: the plural of
    ``one``, where it is not ``one`` with an s. ``at_risk``: whoever goes on before it is 0 may lose so many."""

    one: str
    rest: str
    many: str = ""
    at_risk: bool = False


class Reading(ReadingModel):
    """The base of readings. Its ``kind`` is written into the journal, so no two families may have the same.

    ``facets``: by facet, the field or property that has it; of a derived one that is no word for runbooks, a name with
    a ``_`` in front. ``unit``: what the backlog counts, in the singular. ``exclusive``: at most one site of a pair may
    serve. ``left``: by field, how it is said while a wait follows it. ``reaches``: it is asked to learn whether the site
    answers at all. ``risk``: what decides what a lost site leaves behind, as this reading tells it (``queue``); the last
    known one is told with an unplanned move. ``sampled``: `watch` and `check` keep it, for its course over time.
    """

    facets: ClassVar[Mapping[Facet, str]] = {}
    unit: ClassVar[str] = ""
    exclusive: ClassVar[bool] = True
    left: ClassVar[Mapping[str, Left]] = {}
    reaches: ClassVar[bool] = False
    risk: ClassVar[str] = ""
    sampled: ClassVar[bool] = False

    kind: str

    def facet(self, facet: Facet) -> object:
        """The value that has ``facet``; None: unknown, or this reading has none."""
        name = self.facets.get(facet)
        return None if name is None else getattr(self, name)

    def flag(self, facet: Facet) -> bool | None:
        """The same of a facet that is true or false."""
        value = self.facet(facet)
        return value if isinstance(value, bool) else None

    def number(self, facet: Facet) -> int | None:
        """The same of a facet that is a number."""
        value = self.facet(facet)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def left_behind(self, at: str) -> str:
        """What a site that was lost after ``at`` may have left behind, in words; empty: this reading does not tell it."""
        queued = self.number(Facet.BACKLOG)
        return "" if queued is None else f"{counted(queued, self.unit)} queued for the mate at {at}"


def items_of(reading: Reading | None) -> tuple[Item, ...] | None:
    """What the reading lists; None where it lists nothing that a ``for_each`` can work through."""
    items = getattr(reading, "items", None)
    return items if isinstance(items, tuple) and all(isinstance(one, Item) for one in items) else None


class OpaqueReading(Reading):
    """A reading of a family that is not installed: kept as it was recorded, and understood by nobody."""

    model_config = ConfigDict(extra="allow")


def all_of(states: Sequence[bool | None]) -> bool | None:
    """Three-valued and: False if one is, unknown if one is or there is none, else True."""
    if False in states:
        return False
    return None if not states or None in states else True


def none_of(states: Iterable[bool | None]) -> bool | None:
    """Three-valued: False if one is true, else unknown if one is, else True; of none it is true."""
    told = list(states)
    if True in told:
        return False
    return None if None in told else True


def sum_of(numbers: Iterable[int | None]) -> int | None:
    """The sum, unknown if a part is; of none it is 0."""
    total = 0
    for number in numbers:
        if number is None:
            return None
        total += number
    return total


Scalar = bool | int | float | str


class Bounds(BaseModel):
    """A ``where`` value that is a range; both ends belong to it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at_least: float | None = None
    at_most: float | None = None


WhereValue = Scalar | Bounds | tuple[Scalar, ...]
Where = Mapping[str, WhereValue]


def field_names(model: type[Reading]) -> frozenset[str]:
    """The names a ``where`` on this reading may use: its fields and its derived values."""
    return _names(model) - {"kind"}


def item_model(model: type[Reading]) -> type[Item] | None:
    """What the reading lists, if a ``for_each`` can work through it."""
    found = get_args(get_type_hints(model).get("items"))
    is_item = bool(found) and isinstance(found[0], type) and issubclass(found[0], Item)
    return found[0] if is_item else None


def item_field_names(model: type[Reading]) -> frozenset[str]:
    """The names a ``for_each`` on this reading may filter by; empty when the reading has no items."""
    item = item_model(model)
    return frozenset() if item is None else _names(item) - {"key"}


def _names(model: type[ReadingModel]) -> frozenset[str]:
    derived = {name for name, value in vars(model).items() if isinstance(value, property) and name[0] != "_"}
    return frozenset(model.model_fields) | derived


def matches(subject: ReadingModel, where: Where) -> bool | None:
    """Does the reading (or item) fit ``where``? None when a value that matters is unknown and none is wrong."""
    verdict: bool | None = True
    for name, wanted in where.items():
        fits = _fits(getattr(subject, name), wanted)
        if fits is False:
            return False
        if fits is None:
            verdict = None
    return verdict


def _fits(value: object, wanted: WhereValue) -> bool | None:
    if value is None:
        return None
    if isinstance(wanted, Bounds):
        if not isinstance(value, int | float):
            return False
        low = wanted.at_least is None or value >= wanted.at_least
        return low and (wanted.at_most is None or value <= wanted.at_most)
    if isinstance(wanted, tuple):
        return any(value == one for one in wanted)
    return value == wanted


def describe(subject: ReadingModel, names: Sequence[str]) -> str:
    """``role standby, bridge unknown``: the values of ``names`` for a sentence, with the reading's ``remark``."""
    values = [f"{name.replace('_', ' ')} {_word(getattr(subject, name))}" for name in names]
    return ", ".join([*values, *filter(None, [subject.remark(names)])])


def _word(value: object) -> str:
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)
