"""Was the program replaced on disk while it ran?

A module is loaded when it is first used. After an update under a command that waits for an answer, it may not fit those
that run. That is no bug of either version, and the command ends with what to do.
"""

from __future__ import annotations

import sys
from pathlib import Path

from orchestrator.errors import ProgramReplaced


def replacement(error: BaseException, since: float) -> ProgramReplaced | None:
    """What to say in place of ``error`` where the file of a loaded module changed after ``since``; else None."""
    files = {file for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None))}
    if not any(_changed(Path(file), since) for file in files):
        return None
    return ProgramReplaced(
        f"failover was updated while this command ran, and cannot continue: {type(error).__name__}: {error}",
        hint="`failover resume` continues a run that was started; if none was, type the command again",
    )


def _changed(path: Path, since: float) -> bool:
    """By the time of the file's entry, which no installer sets back. A file that is gone was replaced too."""
    try:
        return path.stat().st_ctime > since
    except FileNotFoundError:
        return True
    except OSError:  # it cannot be read: it is in an archive, or in a closed folder
        return False
