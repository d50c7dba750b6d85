"""``failover status``: the pairs as they are, read from both ends."""

from __future__ import annotations

import typer

from orchestrator.cli.options import AsJson, InventoryFile, PairName


def register(app: typer.Typer) -> None:
    """Add this command to ``app``."""
    app.command("status")(status)


def status(
    context: typer.Context, inventory: InventoryFile = None, pair: PairName = None, as_json: AsJson = False
) -> None:
    """Show every service of every pair: roles, bridge, replication queue, prepared transactions.

    Exit code 4 when one is not as it should be, or could not be read.

    \b
    Examples:
      failover status
      failover status --inventory lab.yaml --json
    """
    from orchestrator.cli.survey import show_survey
    from orchestrator.cli.wiring import tools as tools_of

    tools = tools_of(context)
    raise typer.Exit(show_survey(tools, tools.inventory(inventory), pair, as_json=as_json))
