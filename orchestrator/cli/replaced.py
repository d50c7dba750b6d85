"""Detects that the program was replaced on disk while it ran.

A module is loaded when it is first used. After an update during a command that waits for an answer, a newly loaded module
may not fit the loaded modules. This is no bug of either version, so the command ends with an instruction.
"""

from __future__ import annotations

import sys
from pathlib import Path

from orchestrator.errors import ProgramReplaced


def replacement(error: BaseException, since: float) -> ProgramReplaced | None:
    """The error to report in place of ``error`` if the file of a loaded module changed after ``since``, else None."""
    files = {file for module in list(sys.modules.values()) if (file := getattr(module, "__file__", None))}
    if not any(_changed(Path(file), since) for file in files):
        return None
    return ProgramReplaced(
        f"failover was updated while this command ran, and cannot continue: {type(error).__name__}: {error}",
        hint="`failover resume` continues a run that was started; if no run was started, type the command again",
    )


def _changed(path: Path, since: float) -> bool:
    """Did the file change after ``since``? The time of its directory entry decides, because no installer sets this time
    back. A missing file was replaced too."""
    try:
        return path.stat().st_ctime > since
    except FileNotFoundError:
        return True
    except OSError:  # the file is in an archive, or in a folder without access
        return False
