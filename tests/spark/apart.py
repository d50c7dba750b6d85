"""What one test needs each, in an environment of its own: nothing else may come to need it (requirements/apart.txt)."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import pytest

from tests.spark.processes import PATIENCE_S, ROOT, begun
from tests.ssh.sshd import until

APART = Path(sys.prefix) / "apart"


def environment() -> dict[str, str]:
    """For a process that finds it. A test without it is skipped."""
    if not APART.is_dir():
        pytest.skip("requirements/apart.txt is not installed: make .venv/.has-dev")
    return {"PYTHONPATH": f"{ROOT}:{APART}"}


def free_port() -> int:
    """A port of loopback that nobody has now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(command: Sequence[str], port: int, more: Mapping[str, str], log: IO[str]) -> Iterator[None]:
    """A server of this machine, from the moment at which it answers at ``port``. What it says goes to ``log``."""

    def answers() -> bool:
        assert process.poll() is None, "the server ended"
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    with begun(command, {**environment(), **more}, log) as process:
        until(answers, PATIENCE_S)
        yield
