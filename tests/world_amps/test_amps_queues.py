"""Queues: owners, transfers, proxied transfer, leases (docs/sources/amps.md, 9.1)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.world_amps.conftest import Stage, instance

Build = Callable[..., Stage]
PARTS: dict[str, Any] = {
    "topics": [{"name": "orders", "keys": ["/id"]}, {"name": "jobs"}],
    "queues": [{"name": "jobs"}],
}
ID = "jobs!json"


def pair(stage: Build, *, at: str = "A", to: str = "A", work: float = 0.2, **more: Any) -> Stage:
    """Jobs are published at ``at``, and taken at ``to``; an empty one: nobody takes them."""
    both = {"A": ["A", "B"], "B": ["B", "A"]}
    consumers = [{"name": "worker", "queue": "jobs", "servers": both[to], "work": work}] if to else []
    feed = {"name": "feed", "topic": "jobs", "servers": both[at], "rate": 10.0}
    given = {"publishers": [feed], "subscribers": [], "consumers": consumers, **more}
    return stage(instance("A", "B", **PARTS), instance("B", "A", **PARTS), **given)


def owned(one: Stage, name: str) -> int:
    return int(one.row(name, "queues", ID)["owned"])


def depth(one: Stage, name: str) -> int:
    return int(one.row(name, "queues", ID)["queue_depth"])


def test_each_message_goes_to_one_consumer_once(stage: Build) -> None:
    """In a calm pair nothing is lost and nothing is delivered twice, and both queues run empty alike."""
    one = pair(stage)
    one.wait(20)
    found = one.tally
    assert (found.lost, found.duplicated) == (0, 0)
    assert found.streams[0].received > 150
    assert depth(one, "A") < 10
    assert depth(one, "B") < 10


def test_the_instance_that_took_the_publish_owns_the_message(stage: Build) -> None:
    """The other one holds it too, and owns nothing."""
    one = pair(stage, to="")
    one.wait(10)
    assert owned(one, "A") == depth(one, "A") > 80
    assert owned(one, "B") == 0
    assert depth(one, "B") > 70


def test_an_owner_hands_over_to_whom_has_consumers(stage: Build) -> None:
    """Jobs are published at A and taken at B: transfers are counted on both sides."""
    one = pair(stage, to="B")
    one.wait(20)
    assert one.tally.streams[0].received > 150
    assert int(one.row("A", "queues", ID)["transferred_out"]) > 150
    assert int(one.row("B", "queues", ID)["transferred_in"]) > 150


def test_after_the_consumers_moved_the_source_comes_to_own_nothing(stage: Build) -> None:
    """A planned move: transports off at A, transfers while it lives, then owned is 0 and may stop (section 10)."""
    one = pair(stage, work=2.0)
    one.wait(10)
    one.close("A")
    one.wait(5)
    assert owned(one, "A") == 0
    one.world.kill("A")
    one.act("B", "downgrade", "replication/A")
    one.wait(20)
    assert one.tally.lost == 0


def test_messages_of_an_owner_that_died_are_undeliverable(stage: Build) -> None:
    """B holds them and may not deliver them; the account calls them lost and stranded until somebody acts."""
    one = pair(stage, to="")
    one.wait(10)
    one.world.kill("A")
    one.wait(3)
    one.act("B", "downgrade", "replication/A")
    one.wait(3)
    assert depth(one, "B") > owned(one, "B")


def test_proxied_transfer_delivers_what_a_dead_owner_had(stage: Build) -> None:
    """A's consumer comes to B and finds nothing to do, until B delivers for the owner that it cannot reach."""
    one = pair(stage, work=1_000.0)
    one.wait(10)
    one.world.kill("A")
    one.wait(3)
    one.act("B", "downgrade", "replication/A")
    one.wait(3)
    assert one.tally.duplicated < 5, "only what its publisher, not told that A has it, sent again"
    one.act("B", "enable_proxied_transfer", f"queues/{ID}")
    one.wait(3)
    assert one.tally.duplicated > 80, "nobody had acknowledged them: duplicates are possible (section 9.1)"


def test_proxied_transfer_on_both_sides_of_a_cut_delivers_twice(stage: Build) -> None:
    """Why it is never done automatically: the owner is alive behind the cut."""
    one = pair(stage, to="A", work=5.0)
    one.wait(5)
    one.fault("at 0s: link A B down")
    one.wait(2)
    one.close("A")
    one.wait(2)
    before = one.tally.duplicated
    one.act("B", "enable_proxied_transfer", f"queues/{ID}")
    one.wait(3)
    assert one.tally.duplicated > before


def test_what_a_lost_consumer_had_is_delivered_again(stage: Build) -> None:
    """At least once: the lease ends with the connection."""
    one = pair(stage, work=3.0)
    one.wait(10)
    one.close("A")
    one.wait(10)
    found = one.tally
    assert found.duplicated > 0
    assert found.lost == 0


def test_a_local_queue_belongs_to_its_instance(stage: Build) -> None:
    """Messages that come by replication are owned where the local queue is."""
    local = {**PARTS, "queues": [{"name": "jobs", "kind": "LocalQueue"}]}
    one = stage(
        instance("A", "B", **local),
        instance("B", "A", **local),
        publishers=[{"name": "feed", "topic": "jobs", "servers": ["A"], "rate": 10.0}],
        subscribers=[],
        validates=False,
    )
    one.wait(10)
    assert owned(one, "B") > 70


def test_a_group_local_queue_belongs_to_its_initial_owner(stage: Build) -> None:
    """Wherever the publish was taken."""
    group = {**PARTS, "queues": [{"name": "jobs", "kind": "GroupLocalQueue", "initial_owner": "B"}]}
    one = stage(
        instance("A", "B", **group),
        instance("B", "A", **group),
        publishers=[{"name": "feed", "topic": "jobs", "servers": ["A"], "rate": 10.0}],
        subscribers=[],
    )
    one.wait(10)
    assert (owned(one, "A"), owned(one, "B") > 70) == (0, True)
