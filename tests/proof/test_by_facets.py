"""The judge of a family that it does not know: promises 1 and 2 by facets, on a record told by hand."""

from __future__ import annotations

from typing import Any

import pytest

from examples.ledger.ledger import LEDGER
from proof.meaning import meaning_of
from proof.promises.by_facets import Meaning
from proof.promises.families import rules_by_facets
from proof.promises.passage import Round
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


# --- both ends ------------------------------------------------------------------------------------------------------

_ENDS = {"issued": "mark", "applied": "reached", "writable": "serves", "linked": "link"}


def of_ends() -> History:
    """The same of a family that shows the last number of each end."""
    meaning = Meaning(
        lambda _, value: {facet: value.get(name) for name, facet in _ENDS.items()}, meaning_of(LEDGER).makes
    )
    return History(
        "log/controlled",
        {"moment": 0.0, "services": {SERVICE: {"effects": [], "changes": []}}},
        (step("move"),),
        rules=rules_by_facets(meaning),
    )


def read_ends(history: History, source: dict[str, Any], target: dict[str, Any], *, first: str = "source") -> None:
    """One round, of which ``first`` was asked first."""
    shown = [
        {"on": on, "reading": "log", "value": {"writable": False, **value}, "asked_at": 1.0 if on == first else 2.0}
        for on, value in (("source", source), ("target", target))
    ]
    history.tell("observed", seen=shown, gauge=None)


def test_a_target_that_has_reached_the_mark() -> None:
    """Law: the last number of a closed source, and then a number of the target that is no lower, show a drain."""
    history = closed(of_ends())
    read_ends(history, {"issued": 7}, {"applied": 7})
    assert broken(history) == []


@pytest.mark.parametrize(
    ("source", "target", "first"),
    [
        ({"issued": 7}, {"applied": 6}, "source"),
        ({"issued": 7}, {"applied": 7}, "target"),
        ({"issued": 7, "applied": 7}, {"issued": 7}, "source"),
        ({"applied": 7}, {"issued": 7}, "source"),
        ({"issued": 7, "writable": True}, {"applied": 7}, "source"),
        ({"issued": 7, "writable": None}, {"applied": 7}, "source"),
        ({"issued": None}, {"applied": 7}, "source"),
    ],
    ids=["behind", "reached read first", "both of the source", "ends exchanged", "not gated", "unknown", "no mark"],
)
def test_both_ends_that_show_nothing(source: dict[str, Any], target: dict[str, Any], first: str) -> None:
    """Law: a number read before the mark, of the wrong side, or the mark of a source that is not read as closed shows no
    drain."""
    history = closed(of_ends())
    read_ends(history, {"issued": None}, {})
    read_ends(history, source, target, first=first)
    found = broken(history)
    assert "promise 2" in [one[:9] for one in found]


def test_a_step_that_waits_for_both_ends() -> None:
    """Law: a wait counts as done once one round showed the target's number no lower than the source's, read before."""
    where = {"applied": {"reaches": {"on": "source", "reading": "log", "field": "issued"}}}
    waits = step("drain", until=[{"on": "target", "reading": "log", "where": where}], timeout="1m")
    plain = {"source": ("source", "log"), "target": ("target", "log")}
    for applied, asked, shown in ((7, 2.0, True), (6, 2.0, False), (7, 0.5, None)):
        values = {plain["source"]: {"kind": "log", "issued": 7}, plain["target"]: {"kind": "log", "applied": applied}}
        seen = Round(1, 0.5, values, {plain["source"]: 1.0, plain["target"]: asked})
        assert seen.holds(waits["until"]) is shown
