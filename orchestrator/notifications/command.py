"""Runs the command of a hook: an argument list with the event on its standard input, and nothing else of ours.

The command gets a process group of its own, which is killed whole when its time is over. One that cannot be killed (it
changed its account, or hangs in the kernel) is left to itself. Must never go through a shell, hand on the environment
(which may hold secrets), keep more of its output than a failure needs, or wait for anything without a bound.
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

# The same wherever the program is started from; as for the commands of the adapter ``local``.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# How often a command is checked that says nothing, seconds.
_LOOK_EVERY = 0.05
_PIECE = 65_536
# What is kept of the output, bytes; and what of it is shown, characters. The first is much more than the second, so
# that no half of a secret, which no one would recognize, is left where the output was cut off.
_KEPT = 16_384
_SHOWN = 300

# Time for a killed process to end, seconds.
_GONE_WITHIN = 1.0
# The cause of a failure: what was killed is still there.
LEFT = "not ended"

Scrub = Callable[[str], str]
Kill = Callable[[subprocess.Popen[bytes]], None]


def kill(process: subprocess.Popen[bytes]) -> None:
    """End it with all its children, unless it has ended by itself. Its number is not given away before we waited."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


class CommandSender:
    """Tells a command of events. ``is_halted`` says when no one can wait for it any more; ``end`` kills it.

    One that could not be killed is told of nothing more while it is there: each attempt would leave another one.
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
        """Run it once. Raises ``HookFailed`` unless it ends in time with exit code 0."""
        if self._left is not None and self._left.poll() is None:
            raise HookFailed(f"process {self._left.pid} of an earlier attempt does not end", cause=LEFT)
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
            why = error.strerror if isinstance(error, OSError) and error.strerror else "it is no argument list"
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
        """End it; is it gone a moment later?"""
        self._end(process)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GONE_WITHIN)
        return process.returncode is not None

    def _converse(self, process: subprocess.Popen[bytes], text: bytes) -> bytes:
        """Feed it ``text`` and read what it says until it ends. Returns the end of its output."""
        assert process.stdin is not None and process.stdout is not None  # both are pipes
        deadline = self._clock.now() + self._timeout_s
        output = b""
        with selectors.DefaultSelector() as selector:
            for pipe, event in ((process.stdin, selectors.EVENT_WRITE), (process.stdout, selectors.EVENT_READ)):
                os.set_blocking(pipe.fileno(), False)
                selector.register(pipe, event)
            # Not until its output is at an end: a child it left behind may hold that open for ever.
            while process.poll() is None:
                if self._clock.now() >= deadline:
                    raise HookFailed(f"no end within {self._timeout_s:g}s{self._quote(output)}", cause="time-out")
                if self._is_halted():
                    raise HookFailed("cut off, since the program that runs it is ending", cause="cut off")
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
        """The end of what it said, on one line and without secrets."""
        text = " ".join(self._scrub(output.decode("utf-8", "replace")).split())
        if not text:
            return ""
        return f": {text if len(text) <= _SHOWN else '…' + text[-_SHOWN:]}"


def _feed(selector: selectors.BaseSelector, pipe: IO[bytes], text: bytes) -> bytes:
    """Write what fits; the rest. A command that does not read what it is given is within its rights."""
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
    """What can be read now; nothing at its end, or while there is nothing."""
    try:
        piece = os.read(pipe.fileno(), _PIECE)
    except OSError:
        return b""
    if not piece and selector is not None:
        selector.unregister(pipe)
    return piece
