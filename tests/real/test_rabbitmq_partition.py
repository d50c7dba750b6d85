"""A RabbitMQ pair in network namespaces: packets between the sites, or of the operator, are lost in silence."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.network.spaces import CUT
from tests.real.cutting import at_risk, cut_after, impatient
from tests.real.partition import cut_in_a_planned_move, its_mate_still_hears_it, partitioned_and_alive
from tests.real.places import wait_for
from tests.real.rabbitmq import Load
from tests.real.rabbitmq_apart import Apart, a_pair_apart

pytestmark = pytest.mark.realtime
LONG = [pytest.param(one, marks=pytest.mark.long) for one in range(1, 26)]
SEEDS = [4, *(one for one in LONG if one.values != (4,))]
MOVE = ("--service", "orders", "--yes")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Apart]:
    """The nodes of all tests: they start slowly."""
    with a_pair_apart(tmp_path_factory.mktemp("rabbitmq")) as made:
        yield made


@pytest.fixture
def pair(shared: Apart) -> Apart:
    """A pair that is well, whichever site is active."""
    for cable in shared.spaces.cables:
        shared.spaces.heal(*cable)
    for node in shared.nodes.values():
        wait_for(lambda node=node: node.fetches)
        node.empty()
    return shared


@pytest.fixture
def from_ny(pair: Apart) -> Apart:
    """ny takes messages, and its mate fetches them."""
    if pair.nodes["nj"].takes_messages:
        code, text = pair.run("controlled", *MOVE, "--from", "nj")
        assert code == 0, text
    return pair


@pytest.mark.long
def test_its_mate_still_hears_it(from_ny: Apart) -> None:
    """Law: a source that the operator alone cannot reach is not lost: its mate is not opened, whatever is attested. (That
    takes three minutes: a shovel with the broker's own heartbeat needs two to notice that its source is lost.)"""
    its_mate_still_hears_it(from_ny, Load(from_ny), *MOVE)
    assert [node.takes_messages for node in from_ny.nodes.values()] == [True, False]


@pytest.mark.long
def test_partitioned_and_alive(from_ny: Apart) -> None:
    """Law: both sites take messages from the take-over, whose fence an operator attested, until the guard closes the one
    that is back, and at no other time. What only that took arrives at the acting site, so nothing is lost; then it can be
    given activity."""
    pair = from_ny
    ny, nj = pair.nodes.values()
    with Load(pair) as load:
        until = partitioned_and_alive(pair, load, *MOVE, family="rabbitmq")
        assert (ny.takes_messages, nj.takes_messages) == (False, True)
        code, text = pair.run("restore", *MOVE, "--site", "ny")
        assert code == 0, text
        assert load.at("ny")[-1] == until
    load.arrives_at(ny, nj)
    code, text = pair.run(
        "failback", *MOVE, "--site", "ny", "--accept-risk", "readers know each message by its number"
    )
    assert (code, ny.takes_messages, nj.takes_messages) == (0, True, False), text


@pytest.mark.parametrize("seed", SEEDS)
def test_cut_in_a_planned_move(pair: Apart, seed: int) -> None:
    """Law: whichever two are cut off from each other, and whenever: one site takes messages, the other refuses them, and
    no confirmed one is lost."""
    runbook, load = impatient(pair.folder, "rabbitmq/controlled"), Load(pair)
    cut_in_a_planned_move(pair, load, pair.in_order, *MOVE, runbook=runbook, seed=seed, lines=12)
    assert {node.takes_messages for node in pair.nodes.values()} == {True, False}


def moved(pair: Apart, load: Load, seed: int, *answer: str) -> tuple[int, str]:
    """A controlled move from ny under load. Both sites are cut off from each other right before it is closed: later the
    shovel would have fetched the last message, and seconds earlier it would have noticed. No kill comes before it is."""
    load.goes_on(50)
    words = ["controlled", *MOVE, "--from", "ny", "--runbook", impatient(pair.folder, "rabbitmq/controlled"), *answer]
    return cut_after(
        pair, lambda: pair.spaces.spoil("ny", "nj", CUT), words, seed=seed, line=r"\[3/\d+\] left out", spared=4
    )


@pytest.mark.parametrize("seed", LONG)
def test_cut_in_the_drain_and_rolled_back(from_ny: Apart, seed: int) -> None:
    """Law: without an answer the move is rolled back, unless the target had everything before the cut; no confirmed
    message is lost."""
    with Load(from_ny) as load:
        code, text = moved(from_ny, load, seed)
        assert code in (0, 5), text
        load.goes_on()
    from_ny.spaces.heal("ny", "nj")
    assert load.sites_in_order == (["ny"] if code == 5 else ["ny", "nj"])
    load.arrives_at(*from_ny.nodes.values())


@pytest.mark.parametrize("seed", LONG)
def test_cut_in_the_drain_and_escalated(from_ny: Apart, seed: int) -> None:
    """Law: what an escalation calls at risk is exactly what arrives at the target once the link is back: what that lacks,
    and what it has and could not confirm, which it gets again. A move that is not escalated lacks nothing."""
    ny, nj = from_ny.nodes.values()
    with Load(from_ny) as load:
        code, text = moved(from_ny, load, seed + 1, "--on-bridge-loss", "escalate")
        assert code in (0, 9), text
        load.goes_on()
    before, risk = nj.has(), at_risk(text, "message") if code == 9 else 0
    assert risk >= len(load.lost_at(nj))
    from_ny.spaces.heal("ny", "nj")
    wait_for(lambda: load.arrived_at(nj, before) >= risk)
    load.arrives_at(ny, nj)
    assert load.arrived_at(nj, before) == risk
    assert load.sites_in_order == ["ny", "nj"]
