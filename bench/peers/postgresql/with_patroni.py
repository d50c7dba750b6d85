"""A pair that Patroni manages: one etcd, and Patroni as the parent process of each server."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

from bench.peers.account import answers, folder_on_disk, free_port, server, wait_for
from bench.peers.contest import Round
from bench.peers.environments import CLEAN, debian, environment
from bench.peers.postgresql.servers import Server, Servers, hand_over, installed_programs, prepare

Played = Callable[[Servers, Callable[[Server, Server], None]], Mapping[str, float]]


def patroni_pair(played: Played) -> Callable[[], AbstractContextManager[Round]]:
    """Opens the pair. A round is one request for a switchover, until Patroni answers."""

    @contextmanager
    def opened() -> Iterator[Round]:
        patroni, etcd = environment("patroni") / "patroni", debian() / "usr/bin/etcd"
        with folder_on_disk("patroni", of_account=True) as folder, ExitStack() as stack:
            port = stack.enter_context(_etcd(etcd, folder))
            made = [Server(name, free_port(), folder, installed_programs()) for name in ("ny", "nj")]
            rest = {one.name: free_port() for one in made}
            for one in made:
                config = folder / f"{one.name}.json"
                hand_over(config, json.dumps(_settings(one, rest[one.name], port)))
                stack.enter_context(server([str(patroni), str(config)], folder, one.env, f"{one.name}.patroni.log"))
                wait_for(lambda one=one: one.follows is not None, f"{one.name} answers")  # type: ignore[misc]
            servers = Servers((made[0], made[1]))
            primary, _ = servers.in_order()
            prepare(primary)

            def move(source: Server, target: Server) -> None:
                _switch(rest[source.name], source.name, target.name)

            yield lambda: played(servers, move)

    return opened


def _switch(port: int, leader: str, candidate: str) -> None:
    # A new standby is not a candidate until Patroni's next loop. Repeat the request until it is.
    end = time.monotonic() + 60
    while True:
        asked = {"leader": leader, "candidate": candidate}
        answer = httpx.post(f"http://127.0.0.1:{port}/switchover", json=asked, timeout=60, trust_env=False)
        if answer.status_code == 200:
            return
        assert time.monotonic() < end, f"{answer.status_code}: {answer.text}"
        time.sleep(0.5)


@contextmanager
def _etcd(program: Path, folder: Path) -> Iterator[int]:
    port, peer = free_port(), free_port()
    client, mate = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
    words = [str(program), "--name", "one", "--data-dir", str(folder / "etcd")]
    words += ["--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", mate]
    words += ["--initial-advertise-peer-urls", mate, "--initial-cluster", f"one={mate}"]
    with server(words, folder, CLEAN, "etcd.log"):
        wait_for(lambda: answers(port), "etcd answers")
        yield port


def _settings(one: Server, rest: int, etcd: int) -> dict[str, Any]:
    """Patroni's settings (JSON is valid YAML). PostgreSQL has the settings of the other pairs, if Patroni allows them."""
    parameters = {
        "wal_log_hints": "on",
        "max_prepared_transactions": 20,
        "wal_keep_size": "256MB",
        "wal_receiver_status_interval": "1s",
        "wal_sender_timeout": "5s",
        "wal_receiver_timeout": "5s",
        "wal_retrieve_retry_interval": "200ms",
        "hot_standby_feedback": "on",
    }
    user = {"username": "admin", "password": "any"}
    return {
        "scope": "shop",
        "name": one.name,
        "restapi": {"listen": f"127.0.0.1:{rest}", "connect_address": f"127.0.0.1:{rest}"},
        "etcd3": {"hosts": f"127.0.0.1:{etcd}"},
        "bootstrap": {
            "dcs": {"loop_wait": 10, "ttl": 30, "postgresql": {"use_pg_rewind": True, "parameters": parameters}},
            "initdb": [{"encoding": "UTF8"}, {"auth": "trust"}],
        },
        "postgresql": {
            "listen": f"127.0.0.1:{one.port}",
            "connect_address": f"127.0.0.1:{one.port}",
            "data_dir": str(one.data),
            "bin_dir": str(one.programs),
            "authentication": {"superuser": user, "replication": user, "rewind": user},
            "parameters": {"unix_socket_directories": str(one.folder)},
            "pg_hba": [
                "host all all 127.0.0.1/32 trust",
                "host replication all 127.0.0.1/32 trust",
                "local all all trust",
            ],
        },
    }
