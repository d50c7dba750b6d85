"""Two RabbitMQ sites with a shovel each way, and a load that counts what was accepted."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pika
import pika.exceptions
import pytest

from tests.real.commands import Operator
from tests.real.postgresql import wait_for
from tests.real.relay import Relay

PASSWORD = "correct-horse"
SBIN = next(iter(sorted(Path("/usr/lib/rabbitmq/lib").glob("rabbitmq_server-*/sbin"))), None)
INVENTORY = """\
sites:
  ny:
    adapter: rabbitmq
    devices: [{{name: ny, address: 127.0.0.1, port: {ny}}}]
    login: {{username: guest, password: {{env: RABBIT_PASSWORD}}}}
    options: {{writers: app, queue: REPL, shovel: fetch, node: ny@localhost, programs: {programs}, scheme: http}}
    also:
      - adapter: local
        options:
          commands:
            limit: {{argv: [{fence}, close], check: [{fence}, is-closed], undo: unlimit}}
            unlimit: {{argv: [{fence}, open]}}
    fence: [{{command: limit}}]
  nj:
    adapter: rabbitmq
    devices: [{{name: nj, address: 127.0.0.1, port: {nj}}}]
    login: {{username: guest, password: {{env: RABBIT_PASSWORD}}}}
    options: {{writers: app, queue: REPL, shovel: fetch, node: nj@localhost, programs: {programs}, scheme: http}}
pairs:
  - {{name: trade, sites: [ny, nj], services: [orders]}}
"""
# The limit of a user outlives a restart; its proof is a login that is refused with 530.
FENCE = """\
#!/bin/sh
case $1 in
close) {programs}/rabbitmqctl -q -n ny@localhost set_user_limits app '{{"max-connections": 0}}' &&
  exec {programs}/rabbitmqctl -q -n ny@localhost close_all_user_connections app fenced;;
open) exec {programs}/rabbitmqctl -q -n ny@localhost clear_user_limits app max-connections;;
*) exec {python} -c '
import pika, pika.exceptions
login = pika.PlainCredentials("app", "{password}")
try:
    pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", {port}, "orders", login)).close()
    raise SystemExit(1)
except pika.exceptions.AMQPError as error:
    print(repr(error))
    raise SystemExit(0 if "530" in repr(error) else 2)';;
