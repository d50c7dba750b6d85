"""Tools from the context for a command that needs neither journal nor sites.

The other tools come from ``orchestrator.cli.tools``, which loads the models of runs, sites and readings. For a command
that only reads files, this import would take longer than the work. This file must never import that module at run time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from orchestrator.cli.render.terminal import redact_with
from orchestrator.clock import Clock, SystemClock

if TYPE_CHECKING:
    import typer

    from orchestrator.operations.runtime import Tools

# The key in a command's context of the log that receives a copy of the exchanges with devices.
WIRE = "orchestrator.wire"


def clock_of(context: typer.Context) -> Clock:
    """The clock of the caller's tools, or the clock of this machine."""
    tools: Tools | None = context.obj
    if tools is None:
        return SystemClock()
    redact_with(tools.secrets.redactor)
    return tools.clock
