"""The lab: an SSH server, and optionally SEMP, for each simulated node, only on this machine's loopback address.

It writes an inventory that pins every host key and refers to the password by file. So the real adapters can use the
lab like any site. The lab must not depend on the implementation of the appliances. It never listens on another address.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType

from orchestrator.clock import Clock, SystemClock
from orchestrator.errors import AdapterError, DefinitionError, Unreachable
from simulator.http.certificates import Authority
from simulator.lab.cli.cli import CliSession
from simulator.lab.cli.plans import Level
from simulator.lab.command_log import CommandLog
from simulator.lab.edition import SEED, Edition
from simulator.lab.inventory import ADAPTER, SEMP_ADAPTER, Node, Way, inventory_text, write_private
from simulator.lab.pace import NodePace
from simulator.lab.relay.sockets import SocketServer
from simulator.lab.semp.server import Scheme, SempAccount, SempServer, Surroundings
from simulator.solace.appliance import Appliance
from simulator.ssh.host_key import server_key
from simulator.ssh.server import AUTH_METHODS, Account, AuthMethod, Login, SshServer
from simulator.ssh.shell import Chaos, Shell

NodeKey = tuple[str, str]  # site, node
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")


@dataclass(frozen=True, slots=True)
class Credentials:
    """The only account of a lab. Without a given password, each start generates one.

    ``public_keys`` are ``<type> <base64>``. ``token`` is a bearer token for SEMP. With ``level`` ``read-only`` the
    account cannot enter configure or admin mode, and cannot change anything over SEMP.
    """

    username: str = "operator"
    password: str = field(default_factory=lambda: secrets.token_urlsafe(18), repr=False)
    public_keys: tuple[str, ...] = ()
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)
    level: Level = "admin"


@dataclass(frozen=True, slots=True)
class LabSettings:
    """Settings that few callers need.

    ``editions``: the names of the parts of ``edition``, for the reader of the inventory. ``services``: listed in the
    inventory's pair; None means every message VPN that all nodes know. ``latency_s``: the delay before each answer.
    ``with_sockets``: serve each node on a unix-domain socket too. ``with_log_files``: write the command logs to the
    directory, as JSON Lines. ``semp``: serve SEMP too, with TLS or without, on ``semp_ports`` or free ports. The lab
    then also writes inventories for SEMP (``lab-semp.yaml``) and for both (``lab-both.yaml``).

    ``hold``: a context manager that is entered around every access to an appliance. Without it, a lock of the lab
    serializes the sessions. ``reachable``: if it returns False, the node refuses clients and breaks their sessions.
    ``approve``: if it returns False, the site refuses a login even with valid credentials. ``of_world`` connects these
    three to a world.
    """

    edition: Edition = SEED
    editions: Sequence[str] = ()
    methods: Sequence[AuthMethod] = AUTH_METHODS
    latency_s: float = 0.0
    services: Sequence[str] | None = None
    clock: Clock = field(default_factory=SystemClock)
    hold: Callable[[], AbstractContextManager[object]] | None = None
    reachable: Callable[[str, str], bool] = lambda site, node: True
    approve: Callable[[str], bool] = lambda site: True
    with_sockets: bool = False
    with_log_files: bool = False
    semp: Scheme | None = None
    semp_ports: Mapping[NodeKey, int] = field(default_factory=dict)


class Lab:
    """Simulated nodes on real ports. Use as a context manager, or call ``stop``."""

    def __init__(
        self,
        nodes: Mapping[NodeKey, _NodeServer],
        inventory_path: Path,
        credentials: Credentials,
        editions: Sequence[str] = (),
    ) -> None:
        self._nodes = dict(nodes)
        self._editions = tuple(editions)
        self.inventory_path = inventory_path
        self.credentials = credentials
        self._is_over = threading.Event()

    @classmethod
    def start(
        cls,
        appliances: Mapping[NodeKey, Appliance],
        *,
        directory: Path,
        host: str = "127.0.0.1",
        ports: Mapping[NodeKey, int] | None = None,
        credentials: Credentials | None = None,
        settings: LabSettings | None = None,
    ) -> Lab:
        """Serve every appliance. The first site is the home site. The lab is ready when this returns.

        ``directory`` gets the inventory (``lab.yaml``), the password and the host keys. The host keys are kept for
        the next start. A node without an entry in ``ports`` takes a free port. Raises ``DefinitionError``.
        """
        who = credentials if credentials is not None else Credentials()
        how = settings if settings is not None else LabSettings()
        _check(appliances, host)
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        home = directory.resolve()
        lock = threading.RLock()
        hold = how.hold if how.hold is not None else lambda: lock
        servers: dict[NodeKey, _NodeServer] = {}
        try:
            for key, appliance in appliances.items():
                address = (host, (ports or {}).get(key, 0))
                servers[key] = _NodeServer(key, appliance, home, address, who, replace(how, hold=hold))
                servers[key].start()
            lab = cls(servers, home / "lab.yaml", who, how.editions)
            lab._write_files(appliances, how.services)
        except BaseException:
            for server in servers.values():
                server.stop()
            raise
        return lab

    def wait(self) -> None:
        """Serve until another thread calls ``stop`` or a signal handler raises in this thread."""
        self._is_over.wait()

    def serve_until(self, stop: threading.Event) -> None:
        """Serve until ``stop`` is set, then end."""
        stop.wait()
        self.stop()

    def stop(self) -> None:
        """End every session and close every port. Files stay. A second call does nothing."""
        for node in self._nodes.values():
            node.stop()
        self._is_over.set()

    def __enter__(self) -> Lab:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def semp_inventory_path(self) -> Path:
        """The inventory for SEMP. It exists only if the lab serves SEMP."""
        return self.inventory_path.with_name("lab-semp.yaml")

    @property
    def joint_inventory_path(self) -> Path:
        """The inventory that uses SEMP, and SSH for operations that SEMP lacks. It exists only if the lab serves SEMP."""
        return self.inventory_path.with_name("lab-both.yaml")

    @property
    def nodes(self) -> tuple[NodeKey, ...]:
        """Site and name of every node, the home site first."""
        return tuple(self._nodes)

    def address(self, site: str, node: str) -> tuple[str, int]:
        """Host and port of a node."""
        return self._nodes[site, node].ssh.address

    def semp_address(self, site: str, node: str) -> tuple[str, int]:
        """Host and port of a node's SEMP. Raises ``DefinitionError`` if the lab serves no SEMP."""
        return self._nodes[site, node].served_semp.address

    def semp_sessions(self, site: str, node: str) -> int:
        """The number of open SEMP sessions of a node. Raises ``DefinitionError`` if the lab serves no SEMP."""
        return self._nodes[site, node].served_semp.sessions.open

    def host_key(self, site: str, node: str) -> str:
        """The node's public host key, ``<type> <base64>``."""
        return self._nodes[site, node].ssh.host_key_line

    def log(self, site: str, node: str) -> CommandLog:
        """The log of the lines that the node received."""
        return self._nodes[site, node].log

    def chaos(self, site: str, node: str) -> Chaos:
        """The object to plan faults of the node's answers."""
        return self._nodes[site, node].ssh.chaos

    def socket_path(self, site: str, node: str) -> Path:
        """The node's socket, for ``python -m simulator.lab.relay.shell --socket``. It exists only ``with_sockets``."""
        return self._nodes[site, node].socket_path

    def take_down(self, site: str, node: str) -> None:
        """Stop the node: its sessions break, and its port refuses connections."""
        self._nodes[site, node].stop()

    def bring_up(self, site: str, node: str) -> None:
        """Start the node again, on the same port and with the same key."""
        self._nodes[site, node].start()

    def _write_files(self, appliances: Mapping[NodeKey, Appliance], services: Sequence[str] | None) -> None:
        home = self.inventory_path.parent
        listed = services if services is not None else _common_vpns(appliances)
        write_private(home / "password", self.credentials.password)

        def write(path: Path, *ways: Way) -> None:
            who = self.credentials.username
            text = inventory_text(
                ways, listed, username=who, password_file=home / "password", editions=self._editions
            )
            write_private(path, text)

        ssh = Way(ADAPTER, self._listed(appliances, lambda node: (*node.ssh.address, node.ssh.host_key_line)))
        write(self.inventory_path, ssh)
        if any(node.semp is None for node in self._nodes.values()):
            return
        is_plain = any(node.semp_scheme == "http" for node in self._nodes.values())
        semp = Way(
            SEMP_ADAPTER,
            self._listed(appliances, lambda node: (*node.served_semp.address, "")),
            {"scheme": "http"} if is_plain else {"ca_file": str(home / "lab-ca.pem")},
        )
        write_private(home / "token", self.credentials.token)
        write(self.semp_inventory_path, semp)
        write(self.joint_inventory_path, semp, ssh)

    def _listed(
        self, appliances: Mapping[NodeKey, Appliance], where: Callable[[_NodeServer], tuple[str, int, str]]
    ) -> Mapping[str, Sequence[Node]]:
        sites: dict[str, list[Node]] = {}
        for (site, name), server in self._nodes.items():
            sites.setdefault(site, []).append(Node(name, *where(server), appliances[site, name].router_name))
        return sites


