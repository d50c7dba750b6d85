"""The judge of a family that it does not know: promises 1 and 2 by facets, on a record told by hand."""

from __future__ import annotations

from typing import Any

import pytest

from examples.ledger.ledger import LEDGER
from proof.meaning import meaning_of
from proof.promises.families import rules_by_facets
from tests.proof.histories import SERVICE, History, step


def a_move() -> History:
    """A planned move of a ledger, of which nothing is told yet."""
    service: dict[str, Any] = {"effects": [], "changes": []}
    return History(
        "ledger/controlled",
        {"moment": 0.0, "services": {SERVICE: service}},
        (step("move"),),
        rules=rules_by_facets(meaning_of(LEDGER)),
    )


def ledger(*, writable: bool, unsent: int | None = None, linked: bool = True) -> dict[str, Any]:
    """One reading of one side."""
    return {"kind": "ledger", "writable": writable, "linked": linked, "rows": 300, "unsent": unsent}


def closed(history: History) -> History:
    """The source is told to take no rows."""
    history.order("set_writable", "source", state="no")
    history.ended()
    return history


def read_both(history: History, *, unsent: int, writable: bool = False, linked: bool = True) -> None:
    """One round of readings of both sides."""
    source = ("source", "ledger", ledger(writable=writable, unsent=unsent))
    history.read(source, ("target", "ledger", ledger(writable=False, linked=linked)))


def broken(history: History) -> list[str]:
    """The target is told to take rows: what the judge finds."""
    history.order("set_writable", "target", state="yes")
    return [str(one) for one in history.judge.broken]


def test_a_whole_move_breaks_nothing() -> None:
    """Law: closed, read as closed and empty over a link that holds, then opened: no promise is broken."""
    history = closed(a_move())
    read_both(history, unsent=0)
    assert broken(history) == []


@pytest.mark.parametrize(
    ("unsent", "writable", "linked", "words"),
    [
        (5, False, True, "promise 2|no reading had shown that nothing is left at ny"),
        (0, False, False, "promise 2|no reading had shown that nothing is left at ny"),
        (0, True, True, "promise 1|nothing read since had shown that ny does not serve"),
    ],
)
def test_what_is_opened_too_early(unsent: int, writable: bool, linked: bool, words: str) -> None:
    """Law: rows that wait, a link that does not hold and a source that still takes rows are each found."""
    history = closed(a_move())
    read_both(history, unsent=unsent, writable=writable, linked=linked)
    promise, _, found = words.partition("|")
    assert broken(history) == [f"{promise}: A: nj is told set_writable yes, and {found}"]


def test_what_was_read_before_is_void() -> None:
    """Law: an empty source proves nothing once it was told to take rows again."""
    history = closed(a_move())
    read_both(history, unsent=0)
    history.order("set_writable", "source", state="yes")
    history.ended()
    closed(history)
    history.read(("source", "ledger", ledger(writable=False, unsent=None)))
    assert [one[:9] for one in broken(history)] == ["promise 2"]


def test_a_source_that_was_never_closed() -> None:
    """Law: a planned move that opens the mate beside a source of which nothing was read is found."""
    assert sorted(one[:9] for one in broken(a_move())) == ["promise 1", "promise 2"]
