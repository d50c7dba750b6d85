"""``-v``, ``-vv`` and ``--log-file``: the requests to devices and their answers, without secrets.

``-v`` shows a line for each exchange, and ``-vv`` also the answers. The file always has both. These options may be
anywhere on the command line.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from orchestrator.cli.render.terminal import presentable, redacted, say
from orchestrator.clock import iso
from orchestrator.errors import DefinitionError

if TYPE_CHECKING:
    from orchestrator.model.exchanges import Exchange

_NEW = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
_FLAGS = ("-v", "-vv", "--verbose")
_FILE = "--log-file"


def in_front(arguments: Sequence[str]) -> list[str]:
    """The command line, with these options moved before the command."""
    front: list[str] = []
    kept: list[str] = []
    rest = iter(arguments)
    for word in rest:
        if word == "--":
            return [*front, *kept, word, *rest]
        if word in _FLAGS or word.startswith(f"{_FILE}="):
            front.append(word)
        elif word == _FILE:
            front += [word, *([value] if (value := next(rest, None)) is not None else [])]
        else:
            kept.append(word)
    return [*front, *kept]


class WireLog:
    """Logs every exchange, from any thread. ``level`` 1 shows a line for each exchange, 2 also the answers. The file at
    ``path`` gets both."""

    def __init__(self, level: int, path: Path | None) -> None:
        self._level = level
        self._file = None if path is None else _opened(path)
        self._lock = threading.Lock()
        self._is_silent = True

    def heard(self, exchange: Exchange) -> None:
        """Log one exchange. A file that can no longer be written to is reported once."""
        lines = [_headline(exchange), *(f"    {line}" for line in redacted(exchange.answer).splitlines())]
        with self._lock:
            self._is_silent = False
            for line in lines[: 1 if self._level == 1 else None] if self._level else ():
                say(line)
            self._write(lines, exchange.answered_at)

    def close(self) -> None:
        """End the log. If nothing was written to the file, say why."""
        if self._file is not None and self._is_silent:
            say("the log file is empty, because failover connected to no device (a simulated pair has no devices)")
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, lines: Sequence[str], at: float) -> None:
        if self._file is None:
            return
        moment = iso(at)
        try:
            self._file.writelines(f"{moment} {presentable(line)}\n" for line in lines)
            self._file.flush()
        except OSError as error:
            self._file = None
            say(f"the log file can no longer be written: {error.strerror}")


def _opened(path: Path) -> TextIO:
    try:
        return os.fdopen(os.open(path, _NEW, 0o600), "a", encoding="utf-8")
    except OSError as error:
        hint = "name a file in a folder that you can write to"
        raise DefinitionError(f"the log file {path} cannot be written: {error.strerror}", hint=hint) from error


def _headline(exchange: Exchange) -> str:
    """The line of an exchange, such as ``NY_Appliance1> show version: 12 lines, 34 ms``."""
    took = f"{max(0.0, exchange.answered_at - exchange.asked_at) * 1000:.0f} ms"
    sent = redacted(exchange.sent).strip().replace("\n", " ") or "(connect)"
    where = exchange.prompt.strip() or f"{exchange.device}>"
    if exchange.failed:
        return f"{where} {sent}: {exchange.failed}: {exchange.why} ({took})"
    status = "" if exchange.status is None else f"{exchange.status}, "
    many = len(exchange.answer.splitlines())
    return f"{where} {sent}: {status}{many} {'line' if many == 1 else 'lines'} ({took})"
