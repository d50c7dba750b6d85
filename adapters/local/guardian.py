"""Stands between this program and a command of the operator's own, so that the command never outlives us unnoticed.

A program of its own: ``python -I -S guardian.py``. Its standard input is its lifeline: a line of JSON says what to run,
and after that nothing comes but ``.``, which releases it. When the line ends without that, whoever held the other end
is dead, by kill -9 too, and the command and all in its group are ended. A parent-death signal would not do: it is
bound to one thread, and reaches one process only.

It leads the group that the command runs in. On its standard error it says, a line of JSON each, that the command has
begun (or why it has not), and how it ended. It must never interpret the command, nor print anything else.
"""

import json
import os
import select
import signal
import socket
import subprocess
import sys

GRACE_S = 2.0  # that a command has to end by itself once nobody holds the line


def main() -> None:
    """Run one command to its end, or to the end of whoever asked for it."""
    job = json.loads(sys.stdin.buffer.readline())
    waker, woken = socket.socketpair()
    waker.setblocking(False)
    signal.set_wakeup_fd(waker.fileno(), warn_on_full_buffer=False)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, _be_told)  # not ignored: that would be inherited
    try:
        command = subprocess.Popen(job["argv"], stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, env=job["env"])
    except OSError as error:
        _say({"errno": error.errno})
        return
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # its output ends when it does, not when we do
    _say({"begun": True})
    while command.poll() is None:
        if sys.stdin in select.select([sys.stdin, woken], [], [])[0]:
            _end(command, woken)
        woken.recv(1024)
    _say({"code": command.returncode})
    if sys.stdin.buffer.read(1) != b".":
        _end(command, woken)


def _be_told(number: int, frame: object) -> None:
    """The wake-up is all that is wanted."""


def _say(what: dict[str, object]) -> None:
    try:
        os.write(sys.stderr.fileno(), json.dumps(what).encode() + b"\n")
    except OSError:  # nobody is there to be told; the lifeline says the same
        return


def _end(command: subprocess.Popen[bytes], woken: socket.socket) -> None:
    """Ask the group to end, then end it, ourselves included."""
    os.killpg(0, signal.SIGTERM)
    while command.poll() is None and select.select([woken], [], [], GRACE_S)[0]:
        woken.recv(1024)
    os.killpg(0, signal.SIGKILL)


if __name__ == "__main__":
    main()
