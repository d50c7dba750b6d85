"""What is decided in advance on the command line is decided in AMPS too, or refused: never without effect."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.shell import Ended, Shell
from tests.readiness.amps_night import LDN, NY, AmpsNight, amps_night


@pytest.fixture
def night(shell: Shell) -> Iterator[AmpsNight]:
    with amps_night(shell) as made:
        yield made


def move(night: AmpsNight, *more: str) -> Ended:
    """A planned move in which the link is away for two minutes."""
    fault = f"disable {NY}: link {NY} {LDN} down 2m"
    return night("controlled", "--all", "--yes", "--fault", fault, *more)


def test_a_lost_link_is_what_a_lost_bridge_is(night: AmpsNight) -> None:
    """Law: --on-bridge-loss decides what is asked when the link is lost; the control is a move without it."""
    ended = move(night, "--on-bridge-loss", "wait")
    assert ended.code == 0, ended.err
    assert "decided on link-lost: wait, by policy" in ended.out


def test_without_it_the_move_turns_back(night: AmpsNight) -> None:
    """The control."""
    ended = move(night)
    assert ended.code == 5
    assert "decided on link-lost: revert, by policy" in ended.out


def test_what_is_never_asked_cannot_be_answered(night: AmpsNight) -> None:
    """Law: an answer to no question is refused, and the questions there are named; nothing was changed."""
    before = night.commands
    ended = move(night, "--on-stall", "escalate")
    assert ended.code == 2
    assert ended.complaint == "--on-stall answers a question that amps/controlled never asks"
    assert "clients-stay" in ended.hint
    assert night.commands == before
