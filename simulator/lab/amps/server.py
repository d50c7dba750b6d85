"""The lab of an AMPS world: each instance's administration interface on a loopback port, and an inventory.

An instance whose process is gone closes its connections silently. A silent instance never answers. The lab must not
depend on the source of the world's events, and never checks the world's account.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType

from orchestrator.errors import AdapterError, DefinitionError
from simulator.amps.world import AmpsWorld
from simulator.http.server import Handler, HttpServer
from simulator.lab.amps.admin import AmpsAdmin, Gate
from simulator.lab.amps.editions import with_editions
from simulator.lab.command_log import CommandLog
from simulator.lab.inventory import editions_line, write_private

ADAPTER = "amps-admin"
INVENTORY = "lab-amps.yaml"
_CAPACITY = "100TB"  # there is no real disk
_HEAD = """\
# SIMULATED instances of AMPS. A lab wrote this file when it started; the ports answer while it runs.
"""


@dataclass(frozen=True, slots=True)
class AmpsLogin:
    """The account of the administration, for basic authentication. Without a given password, each start generates one,
    because every account of this machine can reach the port."""

    username: str = "admin"
    password: str = field(default_factory=lambda: secrets.token_urlsafe(18), repr=False)

    @property
    def pair(self) -> str:
        """``username:password``."""
        return f"{self.username}:{self.password}"


class AmpsLab:
    """Simulated instances on real ports. Use as a context manager, or call ``stop``. ``tickets``:
    admits clients with a Kerberos ticket, instead of ``login``."""

    def __init__(
        self,
        world: AmpsWorld,
        *,
        directory: Path,
        service: str,
        ports: Mapping[str, int] | None = None,
        login: AmpsLogin | None = None,
        tickets: Callable[[Handler], Handler] | None = None,
        denied: str | None = None,
        editions: Sequence[str] = (),
    ) -> None:
        self.world = world
        self._editions = tuple(editions)
        self._is_over = threading.Event()
        self._login = login
        self._tickets = tickets
        self._directory = directory
        self.inventory_path = directory / INVENTORY
        self._logs = {name: CommandLog(world.clock) for name in world.layout.names}
        self._servers = {name: self._server(name, (ports or {}).get(name, 0), denied) for name in world.layout.names}
        self._service = service

    def _server(self, name: str, port: int, denied: str | None) -> HttpServer:
        gate = Gate(login=self._login.pair if self._login else None, denied=denied)
        admin = AmpsAdmin(self.world, name, self._logs[name], gate=gate, address=lambda: self.origin(name))
        handler = with_editions(admin, self._editions, lambda seconds: self._is_over.wait(seconds))
        return HttpServer(
            handler if self._tickets is None else self._tickets(handler),
            port=port,
            latency_s=self.world.layout.admin_latency,
            admits=lambda: self._is_up(name),
        )

    def _is_up(self, name: str) -> bool:
        try:
            with self.world.request():
                return self.world.fabric.instances[name].phase != "down"
        except AdapterError:  # the world's file cannot be used
            return False

    def start(self) -> AmpsLab:
        """Listen, and write the inventory. Raises ``DefinitionError``."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._is_over.clear()
        for name, server in self._servers.items():
            try:
                server.start()
            except OSError as error:
                self.stop()
                raise DefinitionError(
                    f"{name} cannot listen on port {server.address[1]}: {error.strerror}", hint="choose another port"
                ) from error
        if self._login is not None:
            write_private(self.password_file, self._login.password)
        write_private(self.inventory_path, self._inventory())
        return self

    def stop(self) -> None:
        """Close every port. Files stay. A second call does nothing."""
        self._is_over.set()
        for server in self._servers.values():
            server.stop()

    def wait(self) -> None:
        """Serve until another thread calls ``stop`` or a signal handler raises in this thread."""
        self._is_over.wait()

    def __enter__(self) -> AmpsLab:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def address(self, instance: str) -> tuple[str, int]:
        """Host and port of an instance's administration."""
        return self._servers[instance].address

    def origin(self, instance: str) -> str:
        """Host and port as text: ``127.0.0.1:40123``."""
        host, port = self.address(instance)
        return f"{host}:{port}"

    def log(self, instance: str) -> CommandLog:
        """The log of the requests to the instance."""
        return self._logs[instance]

    @property
    def password_file(self) -> Path:
        """The file with the password of the account. It exists only with a login."""
        return self._directory.resolve() / "amps-password"

    def _link_of(self, name: str) -> str:
        """The configured mode of the instance's links: async if any link is async."""
        return "sync" if all(one.sync for one in self.world.layout.instance(name).destinations) else "async"

    def _inventory(self) -> str:
        """The inventory as YAML, with every value in double quotes: JSON strings are YAML, and this package imports
        no YAML library."""
        sites: dict[str, list[str]] = {}
        for one in self.world.layout.instances:
            sites.setdefault(one.site_name, []).append(one.name)
        lines = [_HEAD + editions_line(self._editions) + "sites:"]
        for site, names in sites.items():
            lines += [
                f"  {_quoted(site)}:",
                f"    adapter: {_quoted(ADAPTER)}",
                "    simulated: true",
                "    devices:",
            ]
            for name in names:
                host, port = self.address(name)
                lines += [
                    f"      - name: {_quoted(name)}",
                    f"        address: {_quoted(host)}",
                    f"        port: {port}",
                ]
            if self._login is not None:
                lines += [
                    "    login:",
                    f"      username: {_quoted(self._login.username)}",
                    "      password:",
                    f"        file: {_quoted(str(self.password_file))}",
                ]
            lines += ["    options:", '      scheme: "http"', f"      link: {_quoted(self._link_of(names[0]))}"]
            lines.append(f"      journal_capacity: {_quoted(_CAPACITY)}")
            if self._tickets is not None:
                lines.append('      auth: "negotiate"')
        first_two = list(sites)[:2]
        lines += [
            "pairs:",
            f"  - name: {_quoted(self._service)}",
            f"    sites: [{', '.join(_quoted(site) for site in first_two)}]",
            "    services:",
            f"      - {_quoted(self._service)}",
        ]
        return "\n".join(lines) + "\n"


def _quoted(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)
