"""Commands in channels of one session."""

from __future__ import annotations

import threading
from typing import cast

import pytest
from paramiko import Channel, SSHException, Transport

from adapters.ssh.commands import RemoteCommands
from orchestrator.clock import SystemClock
from orchestrator.errors import CommandTimedOut, ConnectionLost


class _Broken:
    """A session that is lost when its channel closes. ``code``: the exit code that arrived before; -1: none arrived."""

    def __init__(self, code: int) -> None:
        self._code, self._pieces = code, [b"done", b""]
        self.status_event = threading.Event()
        self.status_event.set()

    def transport(self) -> Transport:
        return cast("Transport", self)

    def open_session(self, timeout: float) -> Channel:
        return cast("Channel", self)

    def is_active(self) -> bool:
        return True

    def set_combine_stderr(self, combine: bool) -> None:
        """The streams are one."""

    def settimeout(self, timeout_s: float) -> None:
        """It answers at once."""

    def exec_command(self, command: str) -> None:
        """It has run."""

    def recv(self, size: int) -> bytes:
        return self._pieces.pop(0)

    def recv_exit_status(self) -> int:
        return self._code

    def close(self) -> None:
        raise EOFError  # paramiko cannot send the end of the channel any more


def test_a_session_that_is_lost_at_the_end_of_a_command() -> None:
    """Law: an error at the end of a channel hides neither the answer of the command nor the error that came first."""
    assert RemoteCommands(_Broken(0), "ny1", SystemClock()).run(["echo", "done"], 1.0) == (0, "done")
    with pytest.raises(ConnectionLost, match="ended without an exit code"):
        RemoteCommands(_Broken(-1), "ny1", SystemClock()).run(["echo", "done"], 1.0)


class _Frozen(_Broken):
    """A session whose device is acknowledged by its system, but never answers."""

    def __init__(self) -> None:
        super().__init__(0)
        self.over = threading.Event()

    def exec_command(self, command: str) -> None:
        self.over.wait(30)
        raise SSHException("Channel closed.")

    def close(self) -> None:
        self.over.set()


@pytest.mark.realtime
def test_a_device_that_is_frozen() -> None:
    """Law: the start of a command has the time limit of the command."""
    frozen = _Frozen()
    with pytest.raises(CommandTimedOut, match=r"within 0\.1 s"):
        RemoteCommands(frozen, "ny1", SystemClock()).run(["echo", "done"], 0.1)
    assert frozen.over.is_set()
