"""Bootstrap initialization: docs/sources/amps.md, 3.5."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.world_amps.conftest import Stage, instance

Build = Callable[..., Stage]


def with_state(stage: Build, *servers: str, rate: float = 2_000.0, third: bool = False, **more: Any) -> Stage:
    """A and B, and perhaps C; B has messages that were published at A, then A loses everything."""
    lost = instance("A", "B", bootstrap={"servers": list(servers or ("B",)), "rate": rate})
    one = stage(lost, instance("B", "A"), *([instance("C")] if third else []), **more)
    one.wait(10)
    one.world.kill("A")
    one.wait(2)
    one.act("B", "downgrade", "replication/A")
    one.wait(2)
    return one


def lost_and_started(one: Stage) -> None:
    one.world.lose("A", "all")
    one.world.start("A")


def test_messages_that_replication_would_not_return_come_back(stage: Build) -> None:
    """What was published at A is not replicated to A by B (loop protection); bootstrap copies it."""
    one = with_state(stage)
    lost_and_started(one)
    one.wait(15)
    assert one.numbers("A") >= one.numbers("B") - 10
    assert one.logged("A", "bootstrap initialization completed")
    assert one.keys("A") == one.keys("B")


def test_without_it_they_stay_away(stage: Build) -> None:
    """The control: the same loss without a bootstrap leaves A without what was published there."""
    one = stage()
    one.wait(10)
    one.world.kill("A")
    one.wait(2)
    one.close("B")
    one.world.lose("A", "all")
    one.act("B", "downgrade", "replication/A")
    one.world.start("A")
    one.wait(10)
    with one.world.request():
        first = one.world.fabric.instances["A"].journal.numbers("feed")
        theirs = one.world.fabric.instances["B"].journal.numbers("feed")
    assert theirs.without(first).count > 150


def test_it_happens_only_when_the_log_is_empty(stage: Build) -> None:
    """An instance with messages starts as if nothing were configured."""
    one = with_state(stage)
    one.world.start("A")
    one.wait(5)
    assert not one.logged("A", "bootstrap")


def test_nothing_else_is_served_meanwhile(stage: Build) -> None:
    """No client, no replication, no administration (assumption), until it is done."""
    one = with_state(stage, rate=10.0)
    lost_and_started(one)
    one.wait(5)
    with one.world.request():
        assert not one.world.console("A").answers
        assert not one.world.fabric.takes_clients("A")
    assert one.row("B", "replication", "A")["is_connected"] == "0"


def test_addresses_are_tried_in_order_and_then_again(stage: Build) -> None:
    """C is not there, so it is B; when neither is, it waits, and begins with the first again."""
    one = with_state(stage, "C", "B", third=True)
    one.world.kill("C")
    lost_and_started(one)
    one.wait(2)
    assert one.logged("A", "bootstrap initialization from B")
    one.world.kill("A")
    one.world.kill("B")
    lost_and_started(one)
    one.wait(30)
    assert len(one.logged("A", "bootstrap initialization from")) == 1
    one.world.start("C")
    one.wait(5)
    assert one.logged("A", "bootstrap initialization from C")


def test_an_interrupted_one_is_begun_again_although_the_log_is_not_empty(stage: Build) -> None:
    """The instance remembers that it never finished."""
    one = with_state(stage, rate=200.0)
    lost_and_started(one)
    one.wait(1.2)
    assert one.numbers("A") > 0, "something is in the log"
    one.world.kill("A")
    one.world.start("A")
    one.wait(15)
    assert len(one.logged("A", "bootstrap initialization started")) == 2
    assert one.logged("A", "bootstrap initialization completed")
    assert one.numbers("A") >= one.numbers("B") - 10


def test_a_source_that_goes_away_is_waited_for(stage: Build) -> None:
    """Half of a bootstrap is none: it goes on when the source is back, and ends whole."""
    one = with_state(stage, rate=50.0)
    lost_and_started(one)
    one.wait(2)
    one.world.kill("B")
    one.wait(5)
    assert one.logged("A", "connection to B lost")
    assert one.world.circles() == (), "B is down, and may come back"
    one.world.start("B")
    one.wait(30)
    assert one.logged("A", "bootstrap initialization completed")


def test_two_empty_instances_wait_for_each_other_and_say_so(stage: Build) -> None:
    """Neither recovers; the world detects it, and each tells in its event log."""

    def empty(name: str, mate: str) -> dict[str, Any]:
        return instance(name, mate, bootstrap={"servers": [mate]}, running=False)

    one = stage(empty("A", "B"), empty("B", "A"), quiet=True)
    one.world.start("A")
    one.wait(5)
    assert one.world.circles() == (), "A waits for one that may come"
    one.world.start("B")
    one.wait(60)
    assert one.world.circles() == ("A", "B")
    for name in "AB":
        assert len(one.logged(name, "neither will recover")) == 1


def test_a_third_one_ends_the_wait(stage: Build) -> None:
    """The control: one with another source is not in the circle."""

    def empty(name: str, *servers: str) -> dict[str, Any]:
        return instance(name, servers[0], bootstrap={"servers": list(servers)}, running=False)

    one = stage(empty("A", "B", "C"), empty("B", "A"), instance("C"), quiet=True, validates=False)
    one.world.publish("C", "orders", "1", "Mothra")
    one.world.start("A")
    one.world.start("B")
    one.wait(10)
    assert one.world.circles() == ()
    assert (one.keys("A"), one.keys("B")) == (["1"], ["1"])


def test_only_the_wanted_kind_is_fetched(stage: Build) -> None:
    """DataType: the log alone rebuilds the SOW from it; the SOW alone leaves the log empty."""

    def fetched(*data: str) -> tuple[list[str], bool]:
        target = instance("A", "B", bootstrap={"servers": ["B"], "data": list(data)}, running=False)
        one = stage(target, instance("B", journal_messages=1, retention=10.0), quiet=True, validates=False)
        for key in "123":
            one.world.publish("B", "orders", key)
            one.wait(4)
        one.wait(5)
        one.world.start("A")
        one.wait(5)
        with one.world.request():
            return one.keys("A"), one.world.fabric.instances["A"].journal.is_empty

    assert fetched("sow") == (["1", "2", "3"], True)
    assert fetched("txlog") == (["3"], False)
    assert fetched("sow", "txlog") == (["1", "2", "3"], False)
