"""When a fabric is steady: nothing but new messages would move. Each cause of unrest is seen, and is over at last."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from tests.world_amps.conftest import ORDERS, Stage, instance

Build = Callable[..., Stage]
WITHIN = 30.0
QUEUED: dict[str, Any] = {"topics": [ORDERS, {"name": "jobs"}], "queues": [{"name": "jobs"}]}
HASTY = {"age": 2.0, "upgrade_age": 1.0, "every": 0.5}
BOTH = ("A", "B")


def is_steady(one: Stage, before: Mapping[str, int] | None = None, within: float = WITHIN) -> bool:
    """As a night asks: of the messages that were numbered then."""
    return one.world.is_steady(one.world.next_numbers() if before is None else before, within)


def rested(one: Stage) -> Stage:
    """The same, after a while, with everything from before in its place: what comes then is the only unrest."""
    before = one.world.next_numbers()
    one.wait(5)
    assert is_steady(one, before)
    return one


def test_a_fabric_with_publishers_comes_to_be_steady(stage: Build) -> None:
    """What was published before some moment arrives, while more is on its way for ever."""
    one = stage()
    one.wait(10)
    before = one.world.next_numbers()
    assert before["feed"] > 100
    assert not is_steady(one, before)
    one.wait(5)
    assert is_steady(one, before)
    assert not is_steady(one)
    held = [one.numbers(name) for name in BOTH]
    assert min(held) >= before["feed"] - 1


@pytest.mark.parametrize("sync", [True, False])
def test_a_link_that_is_behind_is_not_steady(stage: Build, sync: bool) -> None:
    """A backlog that a slow link carries is waited for, however long that takes, and whoever waits for it."""
    one = rested(stage(instance("A", "B", sync=sync), instance("B", "A", sync=sync)))
    one.fault("at 0s: link A B slow 400x 20s")
    one.wait(10)
    before = one.world.next_numbers()
    one.wait(5)
    assert not is_steady(one, before)
    assert one.numbers("B") < before["feed"] - 1
    one.wait(20)
    assert is_steady(one, before)
    assert one.numbers("B") >= before["feed"] - 1


def test_what_is_not_acknowledged_to_the_publisher_is_not_steady(stage: Build) -> None:
    """It has crossed the link, and the publisher does not know: it may yet be counted as lost."""
    one = rested(stage(ack_interval=8.0))
    before = one.world.next_numbers()
    one.wait(1)
    assert one.numbers("B") >= before["feed"] - 1
    assert not is_steady(one, before)
    one.wait(16)
    assert is_steady(one, before)


def test_what_an_instance_has_not_yet_persisted_is_not_steady(stage: Build) -> None:
    """Its links owe nothing for messages that came from the mate; those behind newer ones are not yet read."""
    one = rested(stage(feed={"rate": 0.0}))
    before = one.world.next_numbers()
    with one.world.request():
        instance_a = one.world.fabric.instances["A"]
        one.world.publish("A", "orders", "k")
        assert instance_a.persisted < instance_a.journal.next
        owing = {**before, "by-hand": 2}
        link = instance_a.links["B"]
        link.acked = instance_a.journal.next  # as one that has it all
        assert not one.world.is_steady(owing, WITHIN)
        instance_a.persist(instance_a.journal.next)
        assert one.world.is_steady(owing, WITHIN)


def test_a_link_to_be_made_is_not_steady(stage: Build) -> None:
    """A cut that is over, or ends within the time asked about, is followed by a new connection."""
    one = rested(stage(reconnect=7.0))
    one.fault("at 0s: link A B down 20s")
    one.wait(5)
    assert not is_steady(one, {})
    assert is_steady(one, {}, within=10.0)
    one.wait(15.5)
    assert not is_steady(one, {}, within=0.5)
    one.wait(10)
    assert is_steady(one, {})


def test_a_link_that_is_cut_for_good_is_steady(stage: Build) -> None:
    """Nobody waits for what will not come; but the cut itself breaks what was connected first."""
    one = rested(stage())
    with one.world.request():
        one.world.fabric.state.cuts["A|B"] = 1e15
        assert not is_steady(one, {})
    one.wait(5)
    assert is_steady(one)
    assert one.world.console("A").instance.links["B"].to is None


def test_a_link_that_is_away_is_downgraded_first(stage: Build) -> None:
    """By the schedule of its instance, after which what was owed to it counts as acknowledged."""
    one = rested(stage(instance("A", "B", downgrade={**HASTY, "age": 8.0}), instance("B", "A")))
    one.fault("at 0s: link A B down")
    one.wait(5)
    assert not is_steady(one, {})
    one.wait(10)
    assert is_steady(one, {})


def test_a_link_that_is_refused_is_steady(stage: Build) -> None:
    """It goes on trying, and never comes."""
    refusals = [
        {"source": one, "destination": other, "check": "sow", "topic": "orders"} for one, other in ("AB", "BA")
    ]
    assert is_steady(rested(stage(refusals=refusals)))


@pytest.mark.parametrize("phase", ["recovering", "bootstrapping"])
def test_an_instance_that_comes_up_is_not_steady(stage: Build, phase: str) -> None:
    """Recovering or bootstrapping, until it serves."""
    bootstrap = {"servers": ["A"], "rate": 20.0} if phase == "bootstrapping" else None
    one = stage(instance("A", "B"), instance("B", "A", bootstrap=bootstrap, recovery=3.0), feed={"rate": 5.0})
    one.wait(10)
    one.world.kill("B")
    if bootstrap:
        one.world.lose("B")
    one.world.start("B")
    one.wait(1)
    assert one.world.console("B").instance.phase == phase
    assert not is_steady(one, {}, within=0.0)
    one.wait(30)
    assert is_steady(one, {})


def test_an_instance_that_is_down_for_good_is_steady(stage: Build) -> None:
    """A clause of its own: only a start that somebody planned is waited for."""
    one = rested(stage())
    one.fault("at 0s: kill B")
    one.wait(5)
    assert is_steady(one)


@pytest.mark.parametrize(
    "planned", ["at 20s: kill B", "at 20s: link A B down", "at 20s: somebody disables A", "at 20s: silent A"]
)
def test_what_is_planned_is_not_steady(stage: Build, planned: str) -> None:
    """Within the time asked about; later things are not of this time."""
    one = rested(stage())
    one.fault(planned)
    assert not is_steady(one, {})
    assert is_steady(one, {}, within=15.0)


def test_a_restart_and_a_late_request_are_planned_too(stage: Build) -> None:
    """A process that is started again, and a request that is still on its way."""
    one = rested(stage())
    one.world.obey_later("A", "disable", "transports/1", 10.0)
    assert not is_steady(one, {})
    one = rested(stage())
    one.fault("at 0s: kill B 25s")
    one.wait(5)
    assert not is_steady(one, {})
    assert is_steady(one, {}, within=10.0)
    assert one.world.console("B").instance.phase == "down"


@pytest.mark.parametrize("who", ["publishers", "subscribers", "consumers"])
def test_a_client_that_is_about_to_come_or_go_is_not_steady(stage: Build, who: str) -> None:
    """One that has no connection and could have one; one that is where it cannot stay. One that nobody takes rests."""
    common = {"name": "one", "servers": ["A"]}
    layouts = {"publishers": {"topic": "orders"}, "subscribers": {"topic": "orders"}, "consumers": {"queue": "jobs"}}
    pair = (instance("A", "B", **QUEUED), instance("B", "A", **QUEUED))
    one = stage(*pair, quiet=True, client_reconnect=6.0, **{who: [{**common, **layouts[who]}]})
    one.wait(3)
    assert is_steady(one, {})
    with one.world.request():
        one.world.console("A").instance.transports["amps-tcp"] = False
        assert not is_steady(one, {})
    one.wait(2)
    assert is_steady(one, {})  # it is away, and the door is shut
    one.open("A")
    one.wait(1)
    assert not is_steady(one, {})
    one.wait(8)
    assert is_steady(one, {})


def test_a_queue_that_is_handed_over_is_not_steady(stage: Build) -> None:
    """An owner without consumers gives to the mate that has them what it owns, so many at a time."""
    feed = {"name": "feed", "topic": "jobs", "servers": ["A"], "rate": 200.0}
    worker = {"name": "worker", "queue": "jobs", "servers": ["B"], "rate": 1.0}
    pair = (instance("A", "B", **QUEUED), instance("B", "A", **QUEUED))
    one = stage(*pair, quiet=True, publishers=[feed], consumers=[worker])
    one.close("B")
    one.wait(10)
    one.close("A")
    one.wait(5)
    assert is_steady(one, {})
    one.open("B")
    one.wait(0.5)
    assert not is_steady(one, {})
    assert one.world.fabric.state.consumers["worker"].at == "B"
    one.wait(5)
    assert is_steady(one, {})
    assert not one.world.console("A").instance.queues["jobs"].owns_any


def test_jobs_on_their_way_to_those_who_take_them_are_new_messages(stage: Build) -> None:
    """What its owner would hand over, and the other side does not hold yet, moves as long as anything is published."""
    feed = {"name": "feed", "topic": "jobs", "servers": ["A"], "rate": 20.0}
    worker = {"name": "worker", "queue": "jobs", "servers": ["B"]}
    pair = (instance("A", "B", **QUEUED), instance("B", "A", **QUEUED))
    one = stage(*pair, quiet=True, publishers=[feed], consumers=[worker], latency=0.5)
    one.wait(10)
    assert is_steady(one, {})
    assert one.world.console("A").instance.queues["jobs"].has_ready


def test_what_a_lost_consumer_had_is_not_steady(stage: Build) -> None:
    """It comes back to its queue after a while."""
    feed = {"name": "feed", "topic": "jobs", "servers": ["A"], "rate": 10.0}
    worker = {"name": "worker", "queue": "jobs", "servers": ["A"], "work": 60.0}
    pair = (instance("A", "B", **QUEUED), instance("B", "A", **QUEUED))
    one = stage(*pair, quiet=True, publishers=[feed], consumers=[worker], assume={"leases_kept": 8.0})
    one.wait(5)
    one.close("A")
    one.wait(4)
    assert not is_steady(one, {})
    one.wait(8)
    assert is_steady(one, {})


def test_journals_that_are_about_to_be_removed_are_not_steady(stage: Build) -> None:
    """Who has not read them then cannot read them any more."""
    kept: dict[str, Any] = {"retention": 60.0, "journal_messages": 100}
    one = stage(instance("A", "B", **kept), instance("B", "A"))
    one.wait(25)
    assert is_steady(one, {})
    one.wait(15)
    assert len(one.world.console("A").instance.journal.files) > 1
    assert not is_steady(one, {})
    assert is_steady(one, {}, within=5.0)
