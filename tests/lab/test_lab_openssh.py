"""The lab with OpenSSH, which nobody here wrote: its client at our server, and its server before our CLI."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import paramiko
import pytest

from simulator.lab.server import Credentials, Lab
from tests.lab.bench import Labs, ask, read_until

pytestmark = pytest.mark.realtime

SSH = shutil.which("ssh")
SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
needs_ssh = pytest.mark.skipif(SSH is None, reason="there is no ssh on this machine")
needs_sshd = pytest.mark.skipif(
    SSHD is None or os.geteuid() != 0, reason="sshd is not installed, or we are not root, as it wants to be"
)


@dataclass
class Identity:
    """A client's key: its file, and its public half."""

    file: Path
    line: str


@pytest.fixture
def identity(tmp_path: Path) -> Identity:
    key = paramiko.ECDSAKey.generate()
    key.write_private_key_file(str(tmp_path / "identity"))
    return Identity(tmp_path / "identity", f"{key.get_name()} {key.get_base64()}")


@pytest.fixture
def keyed_lab(start_lab: Labs, identity: Identity) -> Lab:
    """A lab whose account logs in with the identity, under our own user's name."""
    user = pwd.getpwuid(os.geteuid()).pw_name
    return start_lab(credentials=Credentials(username=user, public_keys=(identity.line,)), with_sockets=True)


