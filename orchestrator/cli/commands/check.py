"""``failover check``: could every pair be moved now? Found out before the night on which it has to be."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.options import AsJson, InventoryFile, PairName, Readings
from orchestrator.errors import DefinitionError


def register(app: typer.Typer) -> None:
    """Add this command to ``app``."""
    app.command("check")(check)


def check(
    context: typer.Context,
    inventory: InventoryFile = None,
    pair: PairName = None,
    last: Annotated[
        bool, typer.Option("--last", help="Ask no device: what the last check found, and how old that is.")
    ] = False,
    readings: Readings = None,
    explain: Annotated[
        Path | None,
        typer.Option(
            "--explain", metavar="FILE", help="Also write what was sent, answered and understood, redacted."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Look whether every pair could be moved now.

    Roles, bridges, queues, mates, accounts, versions, fence plans, clocks. Changes nothing. What was found is stored
    with its time; `failover controlled` says how old the last good check is. A check that could not be made is
    unknown, never ok. Exit code 4 when anything beyond a note was found.

    With --explain it shows of each reading whether its answers were understood, and writes a file with every exchange, to
    be sent to others: names are replaced by pseudonyms. Read it before you send it.

    \b
    Examples:
      failover check
      failover check --pair trading --inventory sites.yaml --json
      failover check --readings readings
      failover check --explain first-contact.json
      failover check --last
    """
    from orchestrator.cli.pairs.check import run_check, show_last
    from orchestrator.cli.tools import tools as tools_of

    tools = tools_of(context)
    if last and readings is not None:
        raise DefinitionError("--last asks no device, so there are no readings to keep", hint="leave one of them out")
    if last and explain is not None:
        raise DefinitionError("--last asks no device, so there is nothing to explain", hint="leave one of them out")
    if last:
        raise typer.Exit(show_last(tools, tools.inventory(inventory), pair, as_json=as_json))
    raise typer.Exit(run_check(tools, tools.inventory(inventory), pair, readings, explain=explain, as_json=as_json))
