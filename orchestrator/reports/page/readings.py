"""The readings of a run in words, for any family. A reading is listed with all its fields, if a value changed."""

from __future__ import annotations

from orchestrator.clock import iso
from orchestrator.model import events as ev
from orchestrator.model.reading import Item, Reading, ReadingModel, describe
from orchestrator.reports.page.story import ReadingStory

_ITEMS_MAX = 12


class ReadingsStory:
    """Collects the readings of one service. A repeated reading with the same values only increases a count."""

    def __init__(self, plan: ev.Plan) -> None:
        self._plan = plan
        self._found: list[ReadingStory] = []
        self._last: dict[tuple[str, str], int] = {}

    def take(self, event: ev.Observed) -> None:
        """Add one round of readings."""
        for seen in event.seen:
            self._see(seen)

    @property
    def found(self) -> tuple[ReadingStory, ...]:
        """The readings, in the order in which each was first read."""
        return tuple(self._found)

    def _see(self, seen: ev.Seen) -> None:
        site, at = self._plan.site_name(seen.on), iso(seen.asked_at)
        text, is_failure = said(seen)
        last = self._last.get((seen.on, seen.reading))
        if last is not None and (self._found[last].text, self._found[last].is_failure) == (text, is_failure):
            again = {"times": self._found[last].times + 1, "last_at": at}
            self._found[last] = self._found[last].model_copy(update=again)
            return
        self._last[seen.on, seen.reading] = len(self._found)
        self._found.append(
            ReadingStory(
                at=at, last_at=at, site=site, reading=seen.reading, text=text, times=1, is_failure=is_failure
            )
        )


def said(seen: ev.Seen) -> tuple[str, bool]:
    """The values of a reading in one sentence, and False. If the reading failed, the reason and True."""
    if seen.value is None:
        failure = seen.failure
        return ("no answer" if failure is None else f"{failure.kind}: {failure.text}"), True
    return values(seen.value), False


def values(reading: Reading) -> str:
    """The values as text, such as ``role standby, bridge unknown``. Of a list, only the first items are named."""
    plain: list[str] = []
    more: list[str] = []
    for name in type(reading).model_fields:
        value = getattr(reading, name)
        if name == "kind":
            continue
        if isinstance(value, ReadingModel):
            more.append(f"{_spoken(name)}: {_parts(value)}")
        elif isinstance(value, tuple):
            more.append(f"{_spoken(name)}: {_listed(value)}")
        else:
            plain.append(name)
    extra = reading.model_extra or {}  # the fields of a family that is not installed
    opaque = [f"{_spoken(name)} {value}" for name, value in extra.items() if name != "kind"]
    told = [describe(reading, plain)] if plain else []
    return "; ".join([*told, *opaque, *more]) or "nothing"


def _parts(model: ReadingModel) -> str:
    return describe(model, [name for name in type(model).model_fields if name != "kind"])


def _listed(values: tuple[object, ...]) -> str:
    if not values:
        return "none"
    shown = [_one(value) for value in values[:_ITEMS_MAX]]
    more = f" and {len(values) - _ITEMS_MAX} more" if len(values) > _ITEMS_MAX else ""
    return f"{len(values)}: " + ", ".join(shown) + more


def _one(value: object) -> str:
    if isinstance(value, Item):
        # An age differs in each reading, so it does not count as a change.
        names = [name for name in value.shown if not name.endswith("_s") and hasattr(value, name)]
        return f"{value.key} ({describe(value, names)})" if names else value.key
    return _parts(value) if isinstance(value, ReadingModel) else str(value)


def _spoken(name: str) -> str:
    return name.replace("_", " ")
