"""What 60East leaves open is a setting of the world: each way shows, and the one that is not given is the first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from orchestrator.errors import DefinitionError
from simulator.amps.layout import Assumptions, fabric_from
from tests.world_amps.conftest import Stage, instance

Build = Callable[..., Stage]
PARTS: dict[str, Any] = {
    "topics": [{"name": "orders", "keys": ["/id"]}, {"name": "jobs"}],
    "queues": [{"name": "jobs"}],
}
FEED = {"name": "feed", "topic": "jobs", "servers": ["A", "B"], "rate": 10.0}


def assuming(**given: Any) -> dict[str, Any]:
    return {"assume": given} if given else {}


def owned(one: Stage, name: str) -> int:
    return int(one.row(name, "queues", "jobs!json")["owned"])


@pytest.mark.parametrize(("given", "goes_on"), [({}, True), ({"acknowledges": "persisted"}, False)])
def test_what_becomes_of_a_message_further_on(stage: Build, given: dict[str, Any], goes_on: bool) -> None:
    """A publishes to B, B passes on to C, and C is cut off: B has the messages, and C has not."""
    one = stage(
        instance("A", "B"),
        instance("B", "A", "C"),
        instance("C", "B"),
        publishers=[{"name": "feed", "topic": "orders", "servers": ["A"]}],
        **assuming(**given),
    )
    one.wait(10)
    before = one.tally.acknowledged
    assert before > 150, "while all are connected, both ways acknowledge"
    one.fault("at 0s: link B C down")
    one.wait(20)
    assert one.numbers("B") > before + 300, "it is replicated either way"
    assert (one.tally.acknowledged > before + 300) is goes_on
    assert goes_on or one.tally.acknowledged < before + 50


@pytest.mark.parametrize(("given", "twice"), [({}, False), ({"queue_acks": "by_link"}, True)])
def test_when_acknowledgements_of_queues_arrive(stage: Build, given: dict[str, Any], twice: bool) -> None:
    """What was consumed at A just before it died is delivered again at B, if B had not heard of it."""
    one = stage(
        instance("A", "B", **PARTS),
        instance("B", "A", **PARTS),
        publishers=[FEED],
        subscribers=[],
        consumers=[{"name": "worker", "queue": "jobs", "servers": ["A", "B"], "work": 0.0}],
        ack_interval=5.0,
        **assuming(**given),
    )
    one.wait(14.5)
    assert one.tally.duplicated == 0
    one.world.kill("A")
    one.act("B", "downgrade", "replication/A")
    one.act("B", "enable_proxied_transfer", "queues/jobs!json")
    one.wait(5)
    # A message or two were on their way when it died, whatever is assumed.
    assert (one.tally.duplicated > 10) is twice
    assert one.tally.lost == 0


@pytest.mark.parametrize(("given", "helped"), [({}, False), ({"grants": "left_over"}, True)])
def test_whom_an_owner_hands_over_to(stage: Build, given: dict[str, Any], helped: bool) -> None:
    """A takes all publishes and its consumer is too slow for them; B's has nothing to do."""
    one = stage(
        instance("A", "B", **PARTS),
        instance("B", "A", **PARTS),
        publishers=[FEED],
        subscribers=[],
        consumers=[
            {"name": "slow", "queue": "jobs", "servers": ["A"], "rate": 2.0},
            {"name": "idle", "queue": "jobs", "servers": ["B"], "rate": 100.0},
        ],
        **assuming(**given),
    )
    one.wait(20)
    assert (owned(one, "A") < 40) is helped
    taken = {stream.reader: stream.received for stream in one.tally.streams}
    assert (taken["idle"] > 80) is helped
    assert taken["slow"] > 20, "its own consumers come first"
    assert one.tally.duplicated == 0


@pytest.mark.parametrize(("kept", "after"), [(0.0, True), (30.0, False)])
def test_when_the_messages_of_a_lost_consumer_come_back(stage: Build, kept: float, after: bool) -> None:
    """Its clients were closed out of A; they can be handed to B once the queue has them again."""
    one = stage(
        instance("A", "B", **PARTS),
        instance("B", "A", **PARTS),
        publishers=[FEED],
        subscribers=[],
        consumers=[{"name": "worker", "queue": "jobs", "servers": ["A", "B"], "work": 5.0}],
        **assuming(leases_kept=kept),
    )
    one.wait(10)
    one.close("A")
    one.wait(10)
    assert (owned(one, "A") == 0) is after
    one.wait(30)
    assert owned(one, "A") == 0
    assert one.tally.lost == 0
    assert one.tally.duplicated > 20, "whenever they come back, they are delivered again"


@pytest.mark.parametrize(("given", "kept"), [({}, False), ({"interrupted_bootstrap": "goes_on"}, True)])
@pytest.mark.parametrize("lost", ["A", "B"])
def test_what_an_interrupted_bootstrap_keeps(stage: Build, given: dict[str, Any], kept: bool, lost: str) -> None:
    """It is interrupted by the loss of its source, or by its own: and it ends whole each time."""
    described = {"servers": ["B"], "rate": 50.0}
    feed = {"name": "feed", "topic": "orders", "servers": ["B"]}
    pair = instance("A", "B", bootstrap=described), instance("B", "A")
    one = stage(*pair, publishers=[feed], subscribers=[], **assuming(**given))
    one.wait(10)
    one.world.kill("A")
    one.wait(2)
    one.act("B", "downgrade", "replication/A")
    one.close("B")
    one.wait(2)
    one.world.lose("A", "all")
    one.world.start("A")
    one.wait(4)
    fetched = one.numbers("A")
    assert fetched > 0, "something is in the log"
    one.world.kill(lost)
    one.wait(1)
    if lost == "A":
        one.world.start("A")
    assert one.numbers("A") == (fetched if kept else 0)
    if lost == "B":
        one.world.start("B")
        one.close("B")
    one.wait(20)
    assert one.logged("A", "bootstrap initialization completed")
    assert one.numbers("A") == one.numbers("B")
    assert one.keys("A") == one.keys("B")


def test_every_setting_has_a_default_and_no_other_names() -> None:
    """An empty document is the world as it was; a slip of the pen is refused with its place."""
    document: dict[str, Any] = {"instances": [instance("A")]}
    assert fabric_from(document).assume == Assumptions()
    with pytest.raises(DefinitionError, match=r"assume\.grants"):
        fabric_from({**document, "assume": {"grants": "left-over"}})
    with pytest.raises(DefinitionError, match=r"assume\.leases_kept"):
        fabric_from({**document, "assume": {"leases_kept": -1}})
