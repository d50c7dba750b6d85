"""What every reading is: a frozen value that refuses unknown keys, and three-valued logic over its parts.

A part may be ``None``, which means unknown. Nothing here may take unknown for false. ``matches`` compares a reading with
the ``where`` of a runbook in three values: true, false, unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple, get_args, get_type_hints

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
    """How a number that a wait follows is reported: ``1 client still connected``, ``3 s behind``. ``many``: the plural of
    ``one``, where it is not ``one`` with an s. ``at_risk``: whoever continues before it is 0 may lose so many."""

    one: str
    rest: str
    many: str = ""
    at_risk: bool = False


class Reading(ReadingModel):
    """The base of readings. Its ``kind`` is written into the journal, so no two families may have the same.

    ``facets``: by facet, the field or property that has it; of a derived one that is no word for runbooks, a name with
    a ``_`` in front. ``unit``: what the backlog counts, in the singular. ``exclusive``: at most one site of a pair may
    serve. ``left``: by field, how it is reported while a wait follows it. ``reaches``: it is asked to learn whether
    the site answers at all. ``risk``: what decides what a lost site leaves behind, as this reading tells it
    (``queue``); the last known one is told with an unplanned move. ``sampled``: `watch` and `check` keep it, for its
    course over time. ``surveyed``: it is read to learn how a pair is, not by steps alone. ``pilot_field``: the field by
    which the manager of its facet ``pilot`` is called, and whose text is how that calls itself.
    """

    facets: ClassVar[Mapping[Facet, str]] = {}
    unit: ClassVar[str] = ""
    exclusive: ClassVar[bool] = True
    left: ClassVar[Mapping[str, Left]] = {}
    reaches: ClassVar[bool] = False
    risk: ClassVar[str] = ""
    sampled: ClassVar[bool] = False
    surveyed: ClassVar[bool] = True
    pilot_field: ClassVar[str] = ""

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
        """What a site that was lost after ``at`` may have left behind, in words; empty: this reading does not report
        it."""
        queued = self.number(Facet.BACKLOG)
        if queued is not None:
            return f"{counted(queued, self.unit)} queued for the mate at {at}"
        # If both ends are compared, the mate reports how far it is.
        mark = None if Facet.BACKLOG in self.facets else self.number(Facet.MARK)
        return "" if mark is None else f"its last {self.unit or 'number'} was {mark:,} at {at}"


def items_of(reading: Reading | None) -> tuple[Item, ...] | None:
    """What the reading lists; None where it lists nothing that a ``for_each`` can work through."""
    items = getattr(reading, "items", None)
    return items if isinstance(items, tuple) and all(isinstance(one, Item) for one in items) else None


class OpaqueReading(Reading):
    """A reading of a family that is not installed: kept as it was recorded, and understood by no one."""

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


class Elsewhere(BaseModel):
    """A value of the other site, as the same round of readings has it. It is read first: what is compared with it is
    asked for once it is known."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    on: Literal["source", "target"]
    reading: str
    field: str


class Bounds(BaseModel):
    """A ``where`` value that is a range; both ends belong to it. ``reaches``: it is at least this value of the other
    site; ``same_as``: it is equal to it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at_least: float | None = None
    at_most: float | None = None
    reaches: Elsewhere | None = None
    same_as: Elsewhere | None = None

    @property
    def elsewhere(self) -> tuple[Elsewhere, ...]:
        """The values of the other site that it needs."""
        return tuple(one for one in (self.reaches, self.same_as) if one is not None)


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


# What a value of the other site is, as far as it was read; None: unknown.
Lookup = Callable[[Elsewhere], object]


def elsewhere_in(where: Where) -> Iterator[Elsewhere]:
    """The values of the other site that ``where`` compares with."""
    for wanted in where.values():
        if isinstance(wanted, Bounds):
            yield from wanted.elsewhere


def _not_read(place: Elsewhere) -> None:
    """Nothing of the other site is known."""
    del place


def matches(subject: ReadingModel, where: Where, lookup: Lookup = _not_read) -> bool | None:
    """Does the reading (or item) fit ``where``? None when a value that matters is unknown and none is wrong."""
    verdict: bool | None = True
    for name, wanted in where.items():
        fits = _fits(getattr(subject, name), wanted, lookup)
        if fits is False:
            return False
        if fits is None:
            verdict = None
    return verdict


def _fits(value: object, wanted: WhereValue, lookup: Lookup) -> bool | None:
    if value is None:
        return None
    if isinstance(wanted, Bounds):
        return _in_bounds(value, wanted, lookup)
    if isinstance(wanted, tuple):
        return any(value == one for one in wanted)
    return value == wanted


def _in_bounds(value: object, wanted: Bounds, lookup: Lookup) -> bool | None:
    fits: list[bool | None] = []
    if wanted.same_as is not None:
        other = lookup(wanted.same_as)
        fits.append(None if other is None else value == other)
    if wanted.reaches is not None:
        other = lookup(wanted.reaches)
        known = isinstance(other, int | float) and isinstance(value, int | float)
        fits.append(None if other is None else known and value >= other)  # type: ignore[operator]  # known checked it
    if wanted.at_least is not None:
        fits.append(isinstance(value, int | float) and value >= wanted.at_least)
    if wanted.at_most is not None:
        fits.append(isinstance(value, int | float) and value <= wanted.at_most)
    return all_of(fits) if fits else isinstance(value, int | float)


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


def in_words(where: Where) -> str:
    """``role standby, bridge bound``: the values that readings must have, for people."""
    return ", ".join(f"{name.replace('_', ' ')} {_wanted(value)}" for name, value in where.items())


def _wanted(value: object) -> str:
    match value:
        case bool():
            return "yes" if value else "no"
        case Bounds():
            ends = (("at least", value.at_least), ("at most", value.at_most))
            told = [f"{word} {end:g}" for word, end in ends if end is not None]
            told += [] if value.reaches is None else [f"at least {_place(value.reaches)}"]
            told += [] if value.same_as is None else [f"the same as {_place(value.same_as)}"]
            return " and ".join(told)
        case tuple():
            return " or ".join(_wanted(one) for one in value)
        case _:
            return str(value)


def _place(other: Elsewhere) -> str:
    return f"{other.field.replace('_', ' ')} of the {other.on}"
