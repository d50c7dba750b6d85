"""A node's CLI on a unix-domain socket, for use behind a real SSH server (see ``shell``).

Only the owner can read and write the socket. There is no further login: every user who can open it can type commands.
It serves only the same sessions as the lab's own SSH servers.
"""

from __future__ import annotations

import selectors
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from orchestrator.errors import DefinitionError
from simulator.lab.relay.frames import HELLO_MAX, BadFrame, FrameReader, Hello, Size
from simulator.ssh.shell import Chaos, ServerTerminal, Shell

PATH_MAX = 107  # bytes of sun_path on Linux, without its closing zero
_RECEIVE_BYTES = 4096


class SocketServer:
    """Shells on ``path``. ``shells`` creates a shell for each client, for the user that the relay names."""

    def __init__(self, path: Path, shells: Callable[[str], Shell], *, chaos: Chaos, latency_s: float = 0.0) -> None:
        if len(str(path).encode()) > PATH_MAX:
            raise DefinitionError(
                f"{path} is too long for a socket: {PATH_MAX} bytes at most", hint="choose a shorter directory"
            )
        self._path = path
        self._shells = shells
        self._chaos = chaos
        self._latency_s = latency_s
        self._stop = threading.Event()
        self._clients: list[tuple[socket.socket, threading.Thread]] = []
        path.unlink(missing_ok=True)  # left by a lab that was killed
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(path))
        path.chmod(0o600)
        self._listener.listen(64)
        self._waker, self._wakened = socket.socketpair()
        self._thread = threading.Thread(target=self._accept, name=f"socket-{path.name}", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close the socket and every terminal, and wait for them."""
        self._stop.set()
        self._waker.send(b".")
        self._thread.join()
        for client, thread in self._clients:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)
            thread.join()
        for one in (self._listener, self._waker, self._wakened):
            one.close()
        self._path.unlink(missing_ok=True)

    def _accept(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._wakened, selectors.EVENT_READ)
            while not self._stop.is_set():
                selector.select()
                if self._stop.is_set():
                    return
                self._clients = [(known, thread) for known, thread in self._clients if thread.is_alive()]
                with suppress(OSError):  # the client left before it was greeted
                    client, _ = self._listener.accept()
                    thread = threading.Thread(target=self._converse, args=(client,), name="relay", daemon=True)
                    self._clients.append((client, thread))
                    thread.start()

    def _converse(self, client: socket.socket) -> None:
        with client, suppress(OSError, BadFrame):
            hello, rest = _hello(client)
            shell = self._shells(hello.user)
            shell.resize(hello.columns, hello.rows)
            wire = _SocketWire(client, shell, rest)
            ServerTerminal(wire, shell, chaos=self._chaos, latency_s=self._latency_s, stop=self._stop).run()


def _hello(client: socket.socket) -> tuple[Hello, bytes]:
    line = b""
    while b"\n" not in line:
        data = client.recv(_RECEIVE_BYTES)
        line += data
        if not data or len(line) > HELLO_MAX + _RECEIVE_BYTES:
            raise BadFrame("no hello")
    first, _, rest = line.partition(b"\n")
    return Hello.decode(first), rest


class _SocketWire:
    """The wire of a terminal over a relay's frames. New sizes go to the shell at once."""

    def __init__(self, client: socket.socket, shell: Shell, already: bytes) -> None:
        self._client = client
        self._shell = shell
        self._reader = FrameReader()
        self._already = already

    def receive(self) -> bytes:
        while True:
            data, self._already = self._already or self._client.recv(_RECEIVE_BYTES), b""
            if not data:
                return b""
            typed = b""
            for part in self._reader.feed(data):
                if isinstance(part, Size):
                    self._shell.resize(part.columns, part.rows)
                else:
                    typed += part
            if typed:
                return typed

    def send(self, data: bytes) -> None:
        self._client.sendall(data)

    def drop(self) -> None:
        with suppress(OSError):
            self._client.shutdown(socket.SHUT_RDWR)
