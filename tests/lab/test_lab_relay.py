"""The relay that stands for a login shell, and the socket it speaks to."""

from __future__ import annotations

import fcntl
import os
import pty
import signal
import socket
import stat
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from orchestrator.errors import DefinitionError
from simulator.lab.relay.frames import BadFrame, FrameReader, Hello, Size, data_frames, size_frame
from simulator.lab.relay.shell import main
from simulator.lab.server import Lab, LabSettings
from simulator.ssh.shell import Mishap
from tests.lab.bench import BenchAppliance, Labs

RELAY = [sys.executable, "-m", "simulator.lab.relay.shell", "--socket"]


@pytest.fixture
def lab(start_lab: Labs) -> Lab:
    """A lab whose nodes have sockets."""
    return start_lab(with_sockets=True)


def relay(lab: Lab, typed: bytes, **environment: str) -> subprocess.CompletedProcess[bytes]:
    path = str(lab.socket_path("ny", "ny1"))
    return subprocess.run(
        [*RELAY, path], input=typed, capture_output=True, timeout=60, check=False, env={**os.environ, **environment}
    )


def test_frames_survive_any_cut() -> None:
    """Whatever pieces frames arrive in, the same bytes and sizes come out."""
    said = data_frames(b"show version\r") + size_frame(Size(200, 50)) + data_frames(b"x" * 70_000)
    for cut in (1, 2, 3, 7, 1000, len(said)):
        reader = FrameReader()
        parts = [part for at in range(0, len(said), cut) for part in reader.feed(said[at : at + cut])]
        assert parts[:2] == [b"show version\r", Size(200, 50)]
        assert b"".join(part for part in parts[2:] if isinstance(part, bytes)) == b"x" * 70_000


@pytest.mark.parametrize("said", [b"x\x00\x00", b"r\x00\x01a", b"GET / HTTP/1.0\r\n"])
def test_what_is_no_frame_is_refused(said: bytes) -> None:
    """A stranger on the socket is not guessed at."""
    with pytest.raises(BadFrame):
        list(FrameReader().feed(said))


@pytest.mark.parametrize("line", [b"", b"{}", b"[]", b"7", b'{"user": "x", "columns": "wide", "rows": 1}', b"\xff"])
def test_what_is_no_hello_is_refused(line: bytes) -> None:
    """So is one at the door."""
    with pytest.raises(BadFrame):
        Hello.decode(line)


def test_a_hello_comes_back_as_it_was() -> None:
    """Encoding and decoding a hello are inverse."""
    hello = Hello("kim", 200, 50)
    assert Hello.decode(hello.encode()) == hello


@pytest.mark.realtime
def test_lines_through_a_pipe(lab: Lab) -> None:
    """Lines from a pipe are typed, their answers printed, and the end of the pipe ends the session."""
    done = relay(lab, b"enable\nshow version\nconfigure\n")
    assert done.returncode == 0
    assert done.stdout.startswith(b"\r\nSolace PubSub+ Appliance Version ")
    assert b"NY_Appliance1# show version\r\n" in done.stdout
    assert done.stdout.endswith(b"NY_Appliance1# configure\r\nNY_Appliance1(configure)# ")
    records = lab.log("ny", "ny1").records
    assert [record.line for record in records] == ["enable", "show version", "configure"]
    assert {record.origin for record in records} == {"socket"}


@pytest.mark.realtime
def test_lines_from_a_file(lab: Lab, tmp_path: Path) -> None:
    """A plain file as input, which no selector watches, works as a pipe does."""
    (tmp_path / "typed").write_bytes(b"show version\nexit\n")
    with (tmp_path / "typed").open("rb") as typed:
        done = subprocess.run(
            [*RELAY, str(lab.socket_path("ny", "ny1"))], stdin=typed, capture_output=True, timeout=60, check=False
        )
    assert done.returncode == 0
    assert done.stdout.endswith(b"NY_Appliance1> exit\r\n")


