"""What becomes of messages when clients move, links break and instances die: docs/sources/amps.md, 9.7 and 9."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.world_amps.conftest import Stage, instance

Build = Callable[..., Stage]


def test_a_planned_move_over_sync_links_loses_nothing(stage: Build) -> None:
    """Transports off at A: its clients go on at B, with every message once and in order."""
    one = stage()
    one.wait(20)
    one.close("A")
    one.wait(20)
    found = one.tally
    assert (found.lost, found.duplicated, found.out_of_order) == (0, 0, 0)
    assert {client.at for client in one.world.fabric.state.publishers.values()} == {"B"}
    assert found.acknowledged > 700
    assert len(found.both_open) == 1, "B was open before, and A is closed now"


def test_loss_of_a_sync_partner_loses_nothing(stage: Build) -> None:
    """What a publisher was acknowledged is at B when A dies; publishers stall at B until its link is downgraded."""
    one = stage()
    one.wait(20)
    one.world.kill("A")
    one.wait(10)
    stalled = one.tally.acknowledged
    one.wait(10)
    assert one.tally.acknowledged == stalled
    one.act("B", "downgrade", "replication/A")
    one.wait(10)
    assert one.tally.acknowledged > stalled + 400
    assert one.tally.lost == 0


def test_loss_across_an_async_link_loses_what_was_on_its_way(stage: Build) -> None:
    """Acknowledged by A alone, and gone with it: the account says so, and where it still lies."""
    one = stage(instance("A", "B", sync=False), instance("B", "A", sync=False), link_rate=5.0)
    one.wait(20)
    one.world.kill("A")
    one.wait(20)
    # The subscriber had everything at A; one that needs it at B would not find it there.
    behind = one.numbers("A") - 5 * 20
    assert behind > 200
    assert one.numbers("B") < one.numbers("A") + 20 * 20


def test_older_messages_that_come_late_are_dropped_as_duplicates(stage: Build) -> None:
    """After a fail-over across an async link B never gets what A had not replicated: silent divergence
    (docs/sources/amps.md, 9.3)."""
    one = stage(instance("A", "B", sync=False), instance("B", "A", sync=False), link_rate=5.0)
    one.wait(20)
    one.world.kill("A")
    one.wait(5)
    missing = -one.numbers("B") + one.world.fabric.instances["B"].highest["feed"]
    assert missing > 200
    one.world.start("A")
    one.wait(60)
    assert -one.numbers("B") + one.world.fabric.instances["B"].highest["feed"] == missing


def away_and_back(one: Stage) -> None:
    """A dies, B goes on with its link downgraded, A comes back."""
    one.wait(10)
    one.world.kill("A")
    one.wait(5)
    one.act("B", "downgrade", "replication/A")
    one.wait(10)
    one.world.start("A")


def test_a_returning_instance_gets_what_it_missed(stage: Build) -> None:
    """With its client transport disabled, resync brings all that A lacks, and ends with the event that says so."""
    shut = [{"name": "amps-tcp", "enabled": False}, {"name": "amps-replication", "type": "amps-replication"}]
    one = stage(instance("A", "B", transports=shut), instance("B", "A"))
    away_and_back(one)
    one.wait(10)
    assert one.logged("B", "replay completed for replication client: B!A@G!sync!amps-replication")
    one.close("B")
    one.wait(3)
    one.open("A")
    one.wait(5)
    assert one.numbers("A") == one.world.fabric.state.publishers["feed"].sent, "without a gap"
    assert one.numbers("B") > one.numbers("A") - 10, "the rest is on its way"
    assert one.tally.lost == 0


def test_an_instance_that_returns_to_clients_too_early_lacks_messages_for_ever(stage: Build) -> None:
    """Its clients' new messages overtake what resync would bring, which is then dropped as duplicate
    (docs/sources/amps.md, 9.3)."""
    one = stage()
    away_and_back(one)
    one.close("B")
    one.wait(20)
    assert one.numbers("B") - one.numbers("A") > 150


def test_a_downgrade_ends_with_a_restart(stage: Build) -> None:
    """Downgraded until upgraded or restarted (docs/sources/amps.md, 9.2); one that is configured as async knows
    neither."""
    one = stage(instance("A", "B"), instance("B", "A", sync=False))
    one.act("A", "downgrade", "replication/B")
    one.act("B", "upgrade", "replication/A")
    one.wait(2)
    assert one.row("A", "replication", "B")["replication_type"] == "async"
    assert one.row("B", "replication", "A")["replication_type"] == "async"
    one.world.kill("A")
    one.world.start("A")
    one.wait(3)
    assert one.row("A", "replication", "B")["replication_type"] == "sync"


def test_scheduled_actions_downgrade_and_upgrade(stage: Build) -> None:
    """By the age of the oldest unacknowledged message (docs/sources/amps.md, 7), with the words that were seen
    live."""
    rule = {"age": 6.0, "upgrade_age": 2.0, "every": 2.0}
    one = stage(instance("A", "B"), instance("B", "A", downgrade=rule))
    one.close("A")
    one.wait(5)
    one.world.kill("A")
    one.wait(30)
    assert one.logged("B", "downgraded from sync to async due to lack of activity in past 6 seconds")
    before = one.tally.acknowledged
    one.wait(5)
    assert one.tally.acknowledged > before + 60
    one.world.start("A")
    one.wait(10)
    assert one.logged("B", "upgraded from async to sync")


def test_a_message_is_never_returned_where_it_has_been(stage: Build) -> None:
    """Loop protection: three instances in a ring, everything passed through, and each has each message once."""
    one = stage(instance("A", "B"), instance("B", "C"), instance("C", "A"), validates=False, feed={"rate": 30.0})
    one.wait(20)
    counts = {name: one.numbers(name) for name in "ABC"}
    sent = one.world.fabric.state.publishers["feed"].next - 1
    assert counts["A"] == sent
    assert sent - 30 <= counts["C"] <= counts["B"] <= sent
    assert one.row("C", "replication", "A")["messages_out"] == "0"


def test_without_pass_through_only_what_was_published_here_goes_on(stage: Build) -> None:
    """A to B to C: C gets nothing of A's unless B passes A's group through."""

    def chain(passed: str | None) -> int:
        middle = instance("B", "C")
        middle["destinations"][0]["pass_through"] = passed
        one = stage(instance("A", "B"), middle, instance("C"), validates=False)
        one.wait(10)
        return one.numbers("C")

    assert chain(None) == 0
    assert chain("^OTHER$") == 0
    assert chain("G") > 100


def test_disabled_transports_turn_clients_away_and_not_instances(stage: Build) -> None:
    """The client transport is shut, the replication transport is not: links stay, clients do not."""
    one = stage()
    one.wait(5)
    one.close("A")
    one.wait(3)
    with one.world.request():
        names = [row["client_name"] for row in one.world.console("A").tree["clients"]]
    assert names == ["B!A@G!sync!amps-replication"]
    assert one.row("A", "transports", "1")["is_enabled"] == "0"
    assert one.logged("A", "07-0047")
    assert one.row("A", "replication", "B")["is_connected"] == "1"


def test_a_shut_replication_transport_breaks_the_links_to_it(stage: Build) -> None:
    """And to it only: what goes out needs none."""
    one = stage()
    one.wait(5)
    one.act("A", "disable", "transports/2")
    one.wait(3)
    assert one.row("B", "replication", "A")["is_connected"] == "0"
    assert one.row("A", "replication", "B")["is_connected"] == "1"


def test_figures_are_as_old_as_the_last_sample(stage: Build) -> None:
    """A reading within the interval is stale; one after two intervals is not."""
    one = stage(instance("A", "B", interval=10.0), instance("B", "A", interval=10.0))
    one.wait(15)
    one.close("A")
    one.wait(2)
    assert one.row("A", "transports", "1")["is_enabled"] == "1"
    one.wait(20)
    assert one.row("A", "transports", "1")["is_enabled"] == "0"


def test_the_same_world_has_the_same_history_whoever_looks(stage: Build, clock: Any) -> None:
    """Determinism: a world that is asked often and one that is asked once agree to the last message."""
    one, other = stage(), stage()
    for _ in range(37):
        one.wait(0.37)
        assert one.tally
    assert one.tally == other.tally
