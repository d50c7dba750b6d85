"""Decisions on prepared transactions: the rule of docs/sources/solace-procedure.md, controlled 4, and the file they
stand in."""

from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.solace.offers.decisions import XaDecision, XaDecisions
from orchestrator.errors import DefinitionError
from orchestrator.model.transactions import BranchOutcome, choice_by_branches
from tests.definitions.declared import Write, load_decisions, read_decisions

OUTCOMES = get_args(BranchOutcome)


@given(st.lists(st.sampled_from(OUTCOMES), max_size=6))
def test_the_rule_of_the_branches(outcomes: list[BranchOutcome]) -> None:
    """Law: any branch rolled back → rollback; all committed → commit; otherwise, or with none, undecided."""
    choice = choice_by_branches(outcomes)
    if "rolled-back" in outcomes:
        assert choice == "rollback"
    elif outcomes and set(outcomes) == {"committed"}:
        assert choice == "commit"
    else:
        assert choice is None


def test_decisions_with_their_reasons(write: Write) -> None:
    """Law: a choice is returned with its reason, a rule with the outcomes it was applied to; the rest is open."""
    decisions = load_decisions(
        write("""\
decisions:
  - xid: 0021B028-00-01
    choice: commit
    reason: " TM log line 4711 "
  - {xid: 0021B028-00-02, branches: [committed, committed]}
  - {xid: 0021B028-00-03, branches: [committed, rolled-back, prepared], reason: from the TM}
  - {xid: 0021B028-00-04, branches: [committed, unknown]}
  - {xid: 0021B028-00-05, branches: []}
""")
    )
    rule = "(Performing Controlled Fail-Overs, step 4); other branches:"
    expected = {
        "0021B028-00-01": ("commit", "TM log line 4711"),
        "0021B028-00-02": (
            "commit",
            f"all other branches are committed, so commit {rule} committed, committed",
        ),
        "0021B028-00-03": (
            "rollback",
            f"another branch is rolled back, so rollback {rule} committed, rolled-back, prepared; from the TM",
        ),
    }
    assert decisions.decided() == expected
    for xid in ("0021B028-00-01", "0021B028-00-02", "0021B028-00-03"):
        assert decisions.decide(xid) == expected[xid]
    assert decisions.decide("0021B028-00-04") is None
    assert decisions.decide("0021B028-00-05") is None
    assert decisions.decide("0021b028-00-01") is None, "XIDs are compared as text"
    assert XaDecisions().decide("0021B028-00-01") is None


def test_an_xid_that_looks_like_a_date_stays_a_text(write: Write) -> None:
    """Law: YAML 1.1 would make a date of 2001-01-01; it is a legal XID."""
    assert load_decisions(write("decisions: [{xid: 2001-01-01, branches: []}]")).decisions[0].xid == "2001-01-01"


@pytest.mark.parametrize(
    ("entry", "sentence"),
    [
        ("{xid: 1-2-3}", "give exactly one of choice, branches"),
        ("{xid: 1-2-3, choice: commit, branches: [], reason: x}", "give exactly one of choice, branches"),
        ("{xid: 1-2-3, choice: commit}", "a choice needs a reason"),
        ("{xid: 1-2-3, choice: commit, reason: '  '}", "a choice needs a reason"),
        ("{xid: 1-2-3, choice: comit, reason: x}", "decisions[1].choice is 'comit', which is not allowed"),
        ("{xid: 1-2-3, branches: [commited]}", "decisions[1].branches[0] is 'commited', which is not allowed"),
        ("{choice: commit, reason: x}", "decisions[1] lacks the key xid"),
        ("{xid: 1-2-3, branches: [], why: x}", "unknown key why in decisions[1]"),
        ("{xid: 1-2, branches: []}", "decisions[1].xid '1-2' is not allowed"),
        ("{xid: 123456789-2-3, branches: []}", "is not allowed"),
        ("{xid: 'g-2-3', branches: []}", "is not allowed"),
        ('{xid: "1-2-3\\n", branches: []}', "is not allowed"),
        ("{xid: '1-2-3;', branches: []}", "is not allowed"),
        ("{xid: 0-0-0, branches: []}", "0-0-0 is decided twice"),
        ("{xid: 1-" + "0" * 264 + "-, branches: []}", "at most 266 characters are allowed"),
        ("{xid: 1-2-3, choice: commit, reason: " + "x" * 1001 + "}", "at most 1000 characters are allowed"),
        ("commit", "decisions[1] must be keys with values, not a text"),
    ],
)
def test_mistakes_in_decisions(write: Write, entry: str, sentence: str) -> None:
    """Law: a decision that could be misunderstood is refused at its line."""
    path = write(f"decisions:\n  - {{xid: 0-0-0, branches: []}}\n  - {entry}\n")
    with pytest.raises(DefinitionError) as caught:
        load_decisions(path)
    assert caught.value.line == 3
    assert sentence in str(caught.value)


def test_the_longest_xid_is_accepted() -> None:
    """Law: 266 characters are legal (docs/sources/solace.md, 1.8)."""
    assert XaDecision(xid="1-" + "0" * 263 + "-", branches=()).decide() is None


def test_another_file_is_not_taken_for_decisions(write: Write) -> None:
    """Law: a file of another kind is refused, not read as empty."""
    assert [found.code for found in read_decisions(write("sites: {}\npairs: []\n")).findings] == ["unknown-key"] * 2