@pytest.mark.realtime
def test_a_terminal_is_raw_and_its_size_is_known(lab: Lab) -> None:
    """Echo comes from the CLI alone, the pager follows the terminal's height, and the terminal is restored."""
    ours, theirs = pty.openpty()
    before = termios.tcgetattr(theirs)
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 5, 200, 0, 0))
    process = subprocess.Popen([*RELAY, str(lab.socket_path("ny", "ny1"))], stdin=theirs, stdout=theirs)

    def read_until(end: bytes) -> bytes:
        seen = b""
        while not seen.endswith(end):
            seen += os.read(ours, 1024)
        return seen

    read_until(b"NY_Appliance1> ")
    os.write(ours, b"show message-vpn Trading_VPN replication\r")
    page = read_until(b"to quit---")
    assert page.startswith(b"show message-vpn Trading_VPN replication\r\n\r\nFlags Legend:\r\n")
    assert page.count(b"\r\n") == 1 + 4
    os.write(ours, b"q")
    assert read_until(b"> ") == b"\r\nNY_Appliance1> "
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 100, 200, 0, 0))
    process.send_signal(signal.SIGWINCH)  # the kernel sends it to a foreground group; this one has no such terminal
    os.write(ours, b"x\x7f")  # lets the relay's loop turn once more before the next line
    read_until(b"x\b \b")
    os.write(ours, b"show message-vpn Trading_VPN replication\r")
    assert b"to quit---" not in read_until(b"> ")
    os.write(ours, b"exit\r")
    assert process.wait(60) == 0
    assert termios.tcgetattr(theirs) == before
    os.close(ours)
    os.close(theirs)


@pytest.mark.realtime
def test_a_command_instead_of_a_shell_is_refused(lab: Lab) -> None:
    """What SSH was asked to execute never reaches the node."""
    done = relay(lab, b"enable\n", SSH_ORIGINAL_COMMAND="replication state active")
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"no commands" in done.stderr
    assert lab.log("ny", "ny1").lines == ()


@pytest.mark.realtime
def test_without_a_node_the_relay_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """No socket: one sentence, exit 1, no traceback."""
    assert main(["--socket", str(tmp_path / "nobody")]) == 1
    assert capsys.readouterr().err == "the appliance does not answer: No such file or directory\n"


@pytest.mark.realtime
def test_mishaps_reach_the_socket_too(lab: Lab) -> None:
    """The node's mishaps do not depend on how it is reached."""
    lab.chaos("ny", "ny1").plan(Mishap("drop-before", matching="show version"))
    done = relay(lab, b"enable\nshow version\n")
    assert done.stdout.endswith(b"NY_Appliance1# show version\r\n")
    assert lab.log("ny", "ny1").lines == ("enable",)


@pytest.mark.realtime
def test_what_an_ended_node_said_last_is_printed(tmp_path: Path) -> None:
    """A node that ends while lines are still typed loses the lines; the reader still sees its last words."""
    (tmp_path / "typed").write_bytes(b"show version\n" * 100_000)  # more than a socket holds: the relay is sending
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "node"))
        listener.listen()
        with (tmp_path / "typed").open("rb") as typed:
            process = subprocess.Popen([*RELAY, str(tmp_path / "node")], stdin=typed, stdout=subprocess.PIPE)
        with listener.accept()[0] as node:
            node.recv(1024)
            node.sendall(b"closing the session\r\n")
    assert process.communicate(timeout=60)[0] == b"closing the session\r\n"


@pytest.mark.realtime
def test_the_socket_is_its_owner_s(lab: Lab) -> None:
    """Mode 0600; a stranger who speaks no frames is cut off, and others are not disturbed."""
    path = lab.socket_path("ny", "ny1")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for said in (b"", b"hello\n", Hello("x").encode() + b"??????"):
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.settimeout(10)
            stranger.connect(str(path))
            stranger.sendall(said)
            stranger.shutdown(socket.SHUT_WR)
            while stranger.recv(1024):
                pass
    assert relay(lab, b"show version\n").returncode == 0


@pytest.mark.realtime
def test_a_path_too_long_for_a_socket_is_refused(tmp_path: Path) -> None:
    """The limit is the kernel's; the error says what to do, and no port stays open."""
    deep = tmp_path / ("d" * 100)
    with pytest.raises(DefinitionError, match="too long for a socket") as refused:
        Lab.start(
            {("ny", "ny1"): BenchAppliance(), ("nj", "nj1"): BenchAppliance()},
            directory=Path(deep),
            settings=LabSettings(with_sockets=True),
        )
    assert "shorter" in refused.value.hint
