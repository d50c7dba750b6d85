"""The lab over real SSH, with a paramiko client: logins, terminals, channels, mishaps, the inventory."""

from __future__ import annotations

import shutil
import socket
import stat
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import paramiko
import pytest
import yaml

from orchestrator.errors import DefinitionError
from orchestrator.model.inventory import Inventory
from simulator.lab.server import Credentials, Lab
from simulator.ssh.host_key import server_key
from simulator.ssh.server import CHANNELS_MAX, Account, SshServer
from simulator.ssh.shell import Mishap, MishapKind
from tests.lab.bench import BenchAppliance, Clients, Labs, ask, golden, read_until

pytestmark = pytest.mark.realtime


def test_a_whole_session(start_lab: Labs, connect: Clients) -> None:
    """Banner, prompt, modes, echo, tables with CR LF, and an exit status at the end: as at an appliance."""
    lab = start_lab()
    channel = connect(lab).log_in().shell()
    assert "SIMULATED" in read_until(channel, "NY_Appliance1> ")
    assert ask(channel, "no paging") == "no paging\r\nNY_Appliance1> "
    table = ask(channel, "show message-vpn Trading_VPN replication")
    assert table.replace("\r\n", "\n") == (
        "show message-vpn Trading_VPN replication\n" + golden("replication_active") + "NY_Appliance1> "
    )
    assert "\n" not in table.replace("\r\n", "")
    ask(channel, "enable")
    ask(channel, "configure")
    assert ask(channel, "message-vpn Trading_VPN").endswith("NY_Appliance1(configure/message-vpn)# ")
    assert ask(channel, "replication state standby") == (
        "replication state standby\r\nNY_Appliance1(configure/message-vpn)# "
    )
    assert ask(channel, "end").endswith("NY_Appliance1# ")
    ask(channel, "exit", "> ")
    channel.sendall(b"exit\r")
    assert channel.recv_exit_status() == 0
    assert lab.log("ny", "ny1").changes == ("replication state standby",)
    assert lab.log("nj", "nj1").lines == ()
    record = lab.log("ny", "ny1").records[0]
    assert record.user == lab.credentials.username
    assert record.origin.startswith("ssh 127.0.0.1:")


def test_the_pager_follows_the_terminal(start_lab: Labs, connect: Clients) -> None:
    """The height given with the terminal, and a later change of it, decide where the pager comes."""
    lab = start_lab(ny=BenchAppliance())
    channel = connect(lab).log_in().shell(rows=6)
    read_until(channel, "> ")
    pager = "to quit---"
    assert ask(channel, "show message-vpn Trading_VPN replication", pager).count("\r\n") == 1 + 5
    channel.sendall(b"q")
    assert read_until(channel, "> ") == "\r\nNY_Appliance1> "
    channel.resize_pty(width=200, height=100)
    assert pager not in ask(channel, "show message-vpn Trading_VPN replication")


def test_two_channels_and_two_connections(start_lab: Labs, connect: Clients) -> None:
    """Sessions do not see each other's modes; their lines are told apart in the log."""
    lab = start_lab()
    first = connect(lab).log_in()
    channels = [first.shell(), first.shell(), connect(lab).log_in().shell()]
    for channel in channels:
        read_until(channel, "> ")
    assert ask(channels[0], "enable").endswith("NY_Appliance1# ")
    assert ask(channels[1], "configure").endswith("NY_Appliance1> ")
    assert ask(channels[2], "show version").endswith("NY_Appliance1> ")
    assert {record.session for record in lab.log("ny", "ny1").records} == {1, 2, 3}
    channels[0].close()
    assert ask(channels[1], "enable").endswith("NY_Appliance1# ")


def test_channels_have_an_end(start_lab: Labs, connect: Clients) -> None:
    """One connection carries as many sessions as OpenSSH allows; one more is refused; a closed one makes room."""
    client = connect(start_lab()).log_in()
    channels = [client.shell() for _ in range(CHANNELS_MAX)]
    with pytest.raises(paramiko.ChannelException):
        client.transport.open_session(timeout=10)
    read_until(channels[0], "> ")
    channels[0].sendall(b"exit\r")
    channels[0].recv_exit_status()
    channels[0].close()
    read_until(client.shell(), "> ")


def test_wrong_password_and_unknown_user(start_lab: Labs, connect: Clients) -> None:
    """Neither gets in, and the account's own name tells nothing more than a stranger's."""
    lab = start_lab()
    for user, password in (
        (lab.credentials.username, "wrong"),
        (lab.credentials.username, ""),
        ("stranger", lab.credentials.password),
    ):
        with pytest.raises(paramiko.AuthenticationException):
            connect(lab).transport.auth_password(user, password, fallback=False)
    with pytest.raises(paramiko.BadAuthenticationType) as offered:
        connect(lab).transport.auth_none(lab.credentials.username)
    assert offered.value.allowed_types == ["publickey", "password", "keyboard-interactive"]


