"""Connections are bounded in time, whatever the resolver does and however many addresses a name has."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import closing

import pytest

from orchestrator.clock import SystemClock, VirtualClock
from orchestrator.family import connect as dialling
from orchestrator.family.connect import Address, dial

Rows = list[tuple[object, ...]]


class Network:
    """A resolver that knows ``addresses`` and takes ``takes_s`` for it, and what was asked of it and of the network.
    Of the addresses only ``alive`` answer."""

    def __init__(self, *addresses: tuple[object, ...], alive: tuple[str, ...] = (), takes_s: float = 0.0) -> None:
        self.clock = VirtualClock()
        self.addresses = addresses
        self.alive = alive
        self.takes_s = takes_s
        self.asked: list[tuple[object, ...]] = []
        self.connects: list[tuple[Address, float]] = []

    def look_up(self, *question: object, **more: object) -> Rows:
        assert more == {"type": socket.SOCK_STREAM}  # else each address comes once for each kind of socket
        self.asked.append(question)
        self.clock.advance(self.takes_s)
        return [(None, socket.SOCK_STREAM, 6, "", address) for address in self.addresses]

    def connect(self, address: Address, within_s: float) -> str:
        self.connects.append((address, within_s))
        if address[0] not in self.alive:
            raise TimeoutError(f"{address[0]} timed out")
        return address[0]

    def dialled(self) -> str:
        return dial("ny1.example", 22, 10.0, clock=self.clock, connect=self.connect, look_up=self.look_up)


def several(count: int) -> list[tuple[object, ...]]:
    return [(f"192.0.2.{number}", 22) for number in range(1, count + 1)]


@pytest.mark.parametrize(("addresses", "each_s"), [(1, 10.0), (4, 2.5)])
def test_addresses_share_the_time(addresses: int, each_s: float) -> None:
    """All of them together have what was meant; the failure of the first is what is told."""
    network = Network(*several(addresses))
    with pytest.raises(TimeoutError, match=r"192\.0\.2\.1 "):
        network.dialled()
    assert network.connects == [((f"192.0.2.{number}", 22), each_s) for number in range(1, addresses + 1)]


def test_the_look_up_has_its_part_of_the_time() -> None:
    """A resolver that took six of ten seconds leaves four; one that took them all leaves hardly any."""
    slow, late = Network(*several(2), takes_s=6.0), Network(*several(2), takes_s=10.0)
    for network in (slow, late):
        with pytest.raises(TimeoutError):
            network.dialled()
    assert [within_s for _, within_s in slow.connects] == [2.0, 2.0]
    assert [within_s for _, within_s in late.connects] == [0.1, 0.1]


def test_the_first_that_answers() -> None:
    """Those after it are left alone, and the name is looked up once for all of them."""
    network = Network(*several(3), alive=("192.0.2.2",))
    assert network.dialled() == "192.0.2.2"
    assert [address for address, _ in network.connects] == [("192.0.2.1", 22), ("192.0.2.2", 22)]
    assert network.asked == [("ny1.example", 22)]


@pytest.mark.parametrize(
    ("row", "address"),
    [
        (("2001:db8::1", 22, 0, 0), "2001:db8::1"),
        (("fe80::1", 22, 0, 3), "fe80::1%3"),
        (("fe80::1%eth0", 22, 0, 3), "fe80::1%eth0"),
    ],
)
def test_an_address_of_a_link_keeps_its_link(row: tuple[object, ...], address: str) -> None:
    """Without it nobody could tell on which cable the device is."""
    assert Network(row, alive=(address,)).dialled() == address


@pytest.mark.parametrize("error", [socket.gaierror("no such name"), UnicodeError("label too long")])
def test_a_name_that_is_none(error: Exception) -> None:
    """What the resolver says of it is what is told."""

    def fails(*question: object, **more: object) -> Rows:
        raise error

    with pytest.raises(type(error), match=str(error)):
        dial("nowhere.example", 22, 10.0, clock=VirtualClock(), connect=Network().connect, look_up=fails)


def test_a_name_without_addresses() -> None:
    """No address is not "reached"."""
    with pytest.raises(socket.gaierror, match=r"ny1\.example has no address"):
        Network().dialled()


@pytest.fixture
def never_answers() -> Callable[..., Rows]:
    """A resolver that answers nothing as long as anybody waits."""

    def look_up(*question: object, **more: object) -> Rows:
        threading.Event().wait()
        raise AssertionError("nobody sets it")

    return look_up


@pytest.mark.realtime
def test_a_resolver_that_never_answers(never_answers: Callable[..., Rows]) -> None:
    """It costs the time of a connection and no more; the sentence names the host, and whose fault it is."""
    network = Network()
    with pytest.raises(OSError, match=r"resolver did not answer within 0\.05 s for the name ny1\.example") as caught:
        dial("ny1.example", 22, 0.05, clock=SystemClock(), connect=network.connect, look_up=never_answers)
    assert not isinstance(caught.value, TimeoutError), "that is a device that does not answer"
    assert not network.connects


@pytest.mark.realtime
def test_a_question_that_a_signal_kept_from_being_noted() -> None:
    """Ctrl-C may come between the start of the look-up and its note: its thread ends without a word, and the next
    attempt has its answer."""
    network = Network(("192.0.2.1", 22), alive=("192.0.2.1",))

    def unnoted(*question: object, **more: object) -> Rows:
        with dialling._lock:
            dialling._under_way.clear()
        return network.look_up(*question, **more)

    for _ in range(2):
        made = dial("ny1.example", 22, 10.0, clock=network.clock, connect=network.connect, look_up=unnoted)
        assert made == "192.0.2.1"


def test_attempts_wait_for_the_same_answer() -> None:
    """A resolver that hangs has one thread for each name, however often it is tried; what it says at last is heard."""
    answers, asked = threading.Event(), []

    def look_up(host: str, port: int, **more: object) -> Rows:
        asked.append(host)
        assert answers.wait(30.0)
        return [(None, socket.SOCK_STREAM, 6, "", ("192.0.2.1", port))]

    network = Network(alive=("192.0.2.1",))

    def dialled(host: str, within_s: float) -> str:
        return dial(host, 22, within_s, clock=SystemClock(), connect=network.connect, look_up=look_up)

    for host in ("ny1.example", "ny1.example", "nj1.example", "ny1.example"):
        with pytest.raises(OSError, match="resolver did not answer"):
            dialled(host, 0.05)
    assert asked == ["ny1.example", "nj1.example"]
    answers.set()
    assert dialled("ny1.example", 20.0) == "192.0.2.1"


@pytest.mark.realtime
def test_a_connection() -> None:
    """The control: somebody who listens is reached."""
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as server,
        closing(
            dial(
                "127.0.0.1",
                server.getsockname()[1],
                20.0,
                clock=SystemClock(),
                connect=socket.create_connection,
            )
        ) as made,
    ):
        assert made.getpeername() == server.getsockname()