class _NodeServer:
    """One node: its SSH server, its optional SEMP and socket, and its command log."""

    def __init__(
        self,
        key: NodeKey,
        appliance: Appliance,
        directory: Path,
        address: tuple[str, int],
        credentials: Credentials,
        settings: LabSettings,
    ) -> None:
        name = "-".join(key)
        self._key = key
        self._appliance = appliance
        self._credentials = credentials
        self._settings = settings
        self._socket: SocketServer | None = None
        self._is_over = threading.Event()
        self._pace = NodePace(settings.edition.pace, lambda seconds: self._is_over.wait(seconds))
        self.socket_path = directory / f"{name}.sock"
        self.log = CommandLog(
            settings.clock, file=directory / f"{name}.commands.jsonl" if settings.with_log_files else None
        )
        self.ssh = SshServer(
            self._shell_of_login,
            [Account(credentials.username, credentials.password, credentials.public_keys)],
            server_key(directory / f"{name}.hostkey"),
            host=address[0],
            port=address[1],
            methods=settings.methods,
            latency_s=settings.latency_s,
            admits=self._is_reachable,
            approves=lambda username: self._approves(),
        )
        self.semp_scheme = settings.semp
        self.semp = None if settings.semp is None else self._semp_of(appliance, directory, address[0], settings.semp)

    def _semp_of(self, appliance: Appliance, directory: Path, host: str, scheme: Scheme) -> SempServer:
        settings, who = self._settings, self._credentials
        tls = None
        if scheme == "https":
            tls = Authority.at(directory, name="lab-ca").server_context(host)
        return SempServer(
            appliance,
            self.log,
            SempAccount(who.username, who.password, who.token, who.level),
            Surroundings(
                clock=settings.clock,
                edition=settings.edition,
                hold=self._hold,
                admits=self._is_reachable,
                approves=self._approves,
                pace=self._pace,
                latency_s=settings.latency_s,
            ),
            address=(host, settings.semp_ports.get(self._key, 0)),
            tls=tls,
        )

    @property
    def served_semp(self) -> SempServer:
        """The node's SEMP server. Raises ``DefinitionError`` if the lab serves no SEMP."""
        if self.semp is None:
            raise DefinitionError("this lab does not serve SEMP", hint="start it with semp: https")
        return self.semp

    def start(self) -> None:
        self._is_over.clear()
        for server in (self.ssh, self.semp):
            try:
                if server is not None:
                    server.start()
            except OSError as error:
                host, port = self.ssh.address if server is self.ssh else self.served_semp.address
                raise DefinitionError(
                    f"{'-'.join(self._key)} cannot listen on {host} port {port}: {error.strerror}",
                    hint="choose another port",
                ) from error
        if self._settings.with_sockets and self._socket is None:
            self._socket = SocketServer(
                self.socket_path, self._shell_of_user, chaos=self.ssh.chaos, latency_s=self._settings.latency_s
            )

    def stop(self) -> None:
        self._is_over.set()
        socket, self._socket = self._socket, None
        if socket is not None:
            socket.stop()
        if self.semp is not None:
            self.semp.stop()
        self.ssh.stop()

    def _shell_of_login(self, login: Login) -> Shell:
        return self._session(login.username, f"ssh {login.peer} {login.method}")

    def _shell_of_user(self, user: str) -> Shell:
        return self._session(user, "socket")

    def _session(self, user: str, origin: str) -> Shell:
        session = CliSession(
            self._appliance,
            self.log,
            user=user,
            origin=origin,
            level=self._credentials.level,
            edition=self._settings.edition,
            hold=self._hold,
        )
        return self._pace.shell(session)

    def _approves(self) -> bool:
        self._pace.log_in()
        return self._settings.approve(self._key[0])

    def _is_reachable(self) -> bool:
        try:
            return self._settings.reachable(*self._key)
        except AdapterError:  # the world of the node cannot be read
            return False

    @contextmanager
    def _hold(self) -> Iterator[None]:
        assert self._settings.hold is not None, "the lab fills it in"
        with self._settings.hold():
            if not self._is_reachable():
                raise Unreachable(f"the simulated node {'-'.join(self._key)} is gone")
            yield


def _check(appliances: Mapping[NodeKey, Appliance], host: str) -> None:
    try:
        is_here = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_here = False
    if not is_here:
        raise DefinitionError(
            f"a lab listens on a loopback address, and {host} is none",
            hint="use 127.0.0.1; to reach it from elsewhere, forward a port over SSH",
        )
    sites = {site for site, _ in appliances}
    if len(sites) != 2:
        raise DefinitionError(f"a lab has two sites, and not {len(sites)}")
    for name in (name for key in appliances for name in key):
        if not _FILE_NAME.fullmatch(name):
            raise DefinitionError(f"{name!r} cannot be the name of a site or node of a lab")


def _common_vpns(appliances: Mapping[NodeKey, Appliance]) -> list[str]:
    known = [appliance.vpn_names() for appliance in appliances.values()]
    return [name for name in known[0] if all(name in others for others in known)]
