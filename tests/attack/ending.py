"""A relay that ends connections after a chosen byte, and a judge of what an adapter answers then.

The relay carries bytes between an adapter and its server. It ends the adapter's side in one of three manners. It closes
the server's side in an orderly way and waits for the server, so that a test knows what the server obeyed.
"""

from __future__ import annotations

import gc
import select
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import product
from random import Random
from typing import Any, Literal

import orchestrator.errors
from orchestrator.clock import SystemClock
from orchestrator.errors import AdapterError, NotObeyed
from orchestrator.family.contract import Adapter, Call, Result
from orchestrator.model.outcome import Effect, Failure
from orchestrator.model.reading import Reading

Way = Literal["asked", "answered"]
Manner = Literal["reset", "closed", "half-closed", "silent"]
Answer = Reading | Failure
Values = Mapping[str, Any]
WAYS: tuple[Way, ...] = ("asked", "answered")
MANNERS: tuple[Manner, ...] = ("reset", "closed", "half-closed")
ERRORS = {
    name
    for name, one in vars(orchestrator.errors).items()
    if isinstance(one, type) and issubclass(one, AdapterError) and one is not AdapterError
}
# The time limits of all adapters here are far shorter. Whatever takes longer hangs.
HANGS_S = 60.0
_RESET = struct.pack("ii", 1, 0)
_BLOCK = 65536


class Hasty(SystemClock):
    """The machine's clock, almost without the pauses between attempts."""

    def sleep(self, seconds: float) -> None:
        """Wait only a moment."""
        super().sleep(min(seconds, 0.002))


@dataclass(frozen=True)
class Cut:
    """The end of a connection after ``after`` bytes of one ``way``. ``is_late``: only when the next byte arrives, which
    is lost. ``is_once``: the connections after it are whole; otherwise each one ends at the same byte."""

    way: Way
    after: int
    manner: Manner
    is_late: bool
    is_once: bool

    def __str__(self) -> str:
        which = "the first connection" if self.is_once else "every connection"
        late = " when one more came" if self.is_late else ""
        return f"{which} {self.manner} after {self.after} bytes {self.way}{late}"


KINDS = tuple(product(MANNERS, (True, False), (True, False)))