def test_keyboard_interactive(start_lab: Labs, connect: Clients) -> None:
    """One prompt without echo; the right answer logs in, a wrong one does not."""
    lab = start_lab(methods=("keyboard-interactive",))
    asked: list[list[tuple[str, bool]]] = []

    def answer(title: str, instructions: str, prompts: list[tuple[str, bool]]) -> list[str]:
        asked.append(prompts)
        return [lab.credentials.password if len(asked) > 1 else "wrong"]

    client = connect(lab)
    with pytest.raises(paramiko.AuthenticationException):
        client.transport.auth_interactive(lab.credentials.username, answer)
    client = connect(lab)
    client.transport.auth_interactive(lab.credentials.username, answer)
    assert asked == [[("Password: ", False)]] * 2
    read_until(client.shell(), "> ")
    with pytest.raises(paramiko.BadAuthenticationType):
        connect(lab).transport.auth_password(lab.credentials.username, lab.credentials.password, fallback=False)


def test_public_key(start_lab: Labs, connect: Clients) -> None:
    """The listed key logs in; another one does not."""
    mine, other = paramiko.ECDSAKey.generate(), paramiko.ECDSAKey.generate()
    lab = start_lab(credentials=Credentials(public_keys=(f"{mine.get_name()} {mine.get_base64()}",)))
    with pytest.raises(paramiko.AuthenticationException):
        connect(lab).transport.auth_publickey(lab.credentials.username, other)
    client = connect(lab)
    client.transport.auth_publickey(lab.credentials.username, mine)
    read_until(client.shell(), "> ")
    assert "publickey" not in "".join(lab.log("ny", "ny1").lines)


def test_nothing_but_a_shell_is_given(start_lab: Labs, connect: Clients) -> None:
    """Commands, subsystems and forwarding are refused; the connection stays usable."""
    lab = start_lab()
    client = connect(lab).log_in()
    with pytest.raises(paramiko.SSHException):
        client.transport.open_session(timeout=10).exec_command("show version")
    with pytest.raises(paramiko.SSHException):
        client.transport.open_session(timeout=10).invoke_subsystem("sftp")
    with pytest.raises(paramiko.ChannelException):
        client.transport.open_channel("direct-tcpip", ("127.0.0.1", 22), ("127.0.0.1", 1), timeout=10)
    with pytest.raises(paramiko.SSHException):
        client.transport.request_port_forward("127.0.0.1", 0)
    assert client.shell().recv(10)
    assert lab.log("ny", "ny1").lines == ()


@pytest.mark.parametrize(("kind", "role"), [("drop-before", "active"), ("drop-after", "standby")])
def test_a_connection_lost_around_a_command(start_lab: Labs, connect: Clients, kind: MishapKind, role: str) -> None:
    """The client sees the same loss, whether the node obeyed or not; a new login tells which."""
    node = BenchAppliance()
    lab = start_lab(ny=node)
    lab.chaos("ny", "ny1").plan(Mishap(kind, matching="replication state"))
    channel = connect(lab).log_in().shell()
    read_until(channel, "> ")
    for line in ("enable", "configure", "message-vpn Trading_VPN"):
        ask(channel, line)
    channel.sendall(b"replication state standby\r")
    while channel.recv(1024):
        pass
    assert node.rows["Trading_VPN"].role == role
    again = connect(lab).log_in().shell()
    read_until(again, "> ")
    assert f"U {role[0].upper()}" in ask(again, "show message-vpn Trading_VPN replication")


def test_a_frozen_answer_arrives_late(start_lab: Labs, connect: Clients) -> None:
    """While frozen nothing comes but the echo; after the thaw the old answer is delivered, late."""
    lab = start_lab()
    lab.chaos("ny", "ny1").plan(Mishap("freeze-after", matching="show version"))
    channel = connect(lab).log_in().shell()
    read_until(channel, "> ")
    channel.sendall(b"show version\r")
    assert lab.chaos("ny", "ny1").wait_frozen(10)
    assert read_until(channel, "\r\n") == "show version\r\n"
    assert not channel.recv_ready()
    lab.chaos("ny", "ny1").thaw()
    assert read_until(channel, "> ").endswith("6m 39s\r\n\r\nNY_Appliance1> ")


