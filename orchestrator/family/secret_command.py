"""Gets a secret from a command, such as a password manager: an argument list, no shell, and a limit on time and size.

The command prints the secret, so its output must never be shown, not even after a failure. The command has the
environment of this process (a password manager needs it) and no terminal, so it cannot ask a question.
"""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from orchestrator.errors import DefinitionError
from orchestrator.interpreter import SAFE_PATH

TIMEOUT_S = 30.0


def output_of(
    command: Sequence[str], what: str, *, environment: Mapping[str, str], bytes_max: int, timeout_s: float
) -> bytes:
    """The output of the command, at most ``bytes_max`` + 1 bytes. ``what`` names the secret.

    Raises ``DefinitionError`` unless the command ends with exit code 0 within ``timeout_s`` seconds.
    """
    hint = f"run the command yourself: {shlex.join(command)}"
    if "/" in command[0] and not Path(command[0]).is_absolute():
        raise DefinitionError(
            f"the command of the {what} is a relative path", hint="give the whole path, or a name that is in PATH"
        )
    try:
        process = subprocess.Popen(
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environment, **SAFE_PATH},
            cwd="/",
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else "the argument list is not valid"
        raise DefinitionError(f"the command of the {what} cannot be started: {why}", hint=hint) from None
    is_late = threading.Event()

    def end_late() -> None:
        is_late.set()
        _kill(process)

    timer = threading.Timer(timeout_s, end_late)
    timer.start()
    try:
        assert process.stdout is not None  # it is a pipe
        with process.stdout as stream:
            printed = stream.read(bytes_max + 1)
        if len(printed) > bytes_max:
            _kill(process)
            return printed
        code = process.wait()
    finally:
        timer.cancel()
        _kill(process)
        process.wait()
    if is_late.is_set():
        raise DefinitionError(f"the command of the {what} did not end within {timeout_s:g} s", hint=hint)
    if code:
        how = f"ended with exit code {code}" if code > 0 else f"was ended by {signal.Signals(-code).name}"
        raise DefinitionError(f"the command of the {what} {how}; its output is not shown", hint=hint)
    return printed


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill the process with all its children, unless it has ended."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
