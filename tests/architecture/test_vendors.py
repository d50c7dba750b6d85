"""orchestrator/ knows no vendor."""

from __future__ import annotations

import pytest

from tests.architecture.source import Source, python_files
from tests.architecture.vendors import OF_ONE_PRODUCT, knowing, words_in

FOUND = knowing(python_files("orchestrator"))


def test_the_house_knows_no_vendor() -> None:
    """Law: a vendor word is in the files that are listed only, and each of them has one; docstrings, comments and the
    examples of a command's help excepted."""
    assert sorted(OF_ONE_PRODUCT) == FOUND


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
        ('x = "Move.\\n\\nExamples:\\n  move --vpn A"\n', 1),
        ('x = """Move.\n\nExamples:\n  move --vpn A"""\n', 0),
    ],
)
def test_what_is_such_a_word(text: str, count: int) -> None:
    """Law: names and strings count, whole words of a name too; docstrings and comments may give examples."""
    assert len(list(words_in(Source("orchestrator/x.py", text)))) == count
