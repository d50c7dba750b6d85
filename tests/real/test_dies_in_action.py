"""A server is killed in the middle of a change: when it is asked, or when it has obeyed and its answer is on its way."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.real import nats, rabbitmq, redis
from tests.real.commands import Operator
from tests.real.relay import Relay

pytestmark = [pytest.mark.realtime, pytest.mark.long]


@contextmanager
def redises(folder: Path) -> Iterator[tuple[redis.Pair, dict[str, int]]]:
    """The pair, and the ports at which its operator reaches it."""
    with redis.a_pair(folder) as pair:
        yield pair, {name: server.port for name, server in pair.servers.items()}


@contextmanager
def brokers(folder: Path) -> Iterator[tuple[rabbitmq.Pair, dict[str, int]]]:
    """The same of RabbitMQ."""
    with rabbitmq.a_pair(folder) as pair:
        yield pair, {"ny": pair.ny_api.port, "nj": pair.nodes["nj"].api}


@contextmanager
def streams(folder: Path) -> Iterator[tuple[nats.Pair, dict[str, int]]]:
    """The same of NATS."""
    with nats.a_pair() as pair:
        yield pair, {name: server.port for name, server in pair.servers.items()}


def back(server: Any, pair: Operator) -> None:
    """Start a server as its configuration says: the second one of Redis is a replica."""
    if isinstance(pair, redis.Pair) and server.name == "nj":
        server.start(master=pair.ways["ny"].port)
    else:
        server.start()


def active(pair: Operator) -> list[str]:
    """The sites that serve."""
    if isinstance(pair, redis.Pair):
        return [name for name, one in pair.servers.items() if one.role == "master"]
    sites = pair.nodes if isinstance(pair, rabbitmq.Pair) else pair.servers  # type: ignore[attr-defined]
    return [name for name, one in sites.items() if one.takes_messages]


def kills(way: Relay, words: bytes, kill: Callable[[], None], *, answered: bool) -> None:
    """The first request with these words ends the server: before it hears of it, or before its answer is heard."""
    asked, done = threading.Event(), threading.Event()

    def ask(piece: bytes) -> bytes:
        if words not in piece or asked.is_set():
            return piece
        asked.set()
        return piece if answered else end()

    def answer(piece: bytes) -> bytes:
        return end() if answered and asked.is_set() and not done.is_set() else piece

    def end() -> bytes:
        done.set()
        kill()
        return b""

    way.asked, way.answered = ask, answer


@pytest.mark.parametrize("answered", [False, True])
@pytest.mark.parametrize(
    ("family", "service", "site", "words"),
    [
        (redises, "cache", "ny", b"min-replicas-to-write"),
        (redises, "cache", "nj", b"REPLICAOF"),
        (streams, "ORDERS", "ny", b"STREAM.UPDATE"),
        (streams, "ORDERS", "nj", b"STREAM.UPDATE"),
        (brokers, "orders", "ny", b"PUT "),
        (brokers, "orders", "nj", b"PUT "),
    ],
)
def test_killed(tmp_path: Path, family: Any, service: str, site: str, words: bytes, answered: bool) -> None:
    """Law: whether it obeyed is in doubt, and nothing else is done; once it is back, reading it settles that: the source
    is as it was, or the move is finished. One site serves."""
    with family(tmp_path) as (pair, ports):
        server = (pair.nodes if isinstance(pair, rabbitmq.Pair) else pair.servers)[site]
        way = Relay(ports[site])
        inventory = pair.folder / "inventory.yaml"
        inventory.write_text(inventory.read_text().replace(f"port: {way.to}}}]", f"port: {way.port}}}]"))
        kills(way, words, server.stop, answered=answered)
        code, said = pair.run("controlled", "--service", service, "--from", "ny", "--yes")
        assert (code, "in doubt until a reading shows the effect" in said) == (7 if site == "ny" else 6, True), said
        back(server, pair)
        code, said = pair.run("resume")
        assert (code, active(pair)) == ((5, ["ny"]) if site == "ny" else (0, ["nj"])), said
        way.close()
