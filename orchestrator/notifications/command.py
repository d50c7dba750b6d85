"""Runs the command of a hook as an argument list, with the event on its standard input.

The command gets its own process group. The whole group is killed at the time limit. A command that cannot be killed (it
changed its account, or hangs in the kernel) is left running. This module must never use a shell, pass on the environment
(which may hold secrets), keep more of the output than a failure needs, or wait without a limit.
"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import IO

from orchestrator.clock import Clock
from orchestrator.errors import HookFailed
from orchestrator.notifications.message import Message

# A fixed path, independent of the environment. The adapter ``local`` uses the same one for its commands.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Seconds between checks of a command that writes no output.
_LOOK_EVERY = 0.05
_PIECE = 65_536
# The kept part of the output in bytes, and the shown part in characters. A cut can leave half of a secret, which the
# scrubber does not recognize. So much more is kept than shown, and the shown part does not contain the cut.
_KEPT = 16_384
_SHOWN = 300

# Seconds for a killed process to end.
_GONE_WITHIN = 1.0
# The cause of a failure: the killed process still exists.
LEFT = "not ended"

Scrub = Callable[[str], str]
Kill = Callable[[subprocess.Popen[bytes]], None]


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and all its children, unless it has ended by itself. The system does not reuse its process id
    before this program has waited for it."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


class CommandSender:
    """Passes events to a command. If ``is_halted`` returns True, the sender stops waiting. ``end`` kills the process.

    While a process could not be killed and still exists, no command is started, because each attempt could leave another
    process.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        timeout_s: float,
        clock: Clock,
        scrub: Scrub,
        environment: Mapping[str, str],
        is_halted: Callable[[], bool],
        end: Kill = kill,
    ) -> None:
        self._arguments = list(arguments)
        self._timeout_s = timeout_s
        self._clock = clock
        self._scrub = scrub
        self._environment = {"PATH": PATH, "HOME": environment.get("HOME", "/"), "LANG": "C.UTF-8"}
        self._is_halted = is_halted
        self._end = end
        self._left: subprocess.Popen[bytes] | None = None

    def __call__(self, message: Message) -> None:
        """Run the command once. Raises ``HookFailed`` unless it ends in time with exit code 0."""
        if self._left is not None and self._left.poll() is None:
            raise HookFailed(f"process {self._left.pid} of an earlier attempt has not ended", cause=LEFT)
        about = {
            "FAILOVER_EVENT_ID": message.id,
            "FAILOVER_EVENT": message.kind,
            "FAILOVER_RUN": message.run,
            "FAILOVER_SIMULATED": str(bool(message.data["simulated"])).lower(),
        }
        try:
            process = subprocess.Popen(
                self._arguments,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env=self._environment | about,
                cwd="/",
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            why = (
                error.strerror if isinstance(error, OSError) and error.strerror else "the argument list is not valid"
            )
            raise HookFailed(f"the command cannot be started: {why}", cause="not started") from error
        self._left = process
        try:
            output = self._converse(process, message.line())
            self._judge(process.wait(), output)
        except HookFailed as failure:
            if self._is_gone(process):
                raise
            raise HookFailed(f"{failure}; process {process.pid} cannot be ended", cause=LEFT) from failure
        finally:
            self._end(process)
            for pipe in (process.stdin, process.stdout):
                if pipe is not None:
                    pipe.close()

    def _is_gone(self, process: subprocess.Popen[bytes]) -> bool:
        """Kill the process. Returns whether it ended within ``_GONE_WITHIN`` seconds."""
        self._end(process)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GONE_WITHIN)
        return process.returncode is not None

    def _converse(self, process: subprocess.Popen[bytes], text: bytes) -> bytes:
        """Write ``text`` to the process and read its output until it ends. Returns the last part of its output."""
        assert process.stdin is not None and process.stdout is not None  # both are pipes
        deadline = self._clock.now() + self._timeout_s
        output = b""
        with selectors.DefaultSelector() as selector:
            for pipe, event in ((process.stdin, selectors.EVENT_WRITE), (process.stdout, selectors.EVENT_READ)):
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, event)
            # Do not wait for the end of the output, because a remaining child process may hold the pipe open for ever.
            while process.poll() is None:
                if self._clock.now() >= deadline:
                    raise HookFailed(
                        f"the command did not end within {self._timeout_s:g}s{self._quote(output)}", cause="time-out"
                    )
                if self._is_halted():
                    raise HookFailed(
                        "the command was cut off, because the program that runs it is ending", cause="cut off"
                    )
                for key, _ in selector.select(_LOOK_EVERY):
                    if key.fileobj is process.stdin:
                        text = _feed(selector, process.stdin, text)
                    else:
                        output = (output + _read(selector, process.stdout))[-_KEPT:]
        while piece := _read(None, process.stdout):
            output = (output + piece)[-_KEPT:]
            if self._clock.now() >= deadline:
                break
        return output

    def _judge(self, code: int, output: bytes) -> None:
        if code > 0:
            raise HookFailed(f"exit code {code}{self._quote(output)}", cause=f"exit code {code}")
        if code < 0:
            with suppress(ValueError):
                name = signal.Signals(-code).name
                raise HookFailed(f"ended by {name}{self._quote(output)}", cause=name)
            raise HookFailed(f"ended by signal {-code}{self._quote(output)}", cause=f"signal {-code}")

    def _quote(self, output: bytes) -> str:
        """The last part of the output, on one line and without secrets."""
        text = " ".join(self._scrub(output.decode("utf-8", "replace")).split())
        if not text:
            return ""
        return f": {text if len(text) <= _SHOWN else '…' + text[-_SHOWN:]}"


def _feed(selector: selectors.BaseSelector, pipe: IO[bytes], text: bytes) -> bytes:
    """Write the part that fits in the pipe and return the rest. A command may ignore its input, so a closed pipe is no
    error."""
    try:
        text = text[os.write(pipe.fileno(), text[:_PIECE]) :]
    except BlockingIOError:
        return text
    except OSError:
        text = b""
    if not text:
        selector.unregister(pipe)
        pipe.close()
    return text


def _read(selector: selectors.BaseSelector | None, pipe: IO[bytes]) -> bytes:
    """The bytes that can be read now. Empty at the end of the output, or if there are none yet."""
    try:
        piece = os.read(pipe.fileno(), _PIECE)
    except OSError:
        return b""
    if not piece and selector is not None:
        selector.unregister(pipe)
    return piece
