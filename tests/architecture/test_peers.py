"""The table of peers leaves no contender out, and no wrong answer passes for a figure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import pytest

from bench.peers import run
from bench.peers.contest import Contender, Contest, Round, Unavailable, held, is_whole, table
from bench.peers.environments import HERE


def contender(name: str, *figures: float, most: int = 99) -> Contender:
    """One whose rounds take ``figures``, in turn; a negative one is a wrong answer. Without any it cannot be had."""

    @contextmanager
    def opened() -> Iterator[Round]:
        if not figures:
            raise Unavailable("no such package")
        left = iter(figures)

        def play() -> Mapping[str, float]:
            figure = next(left)
            assert figure > 0, "a row is missing"
            return {"ms": figure}

        yield play

    return Contender(name, opened, most=most)


def lines(*contenders: Contender, rounds: int = 3) -> tuple[list[list[str]], bool]:
    """The cells of the table below its head, and whether all answers were right."""
    contest = Contest("work", contenders, ("ms",), "bare")
    rows = held(contest, rounds)
    found = table(contest, rows).splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in found], is_whole(rows)


def test_medians_and_ratios_are_without_the_first_round() -> None:
    """The round that warms up does not count; a ratio is of medians."""
    rows, is_right = lines(contender("bare", 900, 10, 30, 20), contender("other", 900, 30, 60, 30))
    assert rows == [
        ["bare", "20 (10 to 30)", "1.00", "3", ""],
        ["other", "30 (30 to 60)", "1.50", "3", ""],
    ]
    assert is_right


def test_one_that_cannot_be_had_is_named_with_the_reason() -> None:
    """It is a row, and no wrong answer."""
    rows, is_right = lines(contender("bare", 1, 1, 1, 1), contender("other"))
    assert rows[1] == ["other", "-", "-", "-", "not available: no such package"]
    assert is_right


def test_one_wrong_answer_takes_all_figures_away() -> None:
    """What it needed for right answers before is not shown."""
    rows, is_right = lines(contender("bare", 1, 1, 1, 1), contender("other", 1, 1, -1))
    assert rows[1] == ["other", "-", "-", "-", "WRONG in round 3: a row is missing"]
    assert not is_right


def test_a_slow_one_plays_fewer_rounds_and_says_so() -> None:
    """It has no round to warm up."""
    rows, _ = lines(contender("bare", 1, 1, 1, 1), contender("slow", 5, 7, most=2))
    assert rows[1] == ["slow", "6 (5 to 7)", "6.00", "2", ""]


def test_a_slip_of_the_keyboard_measures_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown name is exit code 2, and the answer says what there is."""
    assert run.main(["shh"]) == 2
    assert "no such work: shh; there are: ssh, steps, postgresql" in capsys.readouterr().err


@pytest.mark.parametrize("pins", sorted(HERE.glob("requirements-*.txt")), ids=lambda one: one.stem)
def test_every_peer_has_an_exact_version(pins: object) -> None:
    """A figure without a version says nothing. No address of a registry is in the file."""
    text = (HERE / str(pins)).read_text()
    wanted = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert wanted
    assert all(len(line.split("==")) == 2 and "/" not in line for line in wanted), wanted
