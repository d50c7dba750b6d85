"""The leaf node connection of a NATS pair is lost in the drain: the move is rolled back, or escalated."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.real.cutting import at_risk, cut_in_drain, impatient
from tests.real.nats import Load, Pair, a_pair
from tests.real.places import wait_for

pytestmark = pytest.mark.realtime


@pytest.fixture
def pair() -> Iterator[Pair]:
    """A pair for a test that breaks it."""
    with a_pair() as made:
        yield made


def moved(pair: Pair, load: Load, seed: int, *answer: str) -> tuple[int, str]:
    """A controlled move from ny under load, whose link is lost."""
    load.goes_on(50)
    words = ["controlled", "--service", "ORDERS", "--yes", "--runbook", impatient(pair.folder, "nats/controlled")]
    return cut_in_drain(pair, pair.way, [*words, *answer], seed=seed)


LONG = [pytest.param(one, marks=pytest.mark.long) for one in range(1, 26)]


@pytest.mark.parametrize("seed", LONG)
def test_rolled_back(pair: Pair, seed: int) -> None:
    """Law: without an answer the move is rolled back: the source takes messages again, and no stored one is lost."""
    with Load(pair) as load:
        code, text = moved(pair, load, seed)
        assert code == 5, text
        pair.way.heal()
        load.goes_on()
    ny, nj = pair.servers.values()
    assert (ny.takes_messages, nj.takes_messages, nj.mirrors) == (True, False, True)
    assert load.sites_in_order == ["ny"]
    assert load.answered_twice == set()
    load.arrives_at(ny, nj)


@pytest.mark.parametrize("seed", [1, *LONG[1:]])
def test_escalated(pair: Pair, seed: int) -> None:
    """Law: what an escalation calls at risk is exactly what the target lacks. The source keeps it, with the positions of
    its consumers, though the numbers of the target are higher by then, and so does the restore."""
    ny, nj = pair.servers.values()
    config = {"durable_name": "work", "name": "work", "ack_policy": "explicit"}
    assert "error" not in ny.ask("$JS.API.CONSUMER.CREATE.ORDERS.work", {"stream_name": "ORDERS", "config": config})
    with Load(pair) as load:
        code, text = moved(pair, load, seed + 1, "--on-bridge-loss", "escalate")
        assert code == 9, text
        issued, last = ny.has(), ny.info()["state"]["last_seq"]
        pair.way.heal()
        wait_for(lambda: nj.info()["state"]["last_seq"] > last)
        assert (ny.takes_messages, nj.takes_messages, ny.has()) == (False, True, issued)
    at_target = nj.has()
    lost = issued - at_target
    assert lost.total() == at_risk(text, "message")
    assert lost and load.lost_at(nj) <= set(lost)
    assert load.sites_in_order == ["ny", "nj"]
    code, text = pair.run("restore", "--service", "ORDERS", "--site", "ny", "--yes")
    assert code == 0, text
    assert (ny.has("ORDERS-KEPT"), ny.ask("$JS.API.CONSUMER.NAMES.ORDERS-KEPT")["consumers"]) == (issued, ["work"])
    assert (ny.mirrors, ny.has()) == (True, nj.has())
