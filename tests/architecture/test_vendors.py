"""orchestrator/ knows no vendor."""

from __future__ import annotations

import pytest

from tests.architecture.source import Source, python_files
from tests.architecture.vendors import ROOMS_LEFT, knowing, words_in

FOUND = knowing(python_files("orchestrator"))


def room_of(path: str) -> str:
    return path.split("/")[1]


def test_the_engine_and_what_is_below_it_know_no_vendor() -> None:
    """Law: no file of these rooms has a vendor word, outside of docstrings and comments."""
    assert [path for path in FOUND if room_of(path) not in ROOMS_LEFT] == []


@pytest.mark.parametrize(("room", "count"), ROOMS_LEFT.items())
def test_rooms_with_a_part_for_each_family_only_shrink(room: str, count: int) -> None:
    """Law: so many files, and never more; whoever makes them fewer lowers the number."""
    assert len([path for path in FOUND if room_of(path) == room]) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('"""A message VPN."""\n', 0),
        ("# SEMP\n", 0),
        ('x = "message VPN"\n', 1),
        ("class SolaceThing: ...\n", 1),
        ("amps_part = 1\n", 1),
        ("sowing = 1\n", 0),
        ('def f():\n    """SOW."""\n    return "SOW"\n', 1),
    ],
)
def test_what_is_such_a_word(text: str, count: int) -> None:
    """Law: names and strings count, whole words of a name too; docstrings and comments may give examples."""
    assert len(list(words_in(Source("orchestrator/x.py", text)))) == count