esac
"""


def free_ports(number: int) -> list[int]:
    """Ports of this machine that nothing listens at."""
    with_each = [socket.socket() for _ in range(number)]
    try:
        for one in with_each:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in with_each]
    finally:
        for one in with_each:
            one.close()


@dataclass
class Node:
    """One site: a node with the plug-ins for management and shovels."""

    name: str
    folder: Path
    epmd: int
    port: int
    api: int
    distribution: int
    process: subprocess.Popen[bytes] | None = None
    password: str = "guest"

    def start(self) -> None:
        """Start it, and return once its API answers."""
        assert SBIN is not None
        self.folder.mkdir(exist_ok=True)
        (self.folder / "enabled").write_text("[rabbitmq_management,rabbitmq_shovel,rabbitmq_shovel_management].\n")
        (self.folder / "rabbitmq.conf").write_text(
            f"management.tcp.ip = 127.0.0.1\nmanagement.tcp.port = {self.api}\n"
        )
        environment = {
            "HOME": str(self.folder.parent),
            "PATH": "/usr/bin:/bin",
            "ERL_EPMD_PORT": str(self.epmd),
            "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": f"{self.name}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self.distribution),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "db"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_PID_FILE": str(self.folder / "pid"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "enabled"),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        }
        with (self.folder / "out").open("ab") as out:
            self.process = subprocess.Popen(
                [SBIN / "rabbitmq-server"],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        wait_for(self.answers)

    def stop(self) -> None:
        """End it at once, with the programs that it started."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    def answers(self) -> bool:
        """Does its API answer?"""
        with suppress(OSError):
            self.call("GET", "/api/overview")
            return True
        return False

    def call(self, method: str, path: str, body: object = None) -> Any:
        """What its API answers. Raises ``OSError``."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.api}{path}", data, method=method)
        login = base64.b64encode(f"guest:{self.password}".encode()).decode()
        request.add_header("Authorization", f"Basic {login}")
        request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=10) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def set_up(self, write: str) -> None:
        """Its users, exchanges and queues. ``write``: what the applications may write to."""
        self.call("PUT", "/api/users/guest", {"password": PASSWORD, "tags": "administrator"})
        self.password = PASSWORD
        self.call("PUT", "/api/vhosts/orders")
        for user in ("app", "shovel"):
            self.call("PUT", f"/api/users/{user}", {"password": PASSWORD, "tags": ""})
        self.permit("guest", ".*")
        self.permit("shovel", ".*")
        self.permit("app", write)
        for exchange in ("orders", "orders.in"):
            self.call("PUT", f"/api/exchanges/orders/{exchange}", {"type": "fanout", "durable": True})
        for queue in ("WORK", "REPL"):
            self.call("PUT", f"/api/queues/orders/{queue}", {"durable": True})
        for exchange, queue in (("orders", "WORK"), ("orders", "REPL"), ("orders.in", "WORK")):
            self.call("POST", f"/api/bindings/orders/e/{exchange}/q/{queue}", {})

    def permit(self, user: str, write: str) -> None:
        """The permissions of a user."""
        self.call("PUT", f"/api/permissions/orders/{user}", {"configure": ".*", "write": write, "read": ".*"})

    def fetch_from(self, mate: Node, way: Relay | None = None) -> None:
        """A shovel that takes what the mate accepted, and confirms it once it is stored here. ``way``: to the mate."""
        login = f"shovel:{PASSWORD}@127.0.0.1"
        value = {
            "src-protocol": "amqp091",
            "src-uri": f"amqp://{login}:{mate.port if way is None else way.port}/orders?heartbeat=2",
            "src-queue": "REPL",
            "dest-protocol": "amqp091",
            "dest-uri": f"amqp://{login}:{self.port}/orders",
            "dest-exchange": "orders.in",
            "ack-mode": "on-confirm",
            "src-prefetch-count": 200,
            "reconnect-delay": 1,
        }
        self.call("PUT", "/api/parameters/shovel/orders/fetch", {"value": value})

    def limit_disk(self, free: str) -> None:
        """How much of the disk has to be free; else an alarm blocks publishers."""
        ctl = [str(self.folder.parent / "programs/rabbitmqctl"), "-q", "-n", f"{self.name}@localhost"]
        environment = {"HOME": str(self.folder.parent), "PATH": "/usr/bin:/bin"}
        subprocess.run([*ctl, "set_disk_free_limit", free], env=environment, check=True)

    @property
    def fetches(self) -> bool:
        """Does its shovel run?"""
        with suppress(OSError):
            return [one["state"] for one in self.call("GET", "/api/shovels/orders")] == ["running"]
        return False

    @property
    def takes_messages(self) -> bool:
        """Has the user of the applications the permission to write?"""
        return bool(self.call("GET", "/api/permissions/orders/app")["write"] == ".*")

    def has(self) -> Counter[int]:
        """The numbers in its queue, and how often each is there. They stay there. Over AMQP: the API needs more than
        10 s for some thousands."""
        login = pika.PlainCredentials("guest", self.password)
        connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", self.port, "orders", login))
        try:
            channel, found = connection.channel(), Counter[int]()
            number = channel.queue_declare("WORK", passive=True).method.message_count
            for method, _, body in channel.consume("WORK", inactivity_timeout=10) if number else ():
                assert method is not None, "the queue ended before its count"
                found[int(body)] += 1
                if found.total() == number:
                    break
            channel.cancel()
            channel.basic_nack(0, multiple=True, requeue=True)
            channel.close()
            return found
        finally:
            connection.close()

    def empty(self) -> None:
        """Drop what its queue has: each test looks at messages of its own."""
        self.call("DELETE", "/api/queues/orders/WORK/contents")


@dataclass
class Pair(Operator):
    """The two sites, an inventory of them, and the network: each site fetches from its mate through the relay that leads
    there. ``ny_api``: the way of the operator to the API of ny."""

    nodes: dict[str, Node] = field(default_factory=dict)
    ways: dict[str, Relay] = field(default_factory=dict)
    ny_api: Relay = field(default_factory=Relay)

    def in_order(self) -> tuple[Node, Node]:
        """The site that takes messages first."""
        first, second = self.nodes.values()
        return (first, second) if first.takes_messages else (second, first)


@contextmanager
def a_pair(folder: Path) -> Iterator[Pair]:
    """ny takes messages, and nj fetches them. Skips the test where there is no RabbitMQ."""
    if SBIN is None or shutil.which("epmd") is None:
        pytest.skip("no RabbitMQ: install rabbitmq-server")
    pair = Pair(folder, variables={"RABBIT_PASSWORD": PASSWORD})
    epmd_port, *ports = free_ports(7)
    (folder / ".erlang.cookie").write_text("x" * 20)
    (folder / ".erlang.cookie").chmod(0o400)
    (folder / "state").mkdir(mode=0o700)
    programs = folder / "programs"
    programs.mkdir()
    (programs / "rabbitmqctl").write_text(f'#!/bin/sh\nERL_EPMD_PORT={epmd_port} exec {SBIN}/rabbitmqctl "$@"\n')
    (programs / "rabbitmqctl").chmod(0o755)
    for number, name in enumerate(("ny", "nj")):
        port, api, distribution = ports[3 * number : 3 * number + 3]
        pair.nodes[name] = Node(name, folder / name, epmd_port, port, api, distribution)
    ny, nj = pair.nodes.values()
    fence = folder / "fence"
    fence.write_text(FENCE.format(programs=programs, python=sys.executable, password=PASSWORD, port=ny.port))
    fence.chmod(0o755)
    names = {"programs": programs, "fence": fence}
    pair.ny_api = Relay(ny.api)
    (folder / "inventory.yaml").write_text(INVENTORY.format(ny=pair.ny_api.port, nj=nj.api, **names))
    epmd = subprocess.Popen(["epmd", "-port", str(epmd_port), "-address", "127.0.0.1"])
    try:
        starting = [threading.Thread(target=node.start) for node in (ny, nj)]
        for thread in starting:
            thread.start()
        for thread in starting:
            thread.join()
        ny.set_up(".*")
        nj.set_up("^$")
        for name, node in pair.nodes.items():
            pair.ways[name] = Relay(node.port)
        ny.fetch_from(nj, pair.ways["nj"])
        nj.fetch_from(ny, pair.ways["ny"])
        wait_for(lambda: ny.fetches and nj.fetches)
        yield pair
    finally:
        ny.stop()
        nj.stop()
        for way in (*pair.ways.values(), pair.ny_api):
            way.close()
        epmd.kill()
        epmd.wait()


class Load:
    """Clients that publish numbers wherever they may, and remember which were confirmed, and where."""

    _first = 0

    def __init__(self, pair: Pair, workers: int = 3) -> None:
        self.accepted: dict[int, tuple[float, str]] = {}
        self._pair = pair
        self._end = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(workers)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(30)

    def _work(self) -> None:
        while not self._end.is_set():
            for node in self._pair.nodes.values():
                with suppress(pika.exceptions.AMQPError, OSError):
                    self._publish_at(node)
            self._end.wait(0.02)

    def _publish_at(self, node: Node) -> None:
        login = pika.PlainCredentials("app", PASSWORD)
        where = pika.ConnectionParameters(
            "127.0.0.1", node.port, "orders", login, heartbeat=2, blocked_connection_timeout=2, socket_timeout=2
        )
        connection = pika.BlockingConnection(where)
        try:
            channel = connection.channel()
            channel.confirm_delivery()
            while not self._end.is_set():
                with self._lock:
                    Load._first += 1
                    number = Load._first
                stored = pika.BasicProperties(delivery_mode=2)
                channel.basic_publish("orders", "", str(number).encode(), stored, mandatory=True)
                self.accepted[number] = (time.monotonic(), node.name)
                self._end.wait(0.005)
        finally:
            with suppress(pika.exceptions.AMQPError, OSError):
                connection.close()

    @property
    def sites_in_order(self) -> list[str]:
        """The sites that accepted something, one after the other: a site that comes twice was active again."""
        found: list[str] = []
        for _, site in sorted(self.accepted.values()):
            if not found or found[-1] != site:
                found.append(site)
        return found

    def arrived_at(self, node: Node, before: Counter[int]) -> int:
        """How many messages a site got since ``before`` that were not accepted there."""
        since = node.has() - before
        return sum(times for number, times in since.items() if self.accepted.get(number, (0, ""))[1] != node.name)

    def lost_at(self, node: Node) -> set[int]:
        """Confirmed numbers that a site does not have."""
        return set(self.accepted) - set(node.has())

    def twice_at(self, node: Node) -> set[int]:
        """Confirmed numbers that a site has more than once."""
        return {number for number, times in node.has().items() if times > 1 and number in self.accepted}
