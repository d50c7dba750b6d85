"""Commands of a family file at the site: over one session with a real OpenSSH server, each word a word."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import paramiko
import pytest

from adapters.declared.family import family_of
from orchestrator.clock import SystemClock
from orchestrator.family.contract import Adapter, AdapterContext, Call
from orchestrator.family.secrets import SecretStore
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.inventory import Site
from orchestrator.model.outcome import Effect, Failure

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
pytestmark = [
    pytest.mark.realtime,
    pytest.mark.skipif(
        SSHD is None or os.geteuid() != 0, reason="sshd is not installed, or we are not root, as it wants to be"
    ),
]
GATE: dict[str, Any] = {
    "family": "gate",
    "summary": "A gate that is a file at the site.",
    "options": {"file": {"says": "the file"}},
    "connect": {"ssh": {}},
    "readings": {
        "gate": {
            "summary": "is it open",
            "ssh": ["cat", "{file}"],
            "fields": {"open": {"regex": "^(open|shut)$", "type": "bool", "true_when": "open", "facet": "serves"}},
        }
    },
    "actions": {
        "copy": {
            "summary": "write its name into it",
            "ssh": ["cp", "{service}", "{file}"],
            "idempotent": True,
            "refused": [1],
        },
        "hang": {"summary": "never end", "ssh": ["sleep", "60"], "idempotent": True, "timeout": "500ms"},
    },
}


class _Always:
    def check(self) -> None:
        """It may always."""


class Server:
    """An sshd on a free port, with one client's key. ``sessions``: how many log-ins it had."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.client = paramiko.ECDSAKey.generate()
        self.client.write_private_key_file(str(folder / "identity"))
        self.host = paramiko.ECDSAKey.generate()
        self.host.write_private_key_file(str(folder / "host"))
        (folder / "authorized").write_text(f"{self.client.get_name()} {self.client.get_base64()}\n")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.log = folder / "log"

    @contextlib.contextmanager
    def running(self) -> Iterator[Server]:
        """Serve until the block ends."""
        config = self.folder / "config"
        config.write_text(
            f"ListenAddress 127.0.0.1\nPort {self.port}\nHostKey {self.folder / 'host'}\nPidFile none\nUsePAM no\n"
            "StrictModes no\nPermitRootLogin yes\nPasswordAuthentication no\nKbdInteractiveAuthentication no\n"
            f"AuthorizedKeysFile {self.folder / 'authorized'}\n"
        )
        Path("/run/sshd").mkdir(parents=True, exist_ok=True)
        assert SSHD is not None
        with self.log.open("wb") as log:
            process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stderr=log)
        try:
            deadline = time.monotonic() + 20
            while time.monotonic() < deadline:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1):
                    break
            yield self
        finally:
            process.terminate()
            process.wait(20)

    @property
    def sessions(self) -> int:
        """Log-ins until now."""
        return self.log.read_text(errors="replace").count("Accepted publickey")

    def adapter(
        self, file: str, *, key: paramiko.PKey | None = None, read_only: bool = False, port: int | None = None
    ) -> Adapter:
        """That of a site whose device is this server; ``key``: the host key that the inventory has. ``port``: one that
        leads to it."""
        expected = key or self.host
        site = Site.model_validate(
            {
                "name": "ny",
                "adapter": "gate",
                "devices": [
                    {
                        "name": "ny1",
                        "address": "127.0.0.1",
                        "port": port or self.port,
                        "host_key": f"{expected.get_name()} {expected.get_base64()}",
                    }
                ],
                "login": {"username": pwd.getpwuid(os.geteuid()).pw_name, "key_file": str(self.folder / "identity")},
                "connect_timeout": 5,
                "options": {"file": file},
            }
        )
        family = family_of(FamilyFile.model_validate(GATE), None)
        made: Any = family.adapters["gate"]
        context = AdapterContext(SystemClock(), SecretStore(), read_only=read_only)
        adapter: Adapter = made.fitted(site)(site, context)
        return adapter


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A running server."""
    with Server(tmp_path).running() as running:
        yield running


def acted(adapter: Adapter, action: str, service: str = "a") -> Effect:
    [result] = adapter.apply(action, [Call(service)], _Always())
    return result.effect


def test_readings_share_one_session(server: Server, tmp_path: Path) -> None:
    """Law: a command at the site is a channel of one session, and its answer is read as that of a command here."""
    (tmp_path / "a gate; rm -rf x").write_text("open\n")
    adapter = server.adapter(str(tmp_path / "a gate; rm -rf x"))
    for _ in range(5):
        found = adapter.probe("gate", ["a"])["a"]
        assert getattr(found, "open", None) is True
    adapter.close()
    assert server.sessions == 1


def test_what_a_command_answers(server: Server, tmp_path: Path) -> None:
    """Law: a listed exit code is refused, silence is doubt, and a reading that fails is a failure; a session that was
    silent is not used again."""
    gate = tmp_path / "gate"
    gate.write_text("open\n")
    adapter = server.adapter(str(gate))
    assert acted(adapter, "hang") is Effect.DOUBTFUL
    assert acted(adapter, "copy", "no-such-file") is Effect.REJECTED
    assert getattr(adapter.probe("gate", ["a"])["a"], "open", None) is True
    missing = server.adapter(str(tmp_path / "missing")).probe("gate", ["a"])["a"]
    assert isinstance(missing, Failure) and missing.kind == "UnreadableReply"
    assert server.sessions == 3


def test_another_host_key_is_refused(server: Server, tmp_path: Path) -> None:
    """Promise 10: a server that shows another key is told nothing, and no command leaves."""
    (tmp_path / "gate").write_text("open\n")
    found = server.adapter(str(tmp_path / "gate"), key=paramiko.ECDSAKey.generate()).probe("gate", ["a"])["a"]
    assert isinstance(found, Failure) and found.kind == "HostKeyRejected"
    assert server.sessions == 0


def test_a_server_that_is_away(server: Server, tmp_path: Path) -> None:
    """Law: where nothing listens, an action was not sent, and a reading is unreachable."""
    adapter = server.adapter(str(tmp_path / "gate"))
    server.port = 1
    away = server.adapter(str(tmp_path / "gate"))
    found = away.probe("gate", ["a"])["a"]
    assert isinstance(found, Failure) and found.kind == "Unreachable"
    assert acted(away, "hang") is Effect.NOT_SENT
    adapter.close()
