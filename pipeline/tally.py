"""What is counted for one endpoint, as the answers of the jobs come in."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from pyspark.sql import Row

from pipeline.layout import MICROS
from pipeline.report import Holding, Uncommon


@dataclass(slots=True)
class Tally:
    """Counts of one endpoint. ``span``: the first and last moment at which a differing message was spooled."""

    left: Holding
    right: Holding
    unverified: int
    buckets: int
    buckets_drilled: int
    clusters_apart: int
    rows_drilled: int
    first_common_l: int | None
    first_common_r: int | None
    differences: int = 0
    surplus_l: int = 0
    surplus_r: int = 0
    copies_at_both: int = 0
    changed: int = 0
    order_breaks: int = 0
    span: tuple[float, float] | None = None
    by_why: dict[str, Counter[str]] = field(default_factory=lambda: {"missing": Counter(), "extra": Counter()})
    before: dict[str, Counter[str]] = field(default_factory=lambda: {"missing": Counter(), "extra": Counter()})

    @classmethod
    def of(cls, row: Row) -> Tally:
        """From the sums over the endpoint's buckets (``buckets.endpoint_sums``)."""
        return cls(
            left=_holding(row, "l"),
            right=_holding(row, "r"),
            unverified=row["unverified"],
            buckets=row["buckets"],
            buckets_drilled=row["buckets_drilled"],
            clusters_apart=row["clusters_apart"],
            rows_drilled=row["rows_drilled"],
            first_common_l=row["common_l"],
            first_common_r=row["common_r"],
        )

    @classmethod
    def empty(cls) -> Tally:
        """Of an endpoint without messages."""
        return cls(Holding(), Holding(), 0, 0, 0, 0, 0, None, None)

    @property
    def rows(self) -> int:
        """The messages of both sides."""
        return self.left.messages + self.right.messages

    def add_messages(self, row: Row, *, is_all: bool) -> None:
        """From the sums over the messages that were looked at closer (``drill.sums``), or the breaks of order among
        them, in a row of its own. ``is_all``: all messages were looked at."""
        if row["breaks"] is not None:
            self.order_breaks = row["breaks"]
            return
        self.differences = row["differences"]
        self.surplus_l, self.surplus_r = row["surplus_l"], row["surplus_r"]
        self.copies_at_both = row["copies_at_both"]
        self.changed = row["changed"]
        self.unverified = row["unverified"] + (0 if is_all else self.unverified)
        if row["differences"]:
            self.span = (row["from"] / MICROS, row["to"] / MICROS)
        if is_all:
            self.first_common_l, self.first_common_r = row["common_l"], row["common_r"]
        else:
            self.first_common_l = _lower(self.first_common_l, row["common_l"])
            self.first_common_r = _lower(self.first_common_r, row["common_r"])

    def add_uncommon(self, row: Row) -> None:
        """So many messages of one class (missing or extra), explained in one way."""
        self.by_why[row["class"]][row["why"]] += row["count"]
        if row["is_before"]:
            self.before[row["class"]][row["why"]] += row["count"]

    def has(self, name: str) -> bool:
        """Is there any difference of this class?"""
        numbers = {"duplicate": self.surplus_l + self.surplus_r, "changed": self.changed}
        return bool(numbers[name] if name in numbers else self.by_why[name])

    def uncommon(self, name: str) -> Uncommon:
        """What is missing, or extra."""
        return Uncommon(by_why=dict(self.by_why[name]), before_failover=dict(self.before[name]))


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
