"""Whatever happens in whatever order, the world neither invents nor destroys a message."""

from __future__ import annotations

import json
from typing import Literal, get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.clock import VirtualClock
from orchestrator.errors import Unreachable
from simulator.solace.appliance import Refused, RoleName
from simulator.solace.faults import parse_faults
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from simulator.solace.vpn import Vpn
from simulator.solace.world import World
from simulator.world.intervals import Numbers

Step = tuple[Literal["wait"], float] | tuple[Literal["role"], str, RoleName] | tuple[Literal["fault"], str]
SITES = ("ny", "nj")
WAIT = st.floats(0.0, 12.0, allow_nan=False).map(lambda seconds: ("wait", round(seconds, 3)))
ROLE = st.tuples(st.just("role"), st.sampled_from(SITES), st.sampled_from(get_args(RoleName)))
FAULT = st.tuples(
    st.just("fault"),
    st.sampled_from(
        (
            "at 0s: bridge down 3s",
            "at 2s: bridge down 5s",
            "at 0s: stall 4s",
            "at 1s: slow 7x 9s",
            "at 0s: ha switch ny",
            "at 1s: ha switch nj",
            "at 0s: node ny/ny1 down 6s",
            "at 2s: node nj/nj2 down 6s",
            "at 0s: spool full nj 3s",
            "at 1s: spool full ny 3s",
        )
    ),
)
STEPS = st.lists(st.one_of(WAIT, WAIT, ROLE, FAULT), min_size=3, max_size=30)
VPN = st.builds(
    VpnLayout,
    name=st.just("V"),
    publish_rate=st.sampled_from((0.0, 3.7, 100.0, 900.0)),
    consume_rate=st.sampled_from((0.0, 50.0, 2_000.0)),
    drain_rate=st.sampled_from((20.0, 300.0, 1_200.0)),
    backlog=st.sampled_from((0, 1, 500, 5_000)),
    unconsumed=st.sampled_from((0, 1, 700, 5_000)),
    sync_every=st.sampled_from((0, 1, 3)),
    quota_mb=st.sampled_from((1, 60_000)),
    message_bytes=st.sampled_from((629, 2_048)),
    reject_on_discard=st.booleans(),
    reject_when_ineligible=st.booleans(),
)


def build(vpn: VpnLayout, clock: VirtualClock) -> World:
    sites = (SiteLayout("ny", ("ny1", "ny2")), SiteLayout("nj", ("nj1", "nj2")))
    return World(WorldLayout(sites=sites, vpns=(vpn,)), clock)


def play(world: World, clock: VirtualClock, step: Step) -> None:
    match step:
        case ("wait", seconds):
            clock.advance(seconds)
        case ("role", site, role):
            for node in (f"{site}1", f"{site}2"):
                try:
                    world.appliance(site, node).set_role("V", role)
                except (Refused, Unreachable):
                    continue
        case ("fault", text):
            world.inject(parse_faults([text]))


def look(world: World) -> Vpn:
    with world.request():
        return world.vpn("V")


def check(vpn: Vpn) -> None:
    """The laws that hold at every moment of every world."""
    ledger, stream = vpn.ledger, vpn.stream
    held = Numbers(run for side in vpn.sides.values() for run in side.spool)
    known = Numbers([*held, *ledger.received])
    assert not ledger.acknowledged.without(known), "an acknowledged message is nowhere"
    assert not known.without(Numbers([(1, stream.next_number)])), "a message that nobody sent"
    assert not stream.unacked.without(known), "a message that waits for its acknowledgement is nowhere"
    for side in vpn.sides.values():
        assert side.queue.count == sum(stop - start for start, stop in side.queue)
        assert 0 <= side.lead <= side.queue.count
        assert side.queue.count <= max(stream.quota_messages, vpn.layout.backlog)
        crossed = Numbers([*stream.mate(side).spool, *ledger.received])
        assert not Numbers(side.queue.slice(0, side.lead)).without(crossed), "said to have crossed, and did not"
    bound = [side for side in vpn.sides.values() if side.bridge == "up"]
    assert len(bound) <= 1
    assert all(side.role == "standby" for side in bound)
    tally = vpn.tally()
    assert tally.lost == tally.stranded
    assert tally.acknowledged <= tally.received + tally.waiting + tally.lost


@settings(max_examples=150, deadline=None)
@given(VPN, STEPS)
def test_no_message_is_invented_or_destroyed(layout: VpnLayout, steps: list[Step]) -> None:
    """After every step: acknowledged is received or held, held was sent, queues and bridges make sense."""
    clock = VirtualClock()
    world = build(layout, clock)
    for step in steps:
        play(world, clock, step)
        check(look(world))


@settings(max_examples=150, deadline=None)
@given(VPN.filter(lambda vpn: vpn.reject_on_discard), STEPS)
def test_nothing_is_lost_as_long_as_nobody_promotes_before_the_drain(layout: VpnLayout, steps: list[Step]) -> None:
    """Losses have one cause only: a site becomes active while its mate still holds what has not crossed."""
    clock = VirtualClock()
    world = build(layout, clock)
    for step in steps:
        vpn = look(world)
        match step:
            case ("role", site, "active"):
                side = vpn.sides[site]
                mate = vpn.stream.mate(side)
                if side.role == "standby" and (mate.role == "active" or mate.queue.count > 0):
                    continue
        play(world, clock, step)
        assert look(world).tally().lost == 0


@settings(max_examples=60, deadline=None)
@given(VPN, STEPS, STEPS)
def test_a_saved_world_has_the_same_future(layout: VpnLayout, before: list[Step], after: list[Step]) -> None:
    """What is on file is all there is: a resumed world and the one that went on agree to the last message."""
    clock, twin_clock = VirtualClock(), VirtualClock()
    world, twin = build(layout, clock), build(layout, twin_clock)
    for step in before:
        play(world, clock, step)
    look(world)
    twin_clock.advance_to(clock.now())
    twin._restore(json.loads(json.dumps(world._dump())), elapsed=0.0)
    for step in after:
        play(world, clock, step)
        play(twin, twin_clock, step)
        assert look(world).tally() == look(twin).tally()
