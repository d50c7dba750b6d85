"""The log of an instance, held against the plain list of its messages; and the bookmark of who reads it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from simulator.amps.journal import Entry, Journal
from tests.world_amps.conftest import Stage, instance

Build = Callable[..., Stage]
Message = tuple[str, int]


def a_log() -> tuple[Journal, list[Message]]:
    """Several files, entries of two publishers, some of which grew; and its messages in their order."""
    log, messages = Journal(10), list[Message]()
    last = {"feed": 0, "jobs": 0}
    for turn in range(24):
        by, count = ("feed", 1 + turn % 4) if turn % 3 else ("jobs", 2)
        first, stop = last[by] + 1, last[by] + 1 + count
        last[by] = stop - 1
        log.append(Entry(99, by, first, stop, by, (), turn * 0.4))
        messages += [(by, number) for number in range(first, stop)]
    return log, messages


def told(entries: list[Entry]) -> list[Message]:
    return [(one.publisher, number) for one in entries for number in range(one.first, one.stop)]


@pytest.mark.parametrize("removed", [0, 2])
def test_what_stands_between_two_positions(removed: int) -> None:
    """Exactly those messages, each where it stands, in no entry without a message; nothing of what is removed."""
    log, messages = a_log()
    log.remove(removed)
    assert len(log.files) > 3 and log.next == len(messages)
    for start in range(len(messages) + 2):
        for end in range(len(messages) + 2):
            found = list(log.between(start, end))
            assert told(found) == messages[max(start, log.lowest) : max(end, log.lowest)]
            assert all(messages[one.position] == (one.publisher, one.first) and one.count for one in found)


@pytest.mark.parametrize("removed", [0, 2])
def test_what_stands_since_a_position(removed: int) -> None:
    """The same, from the beginning of the entry in which the position is."""
    log, messages = a_log()
    log.remove(removed)
    for start in range(len(messages)):
        found = log.since(start)
        assert told(found) == messages[found[0].position :]
        assert found[0].position <= max(start, log.lowest) < found[0].end
    assert not log.since(len(messages))


def test_who_reads_the_log_does_not_change_it() -> None:
    """Entries are cut as copies."""
    log, messages = a_log()
    for start in range(len(messages)):
        log.between(start, start + 2)
    assert told(list(log.all())) == messages


def test_a_bookmark_is_the_last_message_that_was_had(stage: Build) -> None:
    """Where an instance does not know it, the reader begins at what comes next: amid an entry that still grows. Until it
    receives a message, its bookmark stays."""
    one = stage(instance("A", "B", sync=False), instance("B", "A", sync=False), feed={"rate": 20.0})
    one.wait(3)
    one.fault("at 0s: link A B down")
    one.wait(2)
    one.world.kill("A")
    reader = one.world.fabric.state.subscribers["book"]
    at_b = []
    for _ in range(20):
        one.wait(0.1)
        one.world.next_numbers()
        assert reader.bookmark == ("feed", reader.last["feed"])
        if reader.at == "B":
            at_b.append(reader.bookmark)
    assert at_b[0] == at_b[1] != at_b[-1], "it waits there, and goes on"
