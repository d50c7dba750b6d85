"""What a person reads is in plain English: the share of clauses with a word that made readers stop stays small."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.architecture.source import Source, code
from tests.architecture.words import clauses, strange, texts

# Percent of clauses, of each kind. Pages and messages are what an operator reads at three in the morning.
MOST = {"page": 1.0, "message": 1.0, "comment": 3.0}


def test_few_clauses_need_a_second_reading(files: list[Source]) -> None:
    """Pages, messages and comments use the field's words."""
    of_all: Counter[str] = Counter()
    odd: Counter[str] = Counter()
    places: list[str] = []
    for text in texts(files):
        of_all[text.kind] += len(clauses(text.text))
        found = strange(text.text)
        odd[text.kind] += len(found)
        places += [f"{text.path}:{text.line} ({text.kind}): {' '.join(one.split())[:150]}" for one in found]
    shares = {kind: 100 * odd[kind] / of_all[kind] for kind in MOST}
    listed = "\n".join(places)
    assert all(shares[kind] <= most for kind, most in MOST.items()), f"{shares}\n{listed}"


@pytest.mark.parametrize(
    "sentence",
    [
        "Nobody is there to be asked.",
        "The run goes on from there.",
        "It was called off before it began.",
        "Look at the log, and mend it.",
        "The device has not told its role.",
        "It has a file of its own.",
        "The server is no standby any more.",
        "A word is taken for an option.",
        "The failed site is dark, and stays so for good.",
        "It drops what it has without a word.",
        "The queue is not empty any more.",
        "The report says what became of the messages.",
    ],
)
def test_control_a_strange_sentence_is_found(sentence: str) -> None:
    """Negative control: these are found, in a page and in a string."""
    page = code("docs/x.md", sentence)
    module = code("orchestrator/x.py", '"""A module."""', f'TEXT = "{sentence}"')
    assert [text.kind for text in texts([page, module]) if strange(text.text)] == ["page", "message"]


@pytest.mark.parametrize(
    "sentence",
    [
        "Resume the run.",
        "It looks like a queue of Solace.",
        "The word `begin` is of the grammar.",
        "The site was told to stop now.",
    ],
)
def test_control_plain_sentences_are_not_found(sentence: str) -> None:
    """Negative control: the field's words, code and quotes of a grammar are none."""
    assert strange(sentence) == []
