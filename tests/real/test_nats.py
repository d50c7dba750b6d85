"""A JetStream stream moves from one NATS server to its mirror and back under load, and no stored message is lost."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adapters.declared.family import family_of
from orchestrator.clock import SystemClock
from orchestrator.documents.loader import read_family
from orchestrator.family.contract import Adapter, AdapterContext, Call
from orchestrator.family.secrets import SecretStore
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Effect
from tests.real.commands import ROOT
from tests.real.killing import killed_and_resumed
from tests.real.nats import PASSWORD, Load, Pair, Server, a_pair, connected
from tests.real.places import wait_for
from tests.real.relay import Relay

pytestmark = pytest.mark.realtime


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """A pair for all tests that leave it well, whichever site is active."""
    with a_pair() as made:
        yield made


class Anytime:
    """A permit that is never taken back."""

    def check(self) -> None:
        """It holds."""


def adapter_at(server: Server, mate: str) -> Adapter:
    """The adapter of one site."""
    options = {"subjects": ["orders.>", "bills.>"], "parked": "parked.ORDERS", "mate": mate, "kept": "ORDERS-KEPT"}
    site = Site.model_validate(
        {
            "name": server.name,
            "adapter": "nats",
            "devices": [{"name": server.name, "address": "127.0.0.1", "port": server.port}],
            "login": {"username": "ops", "password": {"inline": PASSWORD}},
            "options": {**options, "scheme": "nats"},
        }
    )
    kind: Any = family_of(read_family(ROOT / "runbooks/nats.yaml").result(), None).adapters["nats"]
    made: Adapter = kind(site, AdapterContext(SystemClock(), SecretStore()))
    return made


def everything_is_there(pair: Pair, load: Load) -> None:
    """Each site has every stored message once, and no publisher was answered by two."""
    assert load.answered_twice == set()
    load.arrives_at(*pair.servers.values(), once=True)


def test_there_and_back_under_load(pair: Pair) -> None:
    """Law: a controlled move and the way back lose no stored message and double none, no two sites store at once, and the
    password is in nothing that is said. Neither stream is sealed, which could never be undone."""
    with Load(pair) as load:
        load.goes_on(50)
        names = []
        for _ in range(2):
            source, target = pair.in_order()
            names.append(source.name)
            code, text = pair.run("controlled", "--service", "ORDERS", "--from", source.name, "--yes")
            assert code == 0, text
            assert PASSWORD not in text
            assert (source.takes_messages, target.takes_messages, source.mirrors) == (False, True, True)
            assert [one.info()["config"]["sealed"] for one in (source, target)] == [False, False]
            load.goes_on()
    assert load.sites_in_order == [*names, names[0]]
    everything_is_there(pair, load)
    code, text = pair.run("status")
    assert code == 0, text
    code, text = pair.run("runs", "export", "last")
    assert (code, PASSWORD in text) == (0, False)


@pytest.mark.parametrize("seed", [1, *(pytest.param(one, marks=pytest.mark.long) for one in range(2, 26))])
def test_killed_and_resumed(pair: Pair, seed: int) -> None:
    """Law: a move that is killed at any instant, and resumed, ends with one active site, and without a lost message."""
    load = Load(pair)
    killed_and_resumed(pair, load, pair.in_order, "--service", "ORDERS", "--yes", seed=seed, lines=26, once=True)
    assert {server.takes_messages for server in pair.servers.values()} == {True, False}
    assert load.answered_twice == set()


def test_consumers_keep_their_position(pair: Pair) -> None:
    """Law: a consumer is at the target afterwards, behind the last message that was acknowledged without a gap, and no
    longer at the source: what was not acknowledged is delivered there."""
    source, target = pair.in_order()
    for name in ("work", "audit"):
        config = {"durable_name": name, "name": name, "ack_policy": "explicit", "filter_subject": "bills.>"}
        made = source.ask(f"$JS.API.CONSUMER.CREATE.ORDERS.{name}", {"stream_name": "ORDERS", "config": config})
        assert "error" not in made, made

    async def bill(numbers: range) -> list[int]:
        session = await connected(source.port, "app")
        sent = [await session.request("bills.new", str(one).encode(), timeout=5) for one in numbers]
        await session.close()
        return [json.loads(one.data)["seq"] for one in sent]

    async def fetch(server: Server, number: int) -> list[int]:
        session = await connected(server.port, "app")
        work = await session.jetstream().pull_subscribe_bind("work", stream="ORDERS")
        got = await work.fetch(number, timeout=5)
        for one in got:
            await one.ack_sync()
        await session.close()
        return [one.metadata.sequence.stream for one in got]

    sequences = asyncio.run(bill(range(10_000_000, 10_000_010)))
    assert asyncio.run(fetch(source, 4)) == sequences[:4]
    code, text = pair.run("controlled", "--service", "ORDERS", "--from", source.name, "--yes")
    assert code == 0, text
    assert "2 of them" in text
    assert source.ask("$JS.API.CONSUMER.NAMES.ORDERS")["total"] == 0
    assert set(target.ask("$JS.API.CONSUMER.NAMES.ORDERS")["consumers"]) == {"work", "audit"}
    assert asyncio.run(fetch(target, 6)) == sequences[4:]
    for name in ("work", "audit"):
        target.ask(f"$JS.API.CONSUMER.DELETE.ORDERS.{name}")


def test_a_parked_stream_keeps_its_configuration(pair: Pair) -> None:
    """Law (traps F7, F9): the parked stream has the subject that the inventory names, not its own name, and all else of
    its configuration stays; giving the subjects back makes it what it was. Both may be done twice."""
    source, target = pair.in_order()
    config = source.info()["config"] | {"description": "as an operator wrote it", "max_msg_size": 100_000}
    assert "error" not in source.ask("$JS.API.STREAM.UPDATE.ORDERS", config)
    adapter = adapter_at(source, f"$JS.{target.name}.API")
    for action, subjects in (("park", ["parked.ORDERS"]), ("open", ["orders.>", "bills.>"])):
        for _ in range(2):
            [result] = adapter.apply(action, [Call("ORDERS")], Anytime())
            assert result.effect is Effect.ACCEPTED, result.detail
            assert source.info()["config"] == config | {"subjects": subjects}
    adapter.close()


def test_a_second_call(pair: Pair) -> None:
    """Law: what the server answers to a second call proves nothing: it is doubt, and a reading decides."""
    source, target = pair.in_order()
    adapter = adapter_at(target, f"$JS.{source.name}.API")
    mirror = target.info()["config"]["mirror"]
    assert "error" not in target.ask("$JS.API.STREAM.DELETE.ORDERS")
    [again] = adapter.apply("drop", [Call("ORDERS")], Anytime())
    assert (again.effect, "10059" in again.detail) == (Effect.DOUBTFUL, True), again
    other = {"name": "ORDERS", "subjects": ["elsewhere.>"], "storage": "file"}
    assert "error" not in target.ask("$JS.API.STREAM.CREATE.ORDERS", other)
    [follow] = adapter.apply("follow", [Call("ORDERS")], Anytime())
    assert (follow.effect, "10058" in follow.detail) == (Effect.DOUBTFUL, True), follow
    assert "error" not in target.ask("$JS.API.STREAM.DELETE.ORDERS")
    [follow] = adapter.apply("follow", [Call("ORDERS")], Anytime())
    assert follow.effect is Effect.ACCEPTED, follow.detail
    assert target.info()["config"]["mirror"]["external"]["api"] == mirror["external"]["api"]
    wait_for(lambda: target.mirrors)
    adapter.close()


def test_pairs_that_cannot_be_moved(pair: Pair, tmp_path: Path) -> None:
    """Law: a stream that no site has, another subject than the inventory's, consumers at the mirror, and a password that
    is refused are a sentence each; nothing is changed."""
    source, target = pair.in_order()
    inventory = pair.folder / "inventory.yaml"
    text = inventory.read_text()

    def refused(sentence: str, service: str = "ORDERS") -> None:
        code, said = pair.run("controlled", "--service", service, "--from", source.name, "--yes")
        assert (code, sentence in said, "battery" in said) == (3, True, False), said

    try:
        inventory.write_text(text.replace("services: [ORDERS]", "services: [ORDER]"))
        refused("the source does not take messages", "ORDER")
        inventory.write_text(text.replace("[orders.>, bills.>]", "[orders.>]"))
        refused("the subjects of the stream differ")
        (tmp_path / "wrong").write_text("battery-staple")
        (tmp_path / "wrong").chmod(0o600)
        inventory.write_text(text.replace("{env: NATS_PASSWORD}", f"{{file: {tmp_path}/wrong}}"))
        refused("refused the login")
    finally:
        inventory.write_text(text)
    config = {"durable_name": "work", "name": "work", "ack_policy": "explicit"}
    target.ask("$JS.API.CONSUMER.CREATE.ORDERS.work", {"stream_name": "ORDERS", "config": config})
    refused("the mirror already has consumers")
    target.ask("$JS.API.CONSUMER.DELETE.ORDERS.work")
    assert pair.in_order() == (source, target)


def test_a_server_that_is_too_old(pair: Pair) -> None:
    """Law (trap N1): a server before 2.12 cannot promote a mirror, and is refused before anything is changed; before 2.11
    it tells no level."""
    source, target = pair.in_order()
    inventory, way = pair.folder / "inventory.yaml", Relay(target.port)
    text = inventory.read_text()
    inventory.write_text(text.replace(f"port: {target.port}}}", f"port: {way.port}}}"))
    level = re.compile(rb'"_nats.level":"\d"')
    try:
        for older in (b'"_nats.level":"1"', b'"_nats.lavel":"2"'):
            way.answered = partial(level.sub, older)
            code, said = pair.run("controlled", "--service", "ORDERS", "--from", source.name, "--yes")
            assert (code, "older than 2.12 and cannot promote a mirror" in said) == (3, True), said
    finally:
        inventory.write_text(text)
        way.close()
    assert pair.in_order() == (source, target)


@pytest.mark.long
def test_a_full_disk() -> None:
    """Law: a mirror without room is heard and stays behind: no move takes the subjects from its stream."""
    with a_pair() as pair:
        ny, nj = pair.servers.values()
        nj.stop()
        nj.room = 1_000_000
        nj.start()

        async def fill() -> None:
            session = await connected(ny.port, "app")
            for _ in range(20):
                await session.request("bills.new", b"1" * 100_000, timeout=5)
            await session.close()

        asyncio.run(fill())
        wait_for(lambda: nj.info()["mirror"]["lag"] > 0)
        code, said = pair.run("controlled", "--service", "ORDERS", "--from", "ny", "--yes")
        assert (code, "heck that the target has room for the mirror" in said) == (3, True), said
        assert ny.takes_messages


def test_a_link_that_is_cut() -> None:
    """Law (trap N2): while the link is cut the mirror reports that it lags behind by 0, and no move believes it."""
    with a_pair() as pair, Load(pair) as load:
        ny, nj = pair.servers.values()
        load.goes_on(50)
        pair.way.cut()
        behind = len(load.accepted)
        wait_for(lambda: len(load.accepted) > behind + 200)
        wait_for(lambda: nj.info()["mirror"]["active"] > 3_000_000_000)
        assert (nj.info()["mirror"]["lag"], nj.info()["state"]["last_seq"] < behind + 200) == (0, True)
        code, text = pair.run("controlled", "--service", "ORDERS", "--from", "ny", "--yes")
        assert (code, "has had no contact with its stream" in text) == (3, True), text
        assert ny.takes_messages


@pytest.mark.long
def test_a_killed_site() -> None:
    """Law: after the loss of the active site its mirror is promoted once an operator answers for the fence. A site that
    comes back with its subjects stores what the other stores too (trap F8), until the guard parks it; what only it had is
    in the kept stream after the restore, and the way back is a planned move."""
    with a_pair() as pair:
        ny, nj = pair.servers.values()
        with Load(pair) as load:
            load.goes_on(50)
            pair.way.cut()
            behind = len(load.accepted)
            wait_for(lambda: len(load.accepted) > behind + 50)
            ny.stop()
            code, text = pair.run(
                "uncontrolled", "--service", "ORDERS", "--site", "ny", "--yes", "--attest", "power is off"
            )
            assert code == 0, text
            load.goes_on()
            lost = load.lost_at(nj)
            pair.way.heal()
            assert lost and {load.accepted[number][1] for number in lost} == {"ny"}
            assert load.answered_twice == set()
            ny.start()
            wait_for(lambda: bool(load.answered_twice))
            with pair.guarding("ny") as said:
                wait_for(lambda: pair.outcomes("nats/guard") == ["done"])
            assert "SO DOES ITS MATE" in said[0]
            assert (ny.takes_messages, nj.takes_messages) == (False, True)
            code, text = pair.run("restore", "--service", "ORDERS", "--site", "ny", "--yes")
            assert code == 0, text
            assert (ny.takes_messages, nj.takes_messages, ny.mirrors) == (False, True, True)
            kept = set(ny.has("ORDERS-KEPT"))
            assert lost <= kept
            load.goes_on()
            # What ny alone stored while it was back is kept there too.
            assert load.lost_at(nj) <= kept
            code, text = pair.run("failback", "--service", "ORDERS", "--site", "ny", "--yes")
            assert code == 0, text
            load.goes_on()
        only = set(load.accepted) - kept
        for server in (ny, nj):
            wait_for(lambda server=server: not load.lost_at(server) & only)
        assert (ny.takes_messages, nj.takes_messages, nj.mirrors) == (True, False, True)
