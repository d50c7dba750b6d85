"""The counts of one endpoint. Each answer of the engine adds to them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pipeline.engines.executor import Row
from pipeline.layout import MICROS
from pipeline.report import NO_WHY, Clocks, Holding, Uncommon
from pipeline.rows import SOW, EndpointKey


class Later(NamedTuple):
    """How many microseconds later the right site spooled the common messages: mean (``middle``), least and
    greatest of ``samples``."""

    middle: float
    samples: int
    least: int
    greatest: int


@dataclass(slots=True)
class Tally:
    """Counts of one endpoint. ``others``: buckets whose content differs between the sites. ``found``: buckets in which a
    difference was found. ``span``: the first and last time at which a differing message was spooled."""

    left: Holding
    right: Holding
    unverified: int
    buckets: int
    others: int
    is_in_question: bool
    first_common_l: int | None
    first_common_r: int | None
    buckets_drilled: int = 0
    clusters_apart: int = 0
    rows_drilled: int = 0
    found: int | None = None
    differences: int = 0
    missing: int = 0
    extra: int = 0
    surplus_l: int = 0
    surplus_r: int = 0
    copies_at_both: int = 0
    changed: int = 0
    order_breaks: int = 0
    order_by_priority: int = 0
    span: tuple[float, float] | None = None
    by_why: dict[str, Counter[str]] = field(default_factory=lambda: {"missing": Counter(), "extra": Counter()})
    before: dict[str, Counter[str]] = field(default_factory=lambda: {"missing": Counter(), "extra": Counter()})
    may_have_expired: Counter[str] = field(default_factory=Counter)
    later: list[Later] = field(default_factory=list)

    @classmethod
    def of(cls, row: Row) -> Tally:
        """A tally from the sums over the endpoint's buckets (section ``endpoints``)."""
        return cls(
            left=_holding(row, "l"),
            right=_holding(row, "r"),
            unverified=row["unverified"],
            buckets=row["buckets"],
            others=row["others"],
            is_in_question=row["is_in_question"],
            first_common_l=row["common_l"],
            first_common_r=row["common_r"],
            later=_later(row),
        )

    @classmethod
    def empty(cls) -> Tally:
        """The tally of an endpoint without messages."""
        return cls(Holding(), Holding(), 0, 0, 0, False, None, None)

    @property
    def rows(self) -> int:
        """The number of messages of both sides."""
        return self.left.messages + self.right.messages

    @property
    def unresolved(self) -> int:
        """The number of buckets whose content differs, but in which no difference was found."""
        return self.others if self.found is None else max(0, self.others - self.found)

    def add_chosen(self, row: Row) -> None:
        """Add the counts of the buckets to read in detail (section ``chosen``)."""
        self.unverified = row["unverified"]
        self.first_common_l, self.first_common_r = row["common_l"], row["common_r"]
        self.buckets_drilled = row["buckets_drilled"]
        self.clusters_apart = row["clusters_apart"]
        self.rows_drilled = row["rows_drilled"]

    def add_messages(self, row: Row, *, is_all: bool) -> None:
        """Add the sums over the messages that were read in detail (section ``sums``). ``is_all``: all messages were."""
        self.found = row["found"]
        self.later += _later(row)
        self.differences = row["differences"]
        self.missing, self.extra = row["missing"], row["extra"]
        self.surplus_l, self.surplus_r = row["surplus_l"], row["surplus_r"]
        self.copies_at_both = row["copies_at_both"]
        self.changed = row["changed"]
        self.unverified = row["unverified"] + (0 if is_all else self.unverified)
        if row["differences"]:
            self.span = (row["first_at"] / MICROS, row["last_at"] / MICROS)
        if is_all:
            self.first_common_l, self.first_common_r = row["common_l"], row["common_r"]
        else:
            self.first_common_l = _lower(self.first_common_l, row["common_l"])
            self.first_common_r = _lower(self.first_common_r, row["common_r"])

    def add_breaks(self, row: Row) -> None:
        """Add the breaks of order (section ``breaks``)."""
        self.order_breaks, self.order_by_priority = row["breaks"], row["ranked"]

    def add_uncommon(self, row: Row) -> None:
        """Add the number of messages with the same class (missing or extra) and the same explanation."""
        self.by_why[row["class"]][row["why"]] += row["count"]
        if row["is_before"]:
            self.before[row["class"]][row["why"]] += row["count"]
            if row["why"] == NO_WHY and row["may_expire"]:
                self.may_have_expired[row["class"]] += row["count"]

    def has(self, name: str) -> bool:
        """Is there any difference of this class?"""
        numbers = {"duplicate": self.surplus_l + self.surplus_r, "changed": self.changed}
        return bool(numbers[name] if name in numbers else self.by_why[name])

    def uncommon(self, name: str) -> Uncommon:
        """The missing or the extra messages."""
        return Uncommon(
            by_why=dict(self.by_why[name]),
            before_failover=dict(self.before[name]),
            may_have_expired=self.may_have_expired[name],
        )


def clocks_of(tallies: Mapping[EndpointKey, Tally]) -> dict[str, Clocks]:
    """The time between the sites' spooling of common messages, by service. SOW records are left out, because their times
    differ by design."""
    found: dict[str, list[Later]] = {}
    for key, tally in tallies.items():
        if key.kind != SOW:
            found.setdefault(key.service, []).extend(tally.later)
    return {service: _clocks(sorted(some)) for service, some in found.items() if some}


def _clocks(ordered: Sequence[Later]) -> Clocks:
    total, seen = sum(one.samples for one in ordered), 0
    middle = ordered[-1].middle
    for one in ordered:
        seen += one.samples
        if 2 * seen >= total:
            middle = one.middle
            break
    return Clocks(
        least_s=min(one.least for one in ordered) / MICROS,
        middle_s=middle / MICROS,
        greatest_s=max(one.greatest for one in ordered) / MICROS,
    )


def _later(row: Row) -> list[Later]:
    if not row["samples"]:
        return []
    return [Later(row["later_middle"], row["samples"], row["later_least"], row["later_greatest"])]


def _holding(row: Row, side: str) -> Holding:
    return Holding(
        messages=row[f"n_{side}"],
        local=row[f"local_{side}"],
        bytes=row[f"bytes_{side}"] or 0,
        oldest_at=_seconds(row[f"oldest_{side}"]),
        newest_at=_seconds(row[f"newest_{side}"]),
    )


def _seconds(micros: int | None) -> float | None:
    return None if micros is None else micros / MICROS


def _lower(one: int | None, other: int | None) -> int | None:
    return min((value for value in (one, other) if value is not None), default=None)
