"""Names and expressions: when a name is an expression, what it matches, and what is admitted not to be known."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.amps.config.patterns import PatternBook, compile_pattern, quote


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        ("orders", "orders", True),
        ("orders", "my-orders", False),  # no special character: equality
        ("LOGGED_.*", "NOT_LOGGED_1", True),  # unanchored: contains
        ("^LOGGED_", "NOT_LOGGED_1", False),
        ("^/orders/", "/orders/eu", True),
        ("^((?!HKG).)*$", "NYC", True),
        ("^((?!HKG).)*$", "HKG-1", False),
        ("^[[:alpha:]]+$", "abc", True),
        ("^[[:alpha:]]+$", "abc1", False),
        (r"^a\z", "a", True),
        ("^a(?<x>b)", "ab", None),  # PCRE2 reads this, Python does not
        ("[", "a", None),
    ],
)
def test_a_name_is_an_expression_when_it_has_a_special_character(text: str, name: str, expected: bool | None) -> None:
    """Else it is equality; an expression Python cannot read matches "unknown"."""
    assert compile_pattern(text).matches(name) is expected
    assert PatternBook().matches(compile_pattern(text), name) is expected


def test_without_regex_support_every_name_is_plain() -> None:
    """``RegexTopicSupport`` false makes special characters literal."""
    assert compile_pattern(".*", regexes=False).matches("orders") is False
    assert compile_pattern(".*", regexes=False).matches(".*") is True


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"),
    [
        (".*", "^a", True),
        ("^a", "^a", True),
        ("^/orders", "^/orders/eu.*", True),
        ("^/orders/eu", "^/orders", False),
        ("^a", "^a1$|^a2$", True),
        ("^a", "^a1$|^b$", False),
        ("^(a|b)$", "a", True),
        ("^a", ".*", False),
        ("a", "^a", False),
        ("^(a|b)$", "^a", False),
        ("b", "^a", False),
        ("^a[0-9]", "^a", None),
        ("[", "[", True),
        ("[", "^a", None),
    ],
)
def test_covering_is_decided_or_unknown(wide: str, narrow: str, expected: bool | None) -> None:
    """Same text, everything, prefixes and lists of names are decided; anything else is None, never a guess."""
    assert compile_pattern(wide).covers(compile_pattern(narrow)) is expected


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        ("^a", "^ab", True),
        ("^a", "^b", False),
        (".*", "x", True),
        ("x", "y", False),
        ("^a$|^b$", "^c", False),
        ("a+", "^c", None),
    ],
)
def test_overlap_is_decided_or_unknown(one: str, two: str, expected: bool | None) -> None:
    """Two expressions share a name, do not, or cannot be told; the question is symmetric."""
    assert compile_pattern(one).overlaps(compile_pattern(two)) is expected
    assert compile_pattern(two).overlaps(compile_pattern(one)) is expected


def test_a_dotted_name_is_taken_for_the_name_it_spells() -> None:
    """The assumption ``dotted_names``: orders.v1 stands for one topic, though as an expression it matches more."""
    assert compile_pattern("orders.v1").names == frozenset({"orders.v1"})
    assert compile_pattern("orders.v1").matches("orders-v1") is True
    assert compile_pattern("orders.v1", dotted_names=False).names is None
    assert compile_pattern("..").names is None


@given(st.text(min_size=1, max_size=20))
def test_a_quoted_name_matches_itself_alone(name: str) -> None:
    """``^quote(name)$`` is an expression for exactly this name."""
    pattern = re.compile(f"^{quote(name)}$", re.DOTALL)
    assert pattern.search(name)
    assert not pattern.search(name + "x")


@given(st.text(alphabet="ab.*^$|()[]\\+?", max_size=8), st.text(alphabet="ab", min_size=1, max_size=4))
def test_what_is_covered_matches_no_more(narrow: str, name: str) -> None:
    """When a pattern certainly covers another, every name the other matches it matches too."""
    other = compile_pattern(narrow)
    for wide in ("^a", "^a$|^b$", "^(a|ab)$", "ab", ".*", "^ab"):
        if (
            compile_pattern(wide).covers(other)
            and other.matches(name)
            and (other.names is None or name in other.names)
        ):
            assert compile_pattern(wide).matches(name)