def sampled(length: Mapping[Way, int], share: int, seed: str) -> Iterator[Cut]:
    """``share`` cuts of each way: at both ends of the dialogue, and one in each of equal parts of it."""
    random = Random(seed)
    for way in WAYS:
        size = length[way]
        edges = [0, 1, size - 1, size]
        parts = share - len(edges)
        inner = [random.randrange(size * part // parts, size * (part + 1) // parts) for part in range(parts)]
        kinds = random.sample(KINDS, len(KINDS))
        for number, after in enumerate([*edges, *inner]):
            yield Cut(way, after, *kinds[number % len(kinds)])


def silent(length: Mapping[Way, int], share: int) -> Iterator[Cut]:
    """``share`` places of each way at which the peer stays connected, and nothing arrives any more."""
    for way in WAYS:
        for part in range(share):
            yield Cut(way, length[way] * part // (share - 1), "silent", is_late=False, is_once=True)


def every(length: Mapping[Way, int], kinds: int) -> Iterator[Cut]:
    """Cuts after each byte of each way: ``kinds`` of the kinds at each, in turn."""
    for way in WAYS:
        for after in range(length[way] + 1):
            for turn in range(after * kinds, (after + 1) * kinds):
                yield Cut(way, after, *KINDS[turn % len(KINDS)])


class Ending:
    """Carries connections to the port ``to`` of this machine. ``carried``: the bytes of each connection, asked and
    answered."""

    def __init__(self, to: int) -> None:
        self._to = to
        self._cut: Cut | None = None
        self._threads: list[threading.Thread] = []
        self.carried: list[dict[Way, int]] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def begin(self, cut: Cut | None) -> None:
        """Forget the connections of before. End the next ones as ``cut`` says."""
        self.carried.clear()
        self._cut = cut

    def settle(self) -> None:
        """Wait until the server has ended all connections. The adapter must have ended them."""
        while self._threads:
            one = self._threads.pop()
            one.join(1.0)
            if one.is_alive():
                gc.collect()  # a driver may close a connection that it gave up only when nothing refers to it
                one.join(HANGS_S)
            assert not one.is_alive(), "a connection was left open"

    def close(self) -> None:
        """Take no more connections."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join(HANGS_S)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                carrier = threading.Thread(target=self._carry, args=(client,), daemon=True)
                self._threads.append(carrier)
                carrier.start()

    def _carry(self, client: socket.socket) -> None:
        carried: dict[Way, int] = {"asked": 0, "answered": 0}
        self.carried.append(carried)
        cut = self._cut if self._cut is None or not self._cut.is_once or len(self.carried) == 1 else None
        with client, socket.create_connection(("127.0.0.1", self._to), timeout=HANGS_S) as server:
            for one in (client, server):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with suppress(OSError):
                if _passed(client, server, carried, cut) and cut is not None:
                    _end(client, server, cut.manner)
            _drain(server)


def _passed(client: socket.socket, server: socket.socket, carried: dict[Way, int], cut: Cut | None) -> bool:
    """Carry bytes until one side ends the connection. True: the place of the cut was reached before."""
    ways: Mapping[socket.socket, tuple[Way, socket.socket]] = {
        client: ("asked", server),
        server: ("answered", client),
    }
    while True:
        if cut is not None and not cut.is_late and carried[cut.way] >= cut.after:
            return True
        ready, _, _ = select.select(list(ways), [], [], HANGS_S)
        if not ready:
            return False
        for source in ready:
            way, sink = ways[source]
            room = _BLOCK if cut is None or way != cut.way else cut.after - carried[way]
            if room <= 0:
                return True
            piece = source.recv(min(room, _BLOCK))
            if not piece:
                return False
            sink.sendall(piece)
            carried[way] += len(piece)


def _end(client: socket.socket, server: socket.socket, manner: Manner) -> None:
    if manner == "half-closed":
        client.shutdown(socket.SHUT_WR)
        client.settimeout(HANGS_S)
        while piece := client.recv(_BLOCK):
            server.sendall(piece)
    elif manner == "silent":
        client.settimeout(2 * HANGS_S)
        while client.recv(_BLOCK):
            pass
    elif manner == "reset":
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    client.close()


def _drain(server: socket.socket) -> None:
    """Tell the server that no more is asked, and wait until it has ended too."""
    with suppress(OSError):
        server.shutdown(socket.SHUT_WR)
        server.settimeout(HANGS_S)
        while server.recv(_BLOCK):
            pass


@dataclass(frozen=True)
class Door:
    """One dialogue of an adapter with the server at ``port``: a reading of ``service``, or an ``action`` and that
    reading.

    ``adapter`` makes the adapter of a site whose server is at a port. ``reset`` puts the server back. ``obeyed``: how
    often the server has obeyed the action since then. ``is_refused``: the login is wrong. ``is_unknown_after``: the
    adapter reads nothing that the action could have changed for a while.
    """

    port: int
    adapter: Callable[[int], Adapter]
    reading: str
    service: str
    action: str = ""
    args: Mapping[str, str] = field(default_factory=dict)
    reset: Callable[[], object] = lambda: None
    obeyed: Callable[[], int] = lambda: 0
    is_refused: bool = False
    is_unknown_after: bool = False


@dataclass
class Heard:
    """The answers of an adapter: of the dialogue, and of readings after it."""

    answers: list[Answer] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    raised: AdapterError | None = None


class _Always:
    def check(self) -> None:
        """The change may always leave."""


def _read(adapter: Adapter, door: Door) -> Answer:
    try:
        return adapter.probe(door.reading, [door.service])[door.service]
    except AdapterError as error:
        return Failure.of(error)


def _talk(door: Door, port: int) -> Heard:
    heard = Heard()
    with closing(door.adapter(port)) as adapter:
        if door.is_refused:
            heard.answers.append(_read(adapter, door))
            return heard
        with suppress(AdapterError):
            adapter.open()
        if door.action:
            try:
                for result in adapter.apply(door.action, [Call(door.service, door.args)], _Always()):
                    heard.results.append(result)
            except AdapterError as error:
                heard.raised = error
        heard.answers.append(_read(adapter, door))
        if isinstance(heard.answers[-1], Failure):
            heard.answers.append(_read(adapter, door))
    return heard


def _within(work: Callable[[], Heard]) -> Heard | str:
    """What ``work`` returns, or what is wrong with it: another exception, or a hang."""
    done: list[Heard | str] = []

    def run() -> None:
        try:
            done.append(work())
        except Exception as error:  # noqa: BLE001 - what an adapter must not raise is what the test looks for
            done.append(f"raised {type(error).__name__}: {error}")

    worker = threading.Thread(target=run, daemon=True)
    worker.start()
    worker.join(HANGS_S)
    return done[0] if done else "hangs"


@dataclass
class Trial:
    """One dialogue behind a relay. ``before`` and ``after``: the true reading without and with the action. ``length``:
    the bytes of each way if no connection is ended."""

    door: Door
    relay: Ending
    before: Values = field(default_factory=dict)
    after: Values = field(default_factory=dict)
    length: Mapping[Way, int] = field(default_factory=dict)

    def measure(self) -> None:
        """Play it without a cut."""
        looked = self._played(replace(self.door, action=""), None)
        played = self._played(self.door, None)
        assert isinstance(looked, Heard), looked
        assert isinstance(played, Heard), played
        self.length = self.relay.carried[0]
        [first], [last] = looked.answers, played.answers
        if self.door.is_refused:
            assert isinstance(last, Failure), last
            assert last.kind == "AuthenticationFailed", last
            return
        assert not isinstance(first, Failure), first
        assert not isinstance(last, Failure), last
        self.before, self.after = first.model_dump(), last.model_dump()
        assert [one.effect for one in played.results] == [Effect.ACCEPTED] * bool(self.door.action), played
        assert self.door.obeyed() == bool(self.door.action)
        is_seen = self.before != self.after
        assert is_seen == bool(self.door.action) or self.door.is_unknown_after, (self.before, self.after)

    def trouble(self, cut: Cut) -> str:
        """What is wrong with the answers if connections end so; empty if nothing is."""
        heard = self._played(self.door, cut)
        why = heard if isinstance(heard, str) else self._wrong(heard, cut)
        return f"{cut}: {why}" if why else ""

    def _played(self, door: Door, cut: Cut | None) -> Heard | str:
        door.reset()
        self.relay.begin(cut)
        heard = _within(lambda: _talk(door, self.relay.port))
        if heard != "hangs":
            self.relay.settle()
        return heard

    def _wrong(self, heard: Heard, cut: Cut) -> str:
        obeyed = self.door.obeyed()
        if obeyed > 1:
            return f"the server obeyed {obeyed} times"
        if self.door.action and (why := _wrong_results(heard, is_obeyed=obeyed == 1)):
            return why
        true = [self.after] if obeyed else [self.before]
        if obeyed and not any(one.effect is Effect.ACCEPTED for one in heard.results):
            true.append(self.before)  # the server may obey while the adapter already reads over the next connection
        for one in heard.answers:
            if why := self._wrong_reading(one, true):
                return why
        last = heard.answers[-1]
        if self.door.is_refused and self._is_whole(cut) and getattr(last, "kind", "") != "AuthenticationFailed":
            return f"the refusal of the login arrived, and is not reported: {last}"
        is_lost = cut.is_once and isinstance(last, Failure) and not self.door.is_refused
        return f"not even the second reading over a whole connection succeeds: {last}" if is_lost else ""

    def _is_whole(self, cut: Cut) -> bool:
        """Has every byte arrived that the server answers?"""
        return cut.way == "answered" and cut.after >= self.length["answered"]

    def _wrong_reading(self, found: Answer, true: Sequence[Values]) -> str:
        if isinstance(found, Failure):
            return "" if found.kind in ERRORS else f"the kind of this failure is no error of this program: {found}"
        if self.door.is_refused:
            return f"a wrong login reads {found}"
        is_true = self.door.is_unknown_after or found.model_dump() in true
        return "" if is_true else f"reads {found.model_dump()}; true is {true}"


def _wrong_results(heard: Heard, *, is_obeyed: bool) -> str:
    if heard.raised is not None:
        is_denied = isinstance(heard.raised, NotObeyed) and is_obeyed
        return f"raised {heard.raised!r}, but the server obeyed" if is_denied else ""
    if len(heard.results) != 1:
        return f"one call has {len(heard.results)} results"
    [result] = heard.results
    if result.effect is Effect.ACCEPTED:
        return "" if is_obeyed else f"the server did not obey: {result}"
    is_denied = result.effect in (Effect.NOT_SENT, Effect.REJECTED) and is_obeyed
    return f"the server obeyed: {result}" if is_denied else ""


@contextmanager
def trial(door: Door) -> Iterator[Trial]:
    """A dialogue behind a relay, measured."""
    relay = Ending(door.port)
    try:
        made = Trial(door, relay)
        made.measure()
        yield made
    finally:
        relay.close()


def troubles(door: Door, cuts: Callable[[Mapping[Way, int]], Sequence[Cut] | Iterator[Cut]]) -> list[str]:
    """All that is wrong, for the cuts that fit the length of the dialogue."""
    with trial(door) as played:
        return [why for cut in cuts(played.length) if (why := played.trouble(cut))]