def test_a_node_goes_down_and_comes_back(start_lab: Labs, connect: Clients) -> None:
    """Down: sessions end and the port refuses. Back: the same port, the same key, and the same node."""
    lab = start_lab()
    client = connect(lab).log_in()
    channel = client.shell()
    read_until(channel, "> ")
    lab.take_down("ny", "ny1")
    assert channel.recv(1024) == b""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(lab.address("ny", "ny1"), timeout=10)
    lab.bring_up("ny", "ny1")
    again = connect(lab)
    assert again.host_key == client.host_key == lab.host_key("ny", "ny1")
    read_until(again.log_in().shell(), "> ")


def test_a_node_that_cannot_be_reached_breaks_its_sessions(start_lab: Labs, connect: Clients) -> None:
    """Where management is away, a session breaks at its next line and no new one begins, until it is back."""
    away: set[tuple[str, str]] = set()
    lab = start_lab(reachable=lambda site, node: (site, node) not in away)
    channel = connect(lab).log_in().shell()
    read_until(channel, "> ")
    away.add(("ny", "ny1"))
    channel.sendall(b"show version\r")
    while channel.recv(1024):
        pass
    assert "show version" not in lab.log("ny", "ny1").lines
    with pytest.raises((paramiko.SSHException, EOFError, OSError)):
        connect(lab)
    away.clear()
    assert "SIMULATED" in read_until(connect(lab).log_in().shell(), "> ")


def test_clients_that_talk_nonsense_harm_nobody(start_lab: Labs, connect: Clients) -> None:
    """A port scanner, a client that hangs up and one that sends rubbish leave the server as it was."""
    lab = start_lab()
    for first in (b"", b"GET / HTTP/1.0\r\n\r\n", b"\x00" * 4096, b"SSH-2.0-x\r\n" + b"\xff" * 100):
        with socket.create_connection(lab.address("ny", "ny1"), timeout=10) as scanner:
            scanner.sendall(first)
    read_until(connect(lab).log_in().shell(), "> ")


def test_stop_ends_everything(start_lab: Labs, connect: Clients) -> None:
    """After stop the ports refuse, no thread is left, the waiting caller goes on, and a second stop does nothing."""
    before = set(threading.enumerate())
    lab = start_lab(with_sockets=True)
    client = connect(lab).log_in()
    read_until(client.shell(), "> ")
    waiting = threading.Thread(target=lab.wait)
    waiting.start()
    stop = threading.Event()
    serving = threading.Thread(target=lab.serve_until, args=(stop,))
    serving.start()
    stop.set()
    serving.join(20)
    waiting.join(20)
    lab.stop()
    client.close()
    for site, node in lab.nodes:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(lab.address(site, node), timeout=10)
        assert not lab.socket_path(site, node).exists()
    assert [thread for thread in set(threading.enumerate()) - before if thread.is_alive()] == []


def test_the_inventory_is_true(start_lab: Labs, connect: Clients) -> None:
    """The written file is a valid inventory: ports answer, host keys are those seen, and the password logs in."""
    lab = start_lab()
    inventory = Inventory.model_validate(yaml.safe_load(lab.inventory_path.read_text()))
    assert list(inventory.sites) == ["ny", "nj"]
    assert [(pair.name, pair.sites, pair.services) for pair in inventory.pairs] == [
        ("trading", ("ny", "nj"), ("Trading_VPN",))
    ]
    for name, router in (("ny", "NY_Appliance1"), ("nj", "NJ_Appliance1")):
        site = inventory.sites[name]
        (device,) = site.devices
        assert site.adapter == "solace-cli"
        assert (device.address, device.port) == lab.address(name, device.name)
        assert device.router_name == router
        client = connect(lab, name, device.name)
        assert device.host_key == client.host_key
        assert site.login is not None
        assert site.login.password is not None
        assert site.login.password.file is not None
        client.transport.auth_password(site.login.username, Path(site.login.password.file).read_text())
        assert client.transport.is_authenticated()


def test_the_files_are_private(start_lab: Labs) -> None:
    """Inventory, password and host keys are readable by their owner only; the password is in no other file."""
    lab = start_lab(with_log_files=True)
    directory = lab.inventory_path.parent
    for name in ("lab.yaml", "password", "ny-ny1.hostkey"):
        assert stat.S_IMODE((directory / name).stat().st_mode) == 0o600
    secret = lab.credentials.password
    assert [path.name for path in directory.iterdir() if secret in path.read_text()] == ["password"]
    assert secret not in repr(lab.credentials)


def test_host_keys_last_and_passwords_do_not(lab_directory: Path) -> None:
    """A lab started again in its directory shows the same host keys, and makes up another password."""
    nodes = {("ny", "ny1"): BenchAppliance(), ("nj", "nj1"): BenchAppliance()}
    with Lab.start(nodes, directory=lab_directory) as first:
        key, password = first.host_key("ny", "ny1"), first.credentials.password
    with Lab.start(nodes, directory=lab_directory) as second:
        assert second.host_key("ny", "ny1") == key
        assert second.credentials.password != password


