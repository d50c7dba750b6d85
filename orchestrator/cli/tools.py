"""The tools of a command: the caller's tools, or the tools of this process with its state directory."""

from __future__ import annotations

import getpass
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.cli.context import WIRE
from orchestrator.cli.render.terminal import is_attended, redact_with, say
from orchestrator.clock import SystemClock
from orchestrator.errors import DefinitionError, JournalUnavailable
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.operations.journal_location import is_ours_alone
from orchestrator.operations.runtime import STATE_VARIABLE, Tools

if TYPE_CHECKING:
    import typer


def tools(context: typer.Context) -> Tools:
    """The tools of the command line's caller, or the tools of this process."""
    brought = context.obj if isinstance(context.obj, Tools) else make_tools()
    found = replace(brought, tell=say, witness=context.meta.get(WIRE, brought.witness))
    redact_with(found.secrets.redactor)
    return found


def make_tools() -> Tools:
    """The tools of this process, with a state directory that no other account can write to."""
    ask = (lambda what: getpass.getpass(f"{what}: ")) if is_attended() else None
    return Tools(_state_directory(), SystemClock(), SecretStore(ask), Registry())


def _state_directory() -> Path:
    named = os.environ.get(STATE_VARIABLE)
    if named:
        path = Path(named)
    else:
        from platformdirs import user_state_path

        path = user_state_path("failover")
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        is_ours = is_ours_alone(path)
    except OSError as error:
        raise JournalUnavailable(
            f"the state directory {path} cannot be used: {error.strerror}",
            hint=f"set {STATE_VARIABLE} to another directory",
        ) from error
    if not is_ours:
        raise DefinitionError(
            f"other accounts can write to the state directory {path}, so its record proves nothing",
            hint=f"allow only your account (chmod 700 {path}), and use a folder where other accounts cannot replace it",
        )
    return path
