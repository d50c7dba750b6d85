"""Two RabbitMQ sites with a shovel each way, and a load that counts what was accepted."""

from __future__ import annotations

import base64
import json
import os
import shutil
import signal
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

from tests.real import load
from tests.real.commands import Operator
from tests.real.places import Place, free_ports, wait_for
from tests.real.relay import Relay

PASSWORD = "correct-horse"
SBIN = next(iter(sorted(Path("/usr/lib/rabbitmq/lib").glob("rabbitmq_server-*/sbin"))), None)
INVENTORY = """\
sites:
{sites}pairs:
  - {{name: trade, sites: [ny, nj], services: [orders]}}
"""
SITE = """\
  {name}:
    adapter: rabbitmq
    devices: [{{name: {name}, address: {address}, port: {port}}}]
    login: {{username: guest, password: {{env: RABBIT_PASSWORD}}}}
    options: {{writers: app, queue: REPL, shovel: fetch, node: {node}, programs: {programs}, scheme: http}}
"""
PLAN = """\
    also:
      - adapter: local
        options:
          commands:
            limit: {{argv: [{fence}, close], check: [{fence}, is-closed], undo: unlimit}}
            unlimit: {{argv: [{fence}, open]}}
    fence: [{{command: limit}}]
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


@dataclass
class Node(Place):
    """One site: a node with the plug-ins for management and shovels."""

    folder: Path
    epmd: int
    port: int
    api: int
    distribution: int
    process: subprocess.Popen[bytes] | None = None
    password: str = "guest"

    @property
    def node(self) -> str:
        """Its Erlang name. In a namespace it has a host of its own."""
        return f"{self.name}@{self.name}1" if self.spaces else f"{self.name}@localhost"

    def start(self) -> None:
        """Start it, and return once its API answers."""
        assert SBIN is not None
        self.folder.mkdir(exist_ok=True)
        (self.folder / "enabled").write_text("[rabbitmq_management,rabbitmq_shovel,rabbitmq_shovel_management].\n")
        (self.folder / "rabbitmq.conf").write_text(
            f"management.tcp.ip = {self.listens_at}\nmanagement.tcp.port = {self.api}\nloopback_users = none\n"
        )
        interface = self.listens_at.replace(".", ",")
        environment = {
            "HOME": str(self.folder.parent),
            "PATH": "/usr/bin:/bin",
            "ERL_EPMD_PORT": str(self.epmd),
            "ERL_INETRC": str(self.folder.parent / "inetrc"),
            "RABBITMQ_NODENAME": self.node,
            "RABBITMQ_NODE_IP_ADDRESS": self.listens_at,
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self.distribution),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "db"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_PID_FILE": str(self.folder / "pid"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "enabled"),
            "RABBITMQ_CONFIG_FILE": str(self.folder / "rabbitmq"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": f"-kernel inet_dist_use_interface {{{interface}}}",
        }
        with (self.folder / "out").open("ab") as out, self.inside():
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
        """What its API answers, at the site. Raises ``OSError``."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"http://127.0.0.1:{self.api}{path}", data, method=method)
        login = base64.b64encode(f"guest:{self.password}".encode()).decode()
        request.add_header("Authorization", f"Basic {login}")
        request.add_header("Content-Type", "application/json")
        with self.inside(), urllib.request.urlopen(request, timeout=10) as answer:
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

    def fetch_from(self, port: int, at: str = "127.0.0.1") -> None:
        """A shovel that takes what the mate accepted, and confirms it once it is stored here. ``port``: of the mate."""
        value = {
            "src-protocol": "amqp091",
            "src-uri": f"amqp://shovel:{PASSWORD}@{at}:{port}/orders?heartbeat=2&connection_timeout=2000",
            "src-queue": "REPL",
            "dest-protocol": "amqp091",
            "dest-uri": f"amqp://shovel:{PASSWORD}@127.0.0.1:{self.port}/orders",
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
        with self.inside():
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
            # The node needs seconds to put some thousands back. Until then, the next reader would find a part of them.
            wait_for(lambda: channel.queue_declare("WORK", passive=True).method.message_count >= number)
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
    pair = Pair(folder, variables={"RABBIT_PASSWORD": PASSWORD})
    epmd, *ports = free_ports(7)
    for number, name in enumerate(("ny", "nj")):
        port, api, distribution = ports[3 * number : 3 * number + 3]
        pair.nodes[name] = Node(name, folder / name, epmd, port, api, distribution)
        pair.ways[name] = Relay(pair.nodes[name].port)
    ny, nj = pair.nodes.values()
    programs = make_programs(folder, epmd)
    fence = folder / "fence"
    fence.write_text(FENCE.format(programs=programs, python=sys.executable, password=PASSWORD, port=ny.port))
    fence.chmod(0o755)
    pair.ny_api = Relay(ny.api)
    seen_at = {"address": "127.0.0.1", "programs": programs}
    sites = (
        SITE.format(name="ny", port=pair.ny_api.port, node=ny.node, **seen_at) + PLAN.format(fence=fence),
        SITE.format(name="nj", port=nj.api, node=nj.node, **seen_at),
    )
    (folder / "inventory.yaml").write_text(INVENTORY.format(sites="".join(sites)))
    process = subprocess.Popen(["epmd", "-port", str(epmd), "-address", "127.0.0.1"])
    try:
        start(pair)
        ny.fetch_from(pair.ways["nj"].port)
        nj.fetch_from(pair.ways["ny"].port)
        wait_for(lambda: ny.fetches and nj.fetches)
        yield pair
    finally:
        ny.stop()
        nj.stop()
        for way in (*pair.ways.values(), pair.ny_api):
            way.close()
        process.kill()
        process.wait()


def make_programs(folder: Path, epmd: int, hosts: str = "") -> Path:
    """What both nodes and the operator's program share: the cookie, and the addresses of ``hosts`` in Erlang's words. The
    folder of the program. Skips the test where there is no RabbitMQ."""
    if SBIN is None or shutil.which("epmd") is None:
        pytest.skip("no RabbitMQ: install rabbitmq-server")
    (folder / ".erlang.cookie").write_text("x" * 20)
    (folder / ".erlang.cookie").chmod(0o400)
    (folder / "inetrc").write_text(f"{hosts}{{lookup, [file, native]}}.\n")
    (folder / "state").mkdir(mode=0o700)
    program = folder / "programs/rabbitmqctl"
    program.parent.mkdir()
    settings = f"ERL_EPMD_PORT={epmd} ERL_INETRC={folder}/inetrc"
    program.write_text(f'#!/bin/sh\n{settings} exec {SBIN}/rabbitmqctl "$@"\n')
    program.chmod(0o755)
    return program.parent


def start(pair: Pair) -> None:
    """Both nodes at once, of which ny takes messages."""
    starting = [threading.Thread(target=node.start) for node in pair.nodes.values()]
    for thread in starting:
        thread.start()
    for thread in starting:
        thread.join()
    for name, node in pair.nodes.items():
        node.set_up(".*" if name == "ny" else "^$")


class Load(load.Load[Node]):
    """Publishes a message for each number, and waits until it is confirmed."""

    ends = (pika.exceptions.AMQPError, OSError)

    def __init__(self, pair: Pair, workers: int = 3) -> None:
        super().__init__(pair.nodes.values(), workers)

    def _write_at(self, place: Node, worker: int) -> None:
        login = pika.PlainCredentials("app", PASSWORD)
        where = pika.ConnectionParameters(
            "127.0.0.1", place.port, "orders", login, heartbeat=2, blocked_connection_timeout=2, socket_timeout=2
        )
        connection = pika.BlockingConnection(where)
        try:
            channel = connection.channel()
            channel.confirm_delivery()
            while not self._end.is_set():
                number = next(self.numbers)
                stored = pika.BasicProperties(delivery_mode=2)
                channel.basic_publish("orders", "", str(number).encode(), stored, mandatory=True)
                self.accepted[number] = (time.monotonic(), place.name)
                self._end.wait(0.005)
        finally:
            with suppress(*self.ends):
                connection.close()

    def arrived_at(self, node: Node, before: Counter[int]) -> int:
        """How many messages a site got since ``before`` that were not accepted there."""
        since = node.has() - before
        return sum(times for number, times in since.items() if self.accepted.get(number, (0, ""))[1] != node.name)
