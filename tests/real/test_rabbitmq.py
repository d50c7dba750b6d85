"""A virtual host moves from one RabbitMQ site to its mate and back under load, and no confirmed message is lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.families.pacemaker import crm_mon, resource, stand_in
from tests.real.killing import killed_and_resumed
from tests.real.places import wait_for
from tests.real.rabbitmq import PASSWORD, Load, Pair, a_pair

pytestmark = pytest.mark.realtime


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    """A pair for all tests that leave it well, whichever site is active."""
    with a_pair(tmp_path_factory.mktemp("rabbitmq")) as made:
        yield made


def test_there_and_back_under_load(pair: Pair) -> None:
    """Law: a controlled move and the way back lose no confirmed message and double none, no two sites accept at once, and
    the password is in nothing that is said."""
    with Load(pair) as load:
        load.goes_on(50)
        names = []
        for _ in range(2):
            source, target = pair.in_order()
            names.append(source.name)
            code, text = pair.run("controlled", "--service", "orders", "--from", source.name, "--yes")
            assert code == 0, text
            assert PASSWORD not in text
            assert (source.takes_messages, target.takes_messages) == (False, True)
            load.goes_on()
    assert load.sites_in_order == [*names, names[0]]
    load.arrives_at(*pair.nodes.values(), once=True)
    code, text = pair.run("status")
    assert code == 0, text
    code, text = pair.run("runs", "export", "last")
    assert (code, PASSWORD in text) == (0, False)


@pytest.mark.parametrize("seed", [1, *(pytest.param(one, marks=pytest.mark.long) for one in range(2, 26))])
def test_killed_and_resumed(pair: Pair, seed: int) -> None:
    """Law: a move that is killed at any instant, and resumed, ends with one active site, and without a lost message."""
    for node in pair.nodes.values():
        node.empty()
    move = ("--service", "orders", "--yes")
    killed_and_resumed(pair, Load(pair), pair.in_order, *move, seed=seed, lines=12, once=True)
    assert {node.takes_messages for node in pair.nodes.values()} == {True, False}


def test_a_shovel_that_does_not_fetch(pair: Pair) -> None:
    """Law: without the shovel at the target a move is refused with a sentence, and nothing is changed."""
    source, target = pair.in_order()
    target.call("DELETE", "/api/parameters/shovel/orders/fetch")
    wait_for(lambda: not target.fetches)
    code, text = pair.run("controlled", "--service", "orders", "--from", source.name, "--yes")
    assert code == 3, text
    assert "fetch" in text or "unknown" in text
    assert pair.in_order() == (source, target)
    target.fetch_from(source.port)
    wait_for(lambda: target.fetches)


def test_a_virtual_host_that_is_not_there(pair: Pair, tmp_path: Path) -> None:
    """Law: a service that no site has is refused with a sentence, and so is a password that the site refuses."""
    inventory = pair.folder / "inventory.yaml"
    text = inventory.read_text()
    try:
        inventory.write_text(text.replace("services: [orders]", "services: [order]"))
        code, said = pair.run("controlled", "--service", "order", "--yes")
        assert (code, "order" in said) == (3, True), said
        (tmp_path / "wrong").write_text("battery-staple")
        (tmp_path / "wrong").chmod(0o600)
        inventory.write_text(text.replace("{env: RABBIT_PASSWORD}", f"{{file: {tmp_path}/wrong}}"))
        code, said = pair.run("controlled", "--service", "orders", "--yes")
        assert (code, "401" in said, "battery" in said) == (3, True, False), said
    finally:
        inventory.write_text(text)


def test_a_broker_that_is_too_old(pair: Pair) -> None:
    """Law: an older broker than was tried is refused with a sentence, and nothing is changed."""
    order = pair.in_order()
    pair.ny_api.answered = lambda piece: piece.replace(b'"rabbitmq_version":"3.10.8"', b'"rabbitmq_version":"3.9.29"')
    try:
        code, said = pair.run("controlled", "--service", "orders", "--from", order[0].name, "--yes")
    finally:
        pair.ny_api.answered = bytes
    assert (code, "is older than RabbitMQ 3.10" in said) == (3, True), said
    assert pair.in_order() == order


def test_a_full_disk(pair: Pair) -> None:
    """Law: a target whose alarm blocks every publisher is refused with a sentence: it would let applications in, and take
    nothing of them."""
    source, target = pair.in_order()
    target.limit_disk("900000GB")
    try:
        code, said = pair.run("controlled", "--service", "orders", "--from", source.name, "--yes")
    finally:
        target.limit_disk("50MB")
    assert (code, "an alarm of the target (memory or disk) blocks publishers" in said) == (3, True), said
    assert pair.in_order() == (source, target)


def test_pacemaker_is_found(pair: Pair) -> None:
    """Law: while Pacemaker manages the broker, or its host does not answer, a move is refused, until its resource is not
    managed, or that is accepted by name; where nobody is asked status says so. (The program answers like crm_mon.)"""
    source, target = pair.in_order()
    inventory, agent = pair.folder / "inventory.yaml", "ocf:heartbeat:rabbitmq-cluster"
    text = inventory.read_text()

    def managed(word: str) -> None:
        stand_in(pair.folder / "programs", crm_mon(resource(agent, word)))

    code, said = pair.run("status", "--json")
    assert (code, '"other_manager":"unasked"' in said) == (0, True), said
    try:
        inventory.write_text(text.replace("scheme: http", "scheme: http, cluster_host: host"))
        managed("true")
        code, said = pair.run("status")
        assert (code, f"another manager may act at ny ({agent})" in " ".join(said.split())) == (4, True), said
        code, said = pair.run("controlled", "--service", "orders", "--from", source.name, "--yes")
        assert (code, "pcs resource unmanage" in said, pair.in_order()) == (3, True, (source, target)), said
        managed("false")
        code, said = pair.run("controlled", "--service", "orders", "--from", source.name, "--yes")
        assert (code, pair.in_order()) == (0, (target, source)), said
        inventory.write_text(text.replace("scheme: http", "scheme: http, cluster_host: gone"))
        code, said = pair.run("controlled", "--service", "orders", "--from", target.name, "--yes")
        assert (code, "unknown whether pacemaker" in " ".join(said.split()), pair.in_order()) == (
            3,
            True,
            (target, source),
        ), said
        accepted = ("--accept-manager", "it only restarts, J. Doe")
        code, said = pair.run("controlled", "--service", "orders", "--from", target.name, "--yes", *accepted)
        assert (code, pair.in_order()) == (0, (source, target)), said
    finally:
        inventory.write_text(text)
        (pair.folder / "programs/ssh").unlink(missing_ok=True)


@pytest.mark.long
def test_a_killed_site(tmp_path: Path) -> None:
    """Law: after the loss of the active site its mate takes over once somebody answers for the fence; what it did not
    fetch is in the failed site's queue, and arrives when that is back."""
    with a_pair(tmp_path) as pair, Load(pair) as load:
        ny, nj = pair.nodes.values()
        load.goes_on(50)
        ny.stop()
        code, text = pair.run(
            "uncontrolled", "--service", "orders", "--site", "ny", "--yes", "--attest", "power is off"
        )
        assert code == 0, text
        load.goes_on()
        last = max(moment for moment, site in load.accepted.values() if site == "ny")
        assert all(last - load.accepted[number][0] < 2.0 for number in load.lost_at(nj))
        ny.start()
        ny.permit("app", "^$")
        wait_for(lambda: not load.lost_at(nj))
