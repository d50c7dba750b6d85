"""What a command takes from its context when it needs neither journal nor sites.

The other tools come from ``orchestrator.cli.tools``, which loads the models of runs, sites and readings. For a command
that reads only files that would take longer than its work. This file must never import that module at run time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.cli.render.terminal import redact_with
from orchestrator.clock import Clock, SystemClock

if TYPE_CHECKING:
    import typer

    from orchestrator.operations.runtime import Tools

# In the context of a command: who receives a copy of what is sent to devices.
WIRE = "orchestrator.wire"


def clock_of(context: typer.Context) -> Clock:
    """The clock of the tools that the caller of the command line gives, or that of this machine."""
    tools: Tools | None = context.obj
    if tools is None:
        return SystemClock()
    redact_with(tools.secrets.redactor)
    return tools.clock