def test_an_ha_pair_is_two_devices_of_one_site(lab_directory: Path) -> None:
    """Both nodes of a site are in the inventory, in order, on ports of their own; given ports are used."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    nodes = {("ny", "ny1"): BenchAppliance(), ("nj", "nj1"): BenchAppliance(), ("nj", "nj2"): BenchAppliance(rows={})}
    with Lab.start(nodes, directory=lab_directory, ports={("nj", "nj2"): port}) as lab:
        sites = yaml.safe_load(lab.inventory_path.read_text())["sites"]
        assert [device["name"] for device in sites["nj"]["devices"]] == ["nj1", "nj2"]
        assert sites["nj"]["devices"][1]["port"] == port
        assert len({lab.address(*key) for key in lab.nodes}) == 3


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "localhost", "", "127.0.0.1 "])
def test_only_a_loopback_address_is_listened_on(lab_directory: Path, host: str) -> None:
    """Any other address is refused before a port is opened or a file is written."""
    with pytest.raises(DefinitionError, match="loopback"):
        Lab.start(
            {("ny", "ny1"): BenchAppliance(), ("nj", "nj1"): BenchAppliance()}, directory=lab_directory, host=host
        )
    assert not (lab_directory / "lab.yaml").exists()


def test_what_cannot_be_a_lab_is_refused(lab_directory: Path) -> None:
    """One site is no pair; a name that is no file name is no node; a taken port is named, and the rest is closed."""
    with pytest.raises(DefinitionError, match="two sites"):
        Lab.start({("ny", "ny1"): BenchAppliance()}, directory=lab_directory)
    with pytest.raises(DefinitionError, match="cannot be the name"):
        Lab.start({("ny", "../ny1"): BenchAppliance(), ("nj", "nj1"): BenchAppliance()}, directory=lab_directory)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        before = threading.active_count()
        with pytest.raises(DefinitionError, match=f"port {port}"):
            Lab.start(
                {("ny", "ny1"): BenchAppliance(), ("nj", "nj1"): BenchAppliance()},
                directory=lab_directory,
                ports={("nj", "nj1"): port},
            )
        assert threading.active_count() == before


def test_host_keys_are_made_once(tmp_path: Path) -> None:
    """A new key is private, whole, and used from then on; what is no key is refused."""
    made = server_key(tmp_path / "new")
    assert made.line.startswith("ecdsa-sha2-nistp256 ")
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o600
    assert server_key(tmp_path / "new").line == made.line
    assert [path.name for path in tmp_path.iterdir()] == ["new"]
    (tmp_path / "text").write_text("no key")
    with pytest.raises(DefinitionError, match="private key"):
        server_key(tmp_path / "text")


def test_host_keys_that_are_made_at_once_are_one(tmp_path: Path) -> None:
    """Law: servers that begin at the same moment have one and the same key, and it is the one that is kept."""
    for number in range(20):
        path, gate = tmp_path / str(number), threading.Barrier(4)

        def begin(path: Path = path, gate: threading.Barrier = gate) -> str:
            gate.wait()
            return server_key(path).line

        with ThreadPoolExecutor(4) as pool:
            made = [one.result() for one in [pool.submit(begin) for _ in range(4)]]
        assert set(made) == {server_key(path).line}
    assert len(list(tmp_path.iterdir())) == 20


@pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="there is no ssh-keygen on this machine")
@pytest.mark.parametrize("kind", ["ed25519", "rsa", "ecdsa"])
def test_host_keys_of_openssh_are_read(
    tmp_path: Path, connect: Clients, start_lab: Labs, lab_directory: Path, kind: str
) -> None:
    """A key that ssh-keygen wrote becomes the node's identity, whatever its type, and is made private."""
    file = lab_directory / "ny-ny1.hostkey"
    subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", str(file)], check=True, timeout=60)
    file.chmod(0o644)
    public = " ".join(file.with_suffix(".hostkey.pub").read_text().split()[:2])
    lab = start_lab()
    assert lab.host_key("ny", "ny1") == public
    assert connect(lab).host_key == public
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_an_account_without_a_password_never_logs_in_by_one(tmp_path: Path) -> None:
    """No password is not the empty password."""
    server = SshServer(
        lambda login: pytest.fail("nobody logs in"), [Account("kim")], server_key(tmp_path / "hostkey")
    )
    with server, socket.create_connection(server.address, timeout=10) as connection:
        transport = paramiko.Transport(connection)
        transport.start_client(timeout=10)
        with pytest.raises(paramiko.AuthenticationException):
            transport.auth_password("kim", "", fallback=False)
        transport.close()
        transport.join(10)
    assert "secret" not in repr(Account("kim", "secret"))