def ssh(port: int, host_key: str, identity: Identity, *, tty: bool, typed: bytes, command: str = "") -> bytes:
    """What OpenSSH's client prints, typing after the first prompt. It accepts no host but the pinned one."""
    known = identity.file.with_name("known_hosts")
    known.write_text(f"[127.0.0.1]:{port} {host_key}\n")
    options = ("BatchMode=yes", "StrictHostKeyChecking=yes", "IdentitiesOnly=yes", "LogLevel=ERROR")
    assert SSH is not None
    process = subprocess.Popen(
        [
            SSH,
            "-F",
            "none",
            "-tt" if tty else "-T",
            *(word for option in options for word in ("-o", option)),
            *("-o", f"UserKnownHostsFile={known}", "-i", str(identity.file), "-p", str(port)),
            f"{pwd.getpwuid(os.geteuid()).pw_name}@127.0.0.1",
            *([command] if command else []),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    with process:
        assert process.stdout is not None
        seen = b""
        while typed and not seen.endswith(b"> ") and (data := os.read(process.stdout.fileno(), 4096)):
            seen += data
        return seen + process.communicate(typed, timeout=60)[0]


@needs_ssh
@pytest.mark.parametrize("tty", [True, False])
def test_the_client_of_openssh(keyed_lab: Lab, identity: Identity, tty: bool) -> None:
    """ssh logs in with a key against the pinned host key, types a session, and sees each line echoed once."""
    port, key = keyed_lab.address("ny", "ny1")[1], keyed_lab.host_key("ny", "ny1")
    seen = ssh(port, key, identity, tty=tty, typed=b"no paging\renable\rshow message-vpn * replication\rexit\rexit\r")
    text = seen.decode()
    assert text.count("show message-vpn * replication") == 1
    assert "NY_Appliance1# show message-vpn * replication\r\n" in text
    assert "#config-sync                     - - - - - - - -\r\n" in text
    assert text.endswith("NY_Appliance1> exit\r\n")


@needs_ssh
def test_the_client_of_openssh_is_refused_a_command(keyed_lab: Lab, identity: Identity) -> None:
    """ssh host command is refused by the server and reaches nobody."""
    port, key = keyed_lab.address("ny", "ny1")[1], keyed_lab.host_key("ny", "ny1")
    seen = ssh(port, key, identity, tty=False, typed=b"", command="show version")
    assert b"exec request failed" in seen
    assert keyed_lab.log("ny", "ny1").lines == ()


@needs_ssh
def test_the_client_of_openssh_refuses_a_stranger(keyed_lab: Lab, identity: Identity) -> None:
    """Against another node's key ssh says that the host's identification has changed."""
    other = paramiko.ECDSAKey.generate()
    port = keyed_lab.address("ny", "ny1")[1]
    seen = ssh(port, f"{other.get_name()} {other.get_base64()}", identity, tty=False, typed=b"show version\r")
    assert b"Host key verification failed" in seen
    assert keyed_lab.log("ny", "ny1").lines == ()


@dataclass
class RealServer:
    """A running sshd: its port and public host key."""

    port: int
    host_key: str


@pytest.fixture
def sshd(keyed_lab: Lab, identity: Identity, tmp_path: Path) -> Iterator[RealServer]:
    """Debian's sshd on loopback, with the node's relay as ForceCommand."""
    host = paramiko.ECDSAKey.generate()
    host.write_private_key_file(str(tmp_path / "sshd_host_key"))
    (tmp_path / "authorized_keys").write_text(identity.line + "\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    relay = f"{sys.executable} -m simulator.lab.relay.shell --socket {keyed_lab.socket_path('ny', 'ny1')}"
    config = tmp_path / "sshd_config"
    config.write_text(
        f"""\
ListenAddress 127.0.0.1
Port {port}
HostKey {tmp_path / "sshd_host_key"}
PidFile none
UsePAM no
StrictModes no
PermitRootLogin yes
PasswordAuthentication no
KbdInteractiveAuthentication no
AuthorizedKeysFile {tmp_path / "authorized_keys"}
AllowTcpForwarding no
ForceCommand {relay}
"""
    )
    Path("/run/sshd").mkdir(parents=True, exist_ok=True)
    assert SSHD is not None
    process = subprocess.Popen([SSHD, "-D", "-e", "-f", str(config)], stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while True:
            assert process.poll() is None, "sshd does not run with this configuration"
            assert time.monotonic() < deadline, "sshd does not listen"
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
        yield RealServer(port, f"{host.get_name()} {host.get_base64()}")
    finally:
        process.terminate()
        process.wait(20)


@needs_ssh
@needs_sshd
def test_openssh_at_both_ends(keyed_lab: Lab, identity: Identity, sshd: RealServer) -> None:
    """Through ssh, sshd, ForceCommand and relay the same CLI is reached, with the same echo, and no command runs."""
    typed = b"no paging\renable\rconfigure\rmessage-vpn Trading_VPN\rreplication state standby\rend\rexit\rexit\r"
    text = ssh(sshd.port, sshd.host_key, identity, tty=True, typed=typed).decode()
    assert text.count("replication state standby\r\n") == 1
    assert "NY_Appliance1(configure/message-vpn)# replication state standby\r\n" in text
    assert keyed_lab.log("ny", "ny1").changes == ("replication state standby",)
    assert {record.origin for record in keyed_lab.log("ny", "ny1").records} == {"socket"}
    refused = ssh(sshd.port, sshd.host_key, identity, tty=False, typed=b"", command="show version")
    assert b"no commands" in refused


@needs_sshd
def test_paramiko_at_a_real_sshd(identity: Identity, sshd: RealServer) -> None:
    """The terminal's size travels through sshd and the relay to the pager, and so does a later change of it."""
    with socket.create_connection(("127.0.0.1", sshd.port), timeout=10) as connection:
        transport = paramiko.Transport(connection)
        transport.start_client(timeout=10)
        transport.auth_publickey(
            pwd.getpwuid(os.geteuid()).pw_name, paramiko.ECDSAKey.from_private_key_file(str(identity.file))
        )
        channel = transport.open_session(timeout=10)
        channel.settimeout(30)
        channel.get_pty(width=200, height=8)
        channel.invoke_shell()
        read_until(channel, "> ")
        show = "show message-vpn Trading_VPN replication"
        assert ask(channel, show, "to quit---").count("\r\n") == 1 + 7
        channel.sendall(b"q")
        read_until(channel, "> ")
        channel.resize_pty(width=200, height=100)
        # The size goes its own way past the line: ask until it has arrived.
        while (text := ask(channel, show, "> ", "to quit---")).endswith("to quit---"):
            channel.sendall(b"q")
            read_until(channel, "> ")
        assert text.endswith("\r\n\r\nNY_Appliance1> ")
        transport.close()
        transport.join(10)
