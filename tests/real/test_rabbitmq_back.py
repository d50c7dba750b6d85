"""A RabbitMQ site is lost, fenced and given up, or its link is: what it alone has arrives later, and is counted."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.real.cutting import at_risk, cut_in_drain, impatient
from tests.real.places import wait_for
from tests.real.rabbitmq import PASSWORD, Load, Pair, a_pair

pytestmark = pytest.mark.realtime
# That a link is lost is sampled with Redis by default, whose servers start in no time.
SEEDS = [pytest.param(one, marks=pytest.mark.long) for one in range(1, 26)]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A pair for all tests; each leaves ny active, and well."""
    with a_pair(tmp_path_factory.mktemp("rabbitmq")) as made:
        yield made


def moved(pair: Pair, load: Load, seed: int, *answer: str) -> tuple[int, str]:
    """A controlled move from ny under load, whose link is lost."""
    load.goes_on(50)
    words = ["controlled", "--service", "orders", "--from", "ny", "--yes"]
    words += ["--runbook", impatient(pair.folder, "rabbitmq/controlled")]
    return cut_in_drain(pair, pair.ways["ny"], [*words, *answer], seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_link_is_lost_and_the_move_rolled_back(pair: Pair, seed: int) -> None:
    """Law: without an answer the move is rolled back: the source takes messages again, and no confirmed one is lost."""
    with Load(pair) as load:
        code, text = moved(pair, load, seed)
        assert code == 5, text
        load.goes_on()
    pair.ways["ny"].heal()
    assert load.sites_in_order == ["ny"]
    load.arrives_at(*pair.nodes.values())


@pytest.mark.parametrize("seed", SEEDS)
def test_the_link_is_lost_and_the_move_escalated(pair: Pair, seed: int) -> None:
    """Law: what an escalation calls at risk is exactly what arrives at the target once the link is back."""
    ny, nj = pair.nodes.values()
    with Load(pair) as load:
        code, text = moved(pair, load, seed + 1, "--on-bridge-loss", "escalate")
        assert code == 9, text
        load.goes_on()
    before = nj.has()
    assert load.lost_at(nj)
    pair.ways["ny"].heal()
    wait_for(lambda: not load.lost_at(nj))
    assert load.arrived_at(nj, before) == at_risk(text, "message")
    assert load.sites_in_order == ["ny", "nj"]
    wait_for(lambda: ny.fetches and nj.fetches)
    code, text = pair.run("controlled", "--service", "orders", "--from", "nj", "--yes")
    assert code == 0, text


def test_lost_and_back(pair: Pair) -> None:
    """Law: the fence is proven by a login that is refused with 530; a site that is back with its old role is called
    active, and the guard closes it; what only it has arrives, and is exactly what status counted; then it can be given
    activity."""
    ny, nj = pair.nodes.values()
    move = ("--service", "orders", "--site", "ny", "--yes")
    with Load(pair) as load:
        load.goes_on(50)
        pair.ways["ny"].cut()
        load.goes_on()
        pair.ny_api.refuse()
        code, text = pair.run("uncontrolled", *move)
        assert code == 0, text
        assert PASSWORD not in text
        load.goes_on()
    assert load.sites_in_order == ["ny", "nj"]
    before = nj.has()
    assert load.lost_at(nj)
    pair.ny_api.listen()
    code, text = pair.run("status")
    assert (code, "BOTH ACTIVE" in text) == (4, True), text
    waiting = int(re.findall(r"([\d,]+) messages", text)[0].replace(",", ""))  # the row of ny comes first
    code, text = pair.run("failback", *move)
    assert (code, "so the restore is not complete" in text) == (3, True), text
    with pair.guarding("ny") as said:
        wait_for(lambda: pair.outcomes("rabbitmq/guard") == ["done"])
    assert "SO DOES ITS MATE" in said[0]
    assert (ny.takes_messages, nj.takes_messages) == (False, True)
    pair.ways["ny"].heal()
    code, text = pair.run("restore", *move)
    assert code == 0, text
    assert not ny.takes_messages
    assert not load.lost_at(nj)
    assert load.arrived_at(nj, before) == waiting
    with Load(pair) as later:  # the fence is open, and applications are let in at nj alone
        later.goes_on()
    assert later.sites_in_order == ["nj"]
    wait_for(lambda: not later.lost_at(ny))
    code, text = pair.run("failback", *move, "--accept-risk", "readers know each message by its number")
    assert code == 0, text
    assert (ny.takes_messages, nj.takes_messages) == (True, False)
