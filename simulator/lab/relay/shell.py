"""A login shell that is a node's CLI: for a real SSH server's ``ForceCommand``.

::

    ForceCommand python -m simulator.lab.relay.shell --socket PATH

It copies bytes between its terminal and the lab's socket without interpreting them. It never starts a program. It
refuses a client that requests a command instead of a shell.
"""

from __future__ import annotations

import argparse
import os
import pwd
import selectors
import signal
import socket
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from simulator.lab.relay.frames import Hello, Size, data_frames, size_frame

_CHUNK = 4096


def main(arguments: Sequence[str] | None = None) -> int:
    """Relay until either side ends. Returns 0 when the CLI ended, 1 without a CLI or for a requested command."""
    parser = argparse.ArgumentParser(prog="simulator.lab.relay.shell", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--socket", required=True, metavar="PATH", help="the socket of the node, in the lab's directory"
    )
    path = parser.parse_args(arguments).socket
    if os.environ.get("SSH_ORIGINAL_COMMAND"):
        sys.stderr.write("this appliance runs no commands, only its CLI\n")
        return 1
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as node:
        try:
            node.connect(path)
        except OSError as error:
            sys.stderr.write(f"the appliance does not answer: {error.strerror}\n")
            return 1
        keyboard, screen = sys.stdin.fileno(), sys.stdout.fileno()
        size = _terminal_size(keyboard) or Size(0, 0)
        _send(node, Hello(_user(), size.columns, size.rows).encode())
        try:
            with _raw(keyboard), _resizes() as resized:
                _relay(node, keyboard, screen, resized)
        except ConnectionError:
            return 1
    return 0


def _relay(node: socket.socket, keyboard: int, screen: int, resized: socket.socket) -> None:
    with selectors.DefaultSelector() as selector:
        for source in (node, resized):
            selector.register(source, selectors.EVENT_READ)
        try:
            selector.register(keyboard, selectors.EVENT_READ)
        except PermissionError:  # epoll cannot watch plain files, but a plain file can be read at once
            _send_file(node, keyboard)
        while True:
            for key, _ in selector.select():
                if key.fileobj is node:
                    answer = node.recv(_CHUNK)
                    if not answer:
                        return
                    _write(screen, answer)
                elif key.fileobj is resized:
                    resized.recv(_CHUNK)
                    _send_size(node, keyboard)
                else:
                    typed = _read(keyboard)
                    if not typed or not _send(node, data_frames(typed)):
                        selector.unregister(keyboard)
                        _end_typing(node)


def _send(node: socket.socket, data: bytes) -> bool:
    """Send to the node. Returns False if the node has ended. The relay still reads the node's last output from the
    socket."""
    try:
        node.sendall(data)
    except ConnectionError:
        return False
    return True


def _end_typing(node: socket.socket) -> None:
    with suppress(OSError):  # ENOTCONN: the node ended first
        node.shutdown(socket.SHUT_WR)


def _send_file(node: socket.socket, keyboard: int) -> None:
    while (typed := os.read(keyboard, _CHUNK)) and _send(node, data_frames(typed)):
        pass
    _end_typing(node)


def _send_size(node: socket.socket, keyboard: int) -> None:
    size = _terminal_size(keyboard)
    if size is not None:
        _send(node, size_frame(size))


def _read(keyboard: int) -> bytes:
    try:
        return os.read(keyboard, _CHUNK)
    except OSError:  # EIO: the terminal hung up
        return b""


def _write(screen: int, data: bytes) -> None:
    while data:
        data = data[os.write(screen, data) :]


def _terminal_size(keyboard: int) -> Size | None:
    try:
        size = os.get_terminal_size(keyboard)
    except OSError:
        return None
    return Size(size.columns, size.lines)


def _user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return str(os.getuid())


@contextmanager
def _raw(keyboard: int) -> Iterator[None]:
    # The CLI echoes, edits and converts CR itself. So the terminal in between must not do that.
    if not os.isatty(keyboard):
        yield
        return
    before = termios.tcgetattr(keyboard)
    tty.setraw(keyboard, termios.TCSANOW)  # not the default, because that discards input typed before
    try:
        yield
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)


@contextmanager
def _resizes() -> Iterator[socket.socket]:
    # Signals become bytes on a socket, so a resize cannot interrupt the sending of a frame.
    heard, told = socket.socketpair()
    with heard, told:
        told.setblocking(False)
        before = signal.signal(signal.SIGWINCH, lambda number, frame: None)
        wakeup = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
        try:
            yield heard
        finally:
            signal.set_wakeup_fd(wakeup)
            signal.signal(signal.SIGWINCH, before)


if __name__ == "__main__":
    sys.exit(main())
