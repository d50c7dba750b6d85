"""Numbers of things, as every screen says them."""

from __future__ import annotations

import pytest

from orchestrator.counting import counted


@pytest.mark.parametrize(
    ("number", "words", "text"),
    [
        (0, ("message",), "0 messages"),
        (1, ("message",), "1 message"),
        (2, ("message",), "2 messages"),
        (1_200_000, ("message",), "1,200,000 messages"),
        (1, ("entry", "entries"), "1 entry"),
        (2, ("entry", "entries"), "2 entries"),
        (1, ("message is", "messages are"), "1 message is"),
        (2, ("message is", "messages are"), "2 messages are"),
    ],
)
def test_one_and_many(number: int, words: tuple[str, ...], text: str) -> None:
    """Law: of one thing there is one; thousands are separated."""
    assert counted(number, *words) == text
