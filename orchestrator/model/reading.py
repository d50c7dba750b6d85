"""The base of all readings: a frozen value that refuses unknown keys, with three-valued logic over its parts.

A part may be ``None``, which means unknown. Code in this module must never treat unknown as false. ``matches`` compares a
reading with the ``where`` of a runbook; the result is true, false or unknown.
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
        """Do the parts of the reading differ, for example after only one of two nodes obeyed? False without parts."""
        return False

    def remark(self, names: Collection[str]) -> str:
        """A text for people that is added to a sentence about the values of ``names``; empty for most readings."""
        return ""

    def means_something(self, name: str, *, is_alone: bool) -> bool:
        """Does the field ``name`` have a meaning with the present other values? If so, ``None`` is a missing answer.
        ``is_alone``: the site has one device."""
        del name, is_alone
        return True


class Item(ReadingModel):
    """One entry of a list in a reading. ``argument``: the name of the action's argument for the item. ``shown``: the
    fields that a question about an item shows."""

    argument: ClassVar[str] = "item"
    shown: ClassVar[tuple[str, ...]] = ()

    @property
    def key(self) -> str:
        """The value by which an action names this item. It is unique among the items of the service."""
        raise NotImplementedError(f"{type(self).__name__} has no key")


class Left(NamedTuple):
    """How a number that a wait follows is reported: ``1 client still connected``, ``3 s behind``. ``many``: the plural of
    ``one``, if it is not ``one`` with an s. ``at_risk``: if the wait ends before the number is 0, so many may be lost."""

    one: str
    rest: str
    many: str = ""
    at_risk: bool = False


class Reading(ReadingModel):
    """The base of readings. Its ``kind`` is written into the journal, so two families must not use the same kind.

    ``facets``: by facet, the field or property that holds it. The name of a property that runbooks may not use starts
    with ``_``. ``unit``: the unit of the backlog, in the singular. ``exclusive``: at most one site of a pair may serve.
    ``left``: by field, how the number is reported while a wait follows it. ``reaches``: this reading is used to find out
    whether the site answers at all. ``risk``: the name of the data that a lost site may leave behind, if this reading
    shows it (``queue``); an unplanned move reports the last known reading. ``sampled``: `watch` and `check` store this
    reading, for its course over time. ``surveyed``: the reading shows the state of a pair, and is not only for steps.
    ``pilot_field``: the field with the facet ``pilot``. Its name is the name of the manager in the family, and its text
    is the manager's own name.
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
        """The value with ``facet``. None: unknown, or this reading does not have the facet."""
        name = self.facets.get(facet)
        return None if name is None else getattr(self, name)

    def flag(self, facet: Facet) -> bool | None:
        """The value with ``facet`` if it is true or false, else None."""
        value = self.facet(facet)
        return value if isinstance(value, bool) else None

    def number(self, facet: Facet) -> int | None:
        """The value with ``facet`` if it is a number, else None."""
        value = self.facet(facet)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def left_behind(self, at: str) -> str:
        """The data that a site lost after ``at`` may have left behind, in words. Empty: this reading does not report
        it."""
        queued = self.number(Facet.BACKLOG)
        if queued is not None:
            return f"{counted(queued, self.unit)} queued for the mate at {at}"
        # A family without a backlog compares both ends: the mate reports the last number that it has applied.
        mark = None if Facet.BACKLOG in self.facets else self.number(Facet.MARK)
        return "" if mark is None else f"its last {self.unit or 'number'} was {mark:,} at {at}"


def items_of(reading: Reading | None) -> tuple[Item, ...] | None:
    """The items of the reading; None if it has no items that a ``for_each`` can work through."""
    items = getattr(reading, "items", None)
    return items if isinstance(items, tuple) and all(isinstance(one, Item) for one in items) else None


class OpaqueReading(Reading):
    """A reading of a family that is not installed: kept as it was recorded, without interpretation."""

    model_config = ConfigDict(extra="allow")


def all_of(states: Sequence[bool | None]) -> bool | None:
    """Three-valued "and": False if a state is False, unknown if a state is unknown or there is no state, else True."""
    if False in states:
        return False
    return None if not states or None in states else True


def none_of(states: Iterable[bool | None]) -> bool | None:
    """Three-valued "none of": False if a state is True, else unknown if a state is unknown, else True. True without
    states."""
    told = list(states)
    if True in told:
        return False
    return None if None in told else True


def sum_of(numbers: Iterable[int | None]) -> int | None:
    """The sum; unknown if a number is unknown. 0 without numbers."""
    total = 0
    for number in numbers:
        if number is None:
            return None
        total += number
    return total


Scalar = bool | int | float | str


class Elsewhere(BaseModel):
    """A value of the other site, from the same round of readings. This value is read first. The reading that is compared
    with it is asked for afterwards."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    on: Literal["source", "target"]
    reading: str
    field: str


class Bounds(BaseModel):
    """A ``where`` value that is a range, including both bounds. ``reaches``: the value must be at least this value of the
    other site. ``same_as``: the value must equal this value of the other site."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    at_least: float | None = None
    at_most: float | None = None
    reaches: Elsewhere | None = None
    same_as: Elsewhere | None = None

    @property
    def elsewhere(self) -> tuple[Elsewhere, ...]:
        """The values of the other site that the range needs."""
        return tuple(one for one in (self.reaches, self.same_as) if one is not None)


