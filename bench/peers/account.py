"""The ordinary account that servers run as, its folders, and programs that are ended by their process id."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from bench.peers.contest import Unavailable

_LONGEST_S = 60.0


def account() -> str:
    """The account's name: for root it is ``postgres``, because PostgreSQL refuses root. Raises ``Unavailable``."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid()).pw_name
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError as error:
        raise Unavailable("run as an ordinary account, or install postgresql, which brings one") from error


@contextmanager
def folder_on_disk(prefix: str, *, of_account: bool = False) -> Iterator[Path]:
    """A folder on a disk, not in memory, so that the measured time includes fsync."""
    folder = Path(tempfile.mkdtemp(prefix=f"failover-peers-{prefix}-", dir="/var/tmp"))
    if of_account:
        shutil.chown(folder, account())
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def free_port() -> int:
    """A port of the loopback interface on which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def call(words: Sequence[str], folder: Path, env: dict[str, str], *, as_account: bool = True) -> str:
    """Run a program until it ends, and return its output. An exit code other than 0 is a wrong answer."""
    user = account() if as_account and os.geteuid() == 0 else None
    with tempfile.TemporaryFile() as output:  # not a pipe: a server that the program starts keeps its output open
        done = subprocess.run(
            list(words), cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            user=user, check=False,
        )  # fmt: skip
        output.seek(0)
        said = output.read().decode("utf-8", "replace")
    assert done.returncode == 0, f"{words[0]} {words[-1]}: exit code {done.returncode}: {said[-600:]}"
    return said


@contextmanager
def server(
    words: Sequence[str], folder: Path, env: dict[str, str], log: str, *, as_account: bool = True
) -> Iterator[subprocess.Popen[bytes]]:
    """A server of the account, or of the current user, which ends with the block."""
    user = account() if as_account and os.geteuid() == 0 else None
    with (folder / log).open("ab") as output:
        process = subprocess.Popen(
            list(words), cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            user=user, start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(happened: Callable[[], bool], what: str) -> None:
    """Wait until ``happened`` is true. If it does not become true in time, that is a wrong answer."""
    end = time.monotonic() + _LONGEST_S
    while not happened():
        assert time.monotonic() < end, f"it never happened: {what}"
        time.sleep(0.02)


def answers(port: int) -> bool:
    """Does something listen on the port?"""
    try:
        socket.create_connection(("127.0.0.1", port), 0.5).close()
    except OSError:
        return False
    return True
