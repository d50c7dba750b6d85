"""The command log of one node: every line it received, in order, with its user and mode.

Tests use it as proof ("a dry-run sent no changes"). So it records every line before the line is
obeyed. The log must not decide anything.
"""

from __future__ import annotations

import json
import os
import threading
from collections import deque
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from orchestrator.clock import Clock, iso

Kind = Literal["show", "mode", "change", "answer", "invalid", "empty"]
_APPENDING = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
RECORDS_KEPT = 200_000  # a limit, because a lab may run for days (the optional file keeps all records)


@dataclass(frozen=True, slots=True)
class CommandRecord:
    """One line. ``moment`` is seconds since the epoch. ``mode`` is ``exec``, ``enabled`` or ``configure/…``.

    ``kind`` is the CLI's classification: ``show`` reads, ``mode`` changes the mode or settings of the session, ``change``
    changes the node, ``answer`` answers a question, ``invalid`` is not a command, ``empty`` is an empty line.
    """

    moment: float
    user: str
    origin: str
    session: int
    mode: str
    kind: Kind
    line: str


class CommandLog:
    """The log of one node, shared by all its sessions. Safe between threads."""

    def __init__(self, clock: Clock, *, file: Path | None = None) -> None:
        self._clock = clock
        self._file = file
        self._guard = threading.Lock()
        self._records: deque[CommandRecord] = deque(maxlen=RECORDS_KEPT)
        self._sessions = 0

    def new_session(self) -> int:
        """The number of a new session, from 1."""
        with self._guard:
            self._sessions += 1
            return self._sessions

    def record(self, *, user: str, origin: str, session: int, mode: str, kind: Kind, line: str) -> None:
        """Record a line that arrived now."""
        with self._guard:
            record = CommandRecord(self._clock.now(), user, origin, session, mode, kind, line)
            self._records.append(record)
            if self._file is not None:
                with os.fdopen(os.open(self._file, _APPENDING, 0o600), "a", encoding="utf-8") as file:
                    file.write(json.dumps({"time": iso(record.moment), **asdict(record)}) + "\n")

    @property
    def sessions(self) -> int:
        """The number of sessions so far."""
        with self._guard:
            return self._sessions

    @property
    def records(self) -> tuple[CommandRecord, ...]:
        """All records still kept, oldest first."""
        with self._guard:
            return tuple(self._records)

    @property
    def lines(self) -> tuple[str, ...]:
        """The received lines, oldest first."""
        return tuple(record.line for record in self.records)

    @property
    def changes(self) -> tuple[str, ...]:
        """The received lines with changes of the node, obeyed or refused, oldest first."""
        return tuple(record.line for record in self.records if record.kind == "change")