WhereValue = Scalar | Bounds | tuple[Scalar, ...]
Where = Mapping[str, WhereValue]


def field_names(model: type[Reading]) -> frozenset[str]:
    """The names that a ``where`` on this reading may use: its fields and its derived values."""
    return _names(model) - {"kind"}


def item_model(model: type[Reading]) -> type[Item] | None:
    """The model of the reading's items, if a ``for_each`` can work through them; else None."""
    found = get_args(get_type_hints(model).get("items"))
    is_item = bool(found) and isinstance(found[0], type) and issubclass(found[0], Item)
    return found[0] if is_item else None


def item_field_names(model: type[Reading]) -> frozenset[str]:
    """The names that a ``for_each`` on this reading may filter by; empty if the reading has no items."""
    item = item_model(model)
    return frozenset() if item is None else _names(item) - {"key"}


def _names(model: type[ReadingModel]) -> frozenset[str]:
    derived = {name for name, value in vars(model).items() if isinstance(value, property) and name[0] != "_"}
    return frozenset(model.model_fields) | derived


# Gives a value of the other site, as far as it was read; None: unknown.
Lookup = Callable[[Elsewhere], object]


def elsewhere_in(where: Where) -> Iterator[Elsewhere]:
    """All values of the other site that ``where`` compares with."""
    for wanted in where.values():
        if isinstance(wanted, Bounds):
            yield from wanted.elsewhere


def _not_read(place: Elsewhere) -> None:
    """The lookup without readings of the other site: every value is unknown."""
    del place


def matches(subject: ReadingModel, where: Where, lookup: Lookup = _not_read) -> bool | None:
    """Does the reading (or item) fit ``where``? None if a needed value is unknown and no value is wrong."""
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
    """The values of ``names`` for a sentence, such as ``role standby, not bound``, with the reading's ``remark``."""
    values = [_in_words(name, getattr(subject, name)) for name in names]
    return ", ".join([*values, *filter(None, [subject.remark(names)])])


def in_words(where: Where) -> str:
    """The values that readings must have, as a text for people, such as ``role standby, bound``."""
    return ", ".join(_in_words(name, value) for name, value in where.items())


def _in_words(name: str, value: object) -> str:
    if isinstance(value, bool):
        return yes_or_no(name, value)
    return f"{name.replace('_', ' ')} {_wanted(value)}"


# The third person of verbs that names of readings start with.
_VERBS = {
    f"{base}s": base
    for base in ("answer", "follow", "hold", "keep", "lead", "reject", "save", "serve", "take", "wait", "write")
} | {"has": "have", "knows": "know", "retries": "retry"}
_ADJECTIVES = frozenset(
    {"active", "bound", "clean", "empty", "gone", "heard", "known", "open", "present", "running", "serving"}
    | {"standby", "sync", "up", "waiting"}
)
_DENIES = frozenset({"no", "none", "not", "nothing", "never"})
# The program's own reading of a site that may be lost.
_IRREGULAR = {"role_known": ("reports its role", "does not report its role")}


def yes_or_no(name: str, value: bool) -> str:
    """A field that is true or false, as a predicate: ``bridge up``, ``bridge not up``, ``does not serve``. A name whose
    grammar is not known has ``yes`` or ``no`` behind it."""
    if name in _IRREGULAR:
        return _IRREGULAR[name][not value]
    words = name.split("_")
    first, rest, last = words[0], words[1:], words[-1]
    denied = ""
    if _DENIES.isdisjoint(words):
        if first in _VERBS:
            denied = " ".join(["does not", _VERBS[first], *rest])
        elif first in ("is", "can") and rest:
            denied = " ".join([{"is": "is not", "can": "cannot"}[first], *rest])
        elif not rest and (first in _ADJECTIVES or first.endswith(("ed", "able", "ible"))):
            denied = f"not {first}"
        elif rest and first.endswith(("ed", "ing", "caught", "kept")):
            denied = " ".join(["not", *words]) if last == "up" else ""
        elif rest and (last in _ADJECTIVES or last.endswith(("able", "ible"))):
            denied = " ".join([*words[:-1], "not", last])
    if not denied:
        return f"{' '.join(words)} {'yes' if value else 'no'}"
    return " ".join(words) if value else denied


def _wanted(value: object) -> str:
    match value:
        case None:
            return "unknown"
        case Bounds():
            ends = (("at least", value.at_least), ("at most", value.at_most))
            told = [f"{word} {end:g}" for word, end in ends if end is not None]
            told += [] if value.reaches is None else [f"at least {_place(value.reaches)}"]
            told += [] if value.same_as is None else [f"the same as {_place(value.same_as)}"]
            return " and ".join(told)
        case tuple():
            return " or ".join("yes" if one is True else "no" if one is False else _wanted(one) for one in value)
        case _:
            return str(value)


def _place(other: Elsewhere) -> str:
    return f"{other.field.replace('_', ' ')} of the {other.on}"
