"""Commands on one device, each in a channel of one session that stays open. No shell prompt is read, and none is guessed.

A session that did not answer in time is ended: after a partition it would deliver the late answer of an old command
(docs/sources/ssh.md, 2). The next command gets a new session.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol

from paramiko import Channel, Transport

from adapters.ssh.connect import closing_at
from adapters.ssh.translate import FOREIGN, Stage, translate
from orchestrator.clock import Clock
from orchestrator.errors import CommandTimedOut, ConnectionLost, Unreachable

_BLOCK = 65536
# More of an answer is not kept: a command that prints without an end must not fill the memory.
_ANSWER_BYTES = 4 << 20


class Sessions(Protocol):
    """Makes a session: ``SshConnector``."""

    def transport(self) -> Transport: ...


class RemoteCommands:
    """The commands of one site. ``device`` names it in errors."""

    def __init__(self, sessions: Sessions, device: str, clock: Clock) -> None:
        self._sessions = sessions
        self._device = device
        self._clock = clock
        self._transport: Transport | None = None

    def run(self, words: Sequence[str], timeout_s: float) -> tuple[int, str]:
        """The exit code of a command, and what it printed on both streams. Each word is quoted for the login shell of the
        account, so a word always stays one word.

        Raises ``Unreachable``, ``AuthenticationFailed`` or ``HostKeyRejected`` if the command cannot have started,
        ``ConnectionLost`` or ``CommandTimedOut`` if it may have started.
        """
        transport, channel = self._channel(timeout_s)
        deadline = self._clock.now() + timeout_s  # the log-in has its own time
        try:
            channel.set_combine_stderr(True)
            channel.settimeout(timeout_s)
            # paramiko waits for this answer without a limit; closing the transport ends the wait.
            with closing_at(transport, timeout_s):
                channel.exec_command(shlex.join(words))
            return self._answer(channel, words[0], deadline, timeout_s)
        except FOREIGN as error:
            self.close()
            if isinstance(error, TimeoutError) or self._clock.now() >= deadline:
                raise CommandTimedOut(
                    f"{words[0]} did not end within {timeout_s:g} s", device=self._device
                ) from error
            raise translate(error, stage=Stage.TALK, device=self._device) from error
        finally:
            with suppress(*FOREIGN):  # a session that is lost has ended its channels too
                channel.close()

    def close(self) -> None:
        """End the session; never raises."""
        transport, self._transport = self._transport, None
        if transport is not None:
            try:
                transport.close()
            except FOREIGN:
                return  # already closed, as intended

    def _channel(self, within_s: float) -> tuple[Transport, Channel]:
        """A new channel, with its session. A session that ended unnoticed, or does not answer, is replaced once: nothing
        was sent over the new one."""
        for is_last in (self._transport is None, True):
            if self._transport is None or not self._transport.is_active():
                self._transport = self._sessions.transport()
            try:
                return self._transport, self._transport.open_session(timeout=within_s)
            except FOREIGN as error:
                self.close()
                if is_last:
                    what = f"the session with {self._device} accepts no command: {error}"
                    raise Unreachable(what, device=self._device) from error
        raise AssertionError  # the second round returns or raises

    def _answer(self, channel: Channel, program: str, deadline: float, timeout_s: float) -> tuple[int, str]:
        pieces: list[bytes] = []
        size = 0
        while True:
            channel.settimeout(max(0.001, deadline - self._clock.now()))
            piece = channel.recv(_BLOCK)
            if not piece:
                break
            if size < _ANSWER_BYTES:
                pieces.append(piece)
                size += len(piece)
        if not channel.status_event.wait(max(0.001, deadline - self._clock.now())):
            raise TimeoutError
        code = channel.recv_exit_status()
        if code < 0:
            raise ConnectionLost(f"{program} ended without an exit code", device=self._device)
        return code, b"".join(pieces).decode("utf-8", "replace")
