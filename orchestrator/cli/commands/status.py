"""``failover status``: the pairs as they are, read from both ends."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator.cli.commands.watch import Interval, seconds_of
from orchestrator.cli.options import AsJson, InventoryFile, PairName


def register(app: typer.Typer) -> None:
    """Add this command to ``app``."""
    app.command("status")(status)


def status(
    context: typer.Context,
    inventory: InventoryFile = None,
    pair: PairName = None,
    again: Annotated[bool, typer.Option("--watch", help="Again and again, until Ctrl-C.")] = False,
    interval: Interval = "2s",
    as_json: AsJson = False,
) -> None:
    """Show every service of every pair, read now from both ends.

    Roles, bridge, replication queue, prepared transactions; of AMPS transports, links, lag. Exit code 4 when one is
    not as it should be, or could not be read; with --watch, at the last look.

    \b
    Examples:
      failover status
      failover status --watch --interval 5s
      failover status --inventory lab.yaml --json
    """
    from orchestrator.cli.pairs.status import show_survey
    from orchestrator.cli.tools import tools as tools_of

    tools = tools_of(context)
    every_s = seconds_of("--interval", interval) if again else None
    raise typer.Exit(show_survey(tools, tools.inventory(inventory), pair, as_json=as_json, every_s=every_s))
