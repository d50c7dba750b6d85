"""Two Redis servers, the second replicating the first, and a load that counts what was accepted."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.real import load
from tests.real.commands import Operator
from tests.real.places import Place, free_ports, wait_for
from tests.real.relay import Relay

INVENTORY = """\
sites:
  ny:
    adapter: redis
    devices: [{{name: ny, address: 127.0.0.1, port: {ny}}}]
    login: {{username: default, password: {{env: REDIS_PASSWORD}}}}
    options: {{mate_address: 127.0.0.1, mate_port: "{to_nj}"}}
    also:
      - adapter: local
        options:
          commands:
            end-it: {{argv: [{folder}/fence, end], check: [{folder}/fence, is-ended]}}
    fence: [{{command: end-it}}]
  nj:
    adapter: redis
    devices: [{{name: nj, address: 127.0.0.1, port: {nj}}}]
    login: {{username: default, password: {{env: REDIS_PASSWORD}}}}
    options: {{mate_address: 127.0.0.1, mate_port: "{to_ny}"}}
pairs:
  - {{name: cache, sites: [ny, nj], services: [cache]}}
"""
PASSWORD = "correct-horse"
# Its proof is a refused connection: nothing listens there.
FENCE = """\
#!/bin/sh
if [ "$1" = end ]; then kill -9 "$(cat {folder}/ny/pid)" 2>/dev/null; exit 0; fi
said=$(redis-cli -p {ny} PING 2>&1)
case $said in *refused*) exit 0;; *PONG*|*NOAUTH*) exit 1;; *) exit 2;; esac
"""


@dataclass
class Server(Place):
    """One server."""

    port: int
    folder: Path
    process: subprocess.Popen[bytes] | None = None
    keeps: bool = False  # what it has outlives the process

    def start(self, master: int | None = None, at: str = "127.0.0.1") -> None:
        """Start it, as a replica of the server at the port ``master`` if one is named."""
        words = [
            "redis-server",
            "--port",
            str(self.port),
            "--bind",
            self.listens_at,
            "--dir",
            str(self.folder),
            "--save",
            "",
            "--appendonly",
            "yes" if self.keeps else "no",
            "--repl-ping-replica-period",
            "1",
            "--repl-timeout",
            "5",
        ]
        words += ["--requirepass", PASSWORD, "--masterauth", PASSWORD, "--repl-diskless-sync-delay", "0"]
        words += [] if master is None else ["--replicaof", f"{at} {master}"]
        with (self.folder / "log").open("ab") as log, self.inside():
            self.process = subprocess.Popen(words, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        (self.folder / "pid").write_text(str(self.process.pid))
        wait_for(self.answers)

    def stop(self) -> None:
        """End it at once."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def session(self) -> Session:
        """A session with it, of a client at its own site. Raises ``OSError``."""
        with self.inside():
            return Session(self.port)

    def answers(self) -> bool:
        """Does it take commands?"""
        with suppress(OSError), self.session() as session:
            return session.ask("PING") == "PONG"
        return False

    def has(self) -> Counter[int]:
        """The numbers that it has."""
        keys = self.ask("EVAL", "return table.concat(redis.call('KEYS', 'number:*'), ' ')", "0")
        return Counter(int(key.removeprefix("number:")) for key in keys.split())

    @property
    def role(self) -> str:
        """``master`` or ``slave``."""
        return self.told("role")

    def told(self, name: str, section: str = "replication") -> str:
        """One line of its INFO."""
        with self.session() as session:
            lines = session.ask("INFO", section).splitlines()
        return next(line.partition(":")[2] for line in lines if line.startswith(f"{name}:"))

    def ask(self, *words: str) -> str:
        """What it answers. Raises ``OSError``."""
        with self.session() as session:
            return session.ask(*words)


class Session:
    """The little of the protocol that the tests need (RESP2)."""

    def __init__(self, port: int) -> None:
        self._line = socket.create_connection(("127.0.0.1", port), timeout=3)
        self._file = self._line.makefile("rb")
        self.ask("AUTH", PASSWORD)

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()
        self._line.close()

    def ask(self, *words: str) -> str:
        """A text as the answer. Raises ``OSError`` for an error, and where nobody answers any more."""
        parts = [f"${len(word)}\r\n{word}\r\n" for word in words]
        self._line.sendall(f"*{len(words)}\r\n{''.join(parts)}".encode())
        head = self._file.readline().decode().rstrip("\r\n")
        if not head:
            raise ConnectionError("the server is gone")
        if head[0] == "-":
            raise PermissionError(head[1:])
        if head[0] != "$" or head == "$-1":
            return head[1:]
        return self._file.read(int(head[1:]) + 2).decode()[:-2]


@dataclass
class Pair(Operator):
    """The two servers, an inventory of them, and the network between them: each server follows its mate through the
    relay that leads there."""

    servers: dict[str, Server] = field(default_factory=dict)
    ways: dict[str, Relay] = field(default_factory=dict)

    def in_order(self) -> tuple[Server, Server]:
        """The master first."""
        first, second = self.servers.values()
        return (first, second) if first.role == "master" else (second, first)


@contextmanager
def a_pair(folder: Path) -> Iterator[Pair]:
    """ny is the master, and nj replicates it. Skips the test where there is no Redis."""
    if shutil.which("redis-server") is None:
        pytest.skip("no Redis: install redis-server")
    pair = Pair(folder, variables={"REDIS_PASSWORD": PASSWORD})
    ports = dict(zip(("ny", "nj"), free_ports(2), strict=True))
    for name, port in ports.items():
        (folder / name).mkdir()
        pair.servers[name] = Server(name, port, folder / name)
        pair.ways[name] = Relay(port)
    (folder / "state").mkdir(mode=0o700)
    to = {f"to_{name}": way.port for name, way in pair.ways.items()}
    (folder / "inventory.yaml").write_text(INVENTORY.format(**ports, **to, folder=folder))
    (folder / "fence").write_text(FENCE.format(folder=folder, **ports))
    (folder / "fence").chmod(0o755)
    ny, nj = pair.servers.values()
    try:
        ny.start()
        nj.start(master=pair.ways["ny"].port)
        with Session(nj.port) as session:
            wait_for(lambda: "master_link_status:up" in session.ask("INFO", "replication"))
        yield pair
    finally:
        ny.stop()
        nj.stop()
        for way in pair.ways.values():
            way.close()


class Load(load.Load[Server]):
    """Writes a key for each number."""

    def __init__(self, pair: Pair, workers: int = 3) -> None:
        super().__init__(pair.servers.values(), workers)

    def _write_at(self, place: Server, worker: int) -> None:
        with place.session() as session:
            while not self._end.is_set():
                number = next(self.numbers)
                session.ask("SET", f"number:{number}", "1")
                self.accepted[number] = (time.monotonic(), place.name)
                self._end.wait(0.003)
