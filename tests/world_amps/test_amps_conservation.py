"""Whatever happens in whatever order, a fabric neither invents nor destroys a message."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.clock import VirtualClock
from simulator.amps.faults import instances_of, parse_amps_fault
from simulator.amps.layout import FabricLayout, fabric_from
from simulator.amps.world import AmpsWorld
from simulator.world.intervals import Numbers
from tests.world_amps.conftest import instance

NAMES = ("A", "B", "C")
WAIT = st.floats(0.0, 6.0, allow_nan=False).map(lambda seconds: ("wait", round(seconds, 2)))
ACT = st.tuples(
    st.just("act"),
    st.sampled_from(NAMES[:2]),
    st.sampled_from(
        (
            ("disable", "transports/1"),
            ("enable", "transports/1"),
            ("disable", "transports/2"),
            ("enable", "transports/2"),
            ("downgrade", "replication/{mate}"),
            ("upgrade", "replication/{mate}"),
            ("enable_proxied_transfer", "queues/jobs!json"),
            ("disable_proxied_transfer", "queues/jobs!json"),
        )
    ),
)
PROCESS = st.tuples(st.sampled_from(("kill", "start")), st.sampled_from(NAMES))
FAULT = st.tuples(
    st.just("fault"),
    st.sampled_from(
        (
            "at 0s: link A B down 3s",
            "at 1s: link A C down 4s",
            "at 0s: link A B slow 20x 6s",
            "at 1s: kill A 2s",
            "at 0s: kill B 1s",
        )
    ),
)
STEPS = st.lists(st.one_of(WAIT, WAIT, ACT, PROCESS, FAULT), min_size=3, max_size=18)


@st.composite
def fabrics(draw: st.DrawFn) -> FabricLayout:
    """A pair or a triangle, sync or async, with a subscriber and a queue."""
    sync = draw(st.booleans())
    parts: dict[str, Any] = {
        "topics": [{"name": "orders", "keys": ["/id"]}, {"name": "jobs"}],
        "queues": [{"name": "jobs"}],
        "journal_messages": draw(st.sampled_from((7, 1_000))),
    }
    names = NAMES if draw(st.booleans()) else NAMES[:2]
    mates = {name: [other for other in names if other != name] for name in names}
    servers = ["A", "B"]
    rate = draw(st.sampled_from((0.0, 7.3, 40.0)))
    return fabric_from(
        {
            "instances": [instance(name, *mates[name], sync=sync, **parts) for name in names],
            "publishers": [
                {"name": "feed", "topic": "orders", "servers": servers, "rate": rate, "store": 60},
                {"name": "office", "topic": "jobs", "servers": servers[::-1], "rate": 9.0},
            ],
            "subscribers": [{"name": "book", "topic": "orders", "servers": servers}],
            "consumers": [{"name": "worker", "queue": "jobs", "servers": servers, "work": 0.5}],
            "link_rate": draw(st.sampled_from((15.0, 2_000.0))),
        }
    )


def play(world: AmpsWorld, clock: VirtualClock, step: Any) -> None:
    match step:
        case ("wait", seconds):
            clock.advance(seconds)
        case ("act", name, (action, target)):
            with world.request():
                if world.console(name).answers:
                    world.console(name).obey(action, target.format(mate="B" if name == "A" else "A"))
        case ("kill" | "start" as verb, name) if name in world.layout.names:
            world.kill(name) if verb == "kill" else world.start(name)
        case ("fault", text):
            fault = parse_amps_fault(text)
            if set(instances_of(fault)) <= set(world.layout.names):
                world.inject([fault])


def check(world: AmpsWorld) -> None:
    """The laws that hold at every moment of every fabric."""
    with world.request():
        fabric = world.fabric
        for name, publisher in fabric.state.publishers.items():
            sent = Numbers([(1, publisher.next)])
            held = fabric.held(name)
            acknowledged = fabric.ledger.acknowledged.get(name, Numbers())
            assert not held.without(sent), "a message that nobody sent"
            assert not acknowledged.without(held), "an acknowledged message is in no log"
            for receipts in fabric.ledger.readers.values():
                received = receipts.received.get(name, Numbers())
                assert not received.without(held), "received, and in no log"
        for one in fabric.instances.values():
            entries = list(one.journal.all())
            assert [entry.position for entry in entries[1:]] == [entry.end for entry in entries[:-1]], (
                "a gap in a log"
            )
            last: dict[str, int] = {}
            for entry in entries:
                assert one.name not in entry.path, "a message came back to where it had been"
                assert entry.first > last.get(entry.publisher, 0), "twice, or out of its publisher's order"
                last[entry.publisher] = entry.stop - 1
            for queue in one.queues.values():
                for publisher_name, owned in queue.owned.items():
                    assert not owned.without(queue.held[publisher_name]), "owned, and not held"
            for link in one.links.values():
                assert link.acked <= link.delivered <= link.sent <= one.journal.next


@settings(max_examples=60, deadline=None)
@given(fabrics(), STEPS)
def test_no_message_is_invented_or_destroyed(layout: FabricLayout, steps: list[Any]) -> None:
    """After every step: acknowledged is held, held was sent, logs have no gap, links are where they can be."""
    clock = VirtualClock()
    world = AmpsWorld(layout, clock)
    for step in steps:
        play(world, clock, step)
        check(world)


@settings(max_examples=40, deadline=None)
@given(st.lists(WAIT, min_size=1, max_size=4), st.sampled_from((15.0, 2_000.0)))
def test_a_planned_move_over_sync_links_loses_nothing_at_any_moment(waits: list[Any], link_rate: float) -> None:
    """Whenever A's clients are sent away: once links carry all, every acknowledged message reaches its readers."""
    servers = ["A", "B"]
    feed = {"name": "feed", "topic": "orders", "servers": servers}
    document = {
        "instances": [instance("A", "B"), instance("B", "A")],
        "publishers": [feed],
        "subscribers": [{"name": "book", "topic": "orders", "servers": servers}],
        "link_rate": link_rate,
    }
    clock = VirtualClock()
    world = AmpsWorld(fabric_from(document), clock)
    for name, (_, seconds) in zip("ABABA", waits, strict=False):
        clock.advance(seconds)
        mate = "B" if name == "A" else "A"
        with world.request():
            world.console(mate).obey("enable", "transports/1")
            world.console(name).obey("disable", "transports/1")
    clock.advance(5)
    found = world.tally()
    assert (found.lost, found.duplicated, found.out_of_order) == (0, 0, 0)


@settings(max_examples=15, deadline=None)
@given(fabrics(), STEPS, STEPS)
def test_a_saved_fabric_has_the_same_future(layout: FabricLayout, before: list[Any], after: list[Any]) -> None:
    """What is on file is all there is: a resumed world and the one that went on agree to the last message."""
    clock, twin_clock = VirtualClock(), VirtualClock()
    world, twin = AmpsWorld(layout, clock), AmpsWorld(layout, twin_clock)
    for step in before:
        play(world, clock, step)
    world.tally()
    twin_clock.advance_to(clock.now())
    twin._restore(json.loads(json.dumps(world._dump())), elapsed=0.0)
    for step in after:
        play(world, clock, step)
        play(twin, twin_clock, step)
        assert world.tally() == twin.tally()
