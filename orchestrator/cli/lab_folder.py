"""What every lab of the command line needs: its folder, a copy of its inventory, and to serve until it is told to end."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

from orchestrator.errors import DefinitionError


def usable_folder(directory: Path) -> None:
    """Make the lab's folder, if it is not there. Raises ``DefinitionError``."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DefinitionError(f"{directory} cannot be used: {error.strerror}") from error


def write_copy(written: Path, wanted: Path) -> None:
    """The same file once more, where the person wants it. Raises ``DefinitionError``."""
    from adapters.mock.lab.inventory import write_private

    if wanted.resolve() == written.resolve():
        return
    try:
        write_private(wanted, written.read_text(encoding="utf-8"))
    except OSError as error:
        raise DefinitionError(f"{wanted} cannot be written: {error.strerror}") from error


def wait_for_signal() -> None:
    """Until Ctrl-C, or until the process is told to end."""
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    stop.wait()
