"""``failover check``: checks if every pair could be moved now."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.help import BEFORE
from orchestrator.cli.option_groups import together
from orchestrator.cli.options import AsJson, Filter, Readings
from orchestrator.errors import DefinitionError


def register(app: typer.Typer) -> None:
    """Add this command to ``app``."""
    app.command("check", rich_help_panel=BEFORE)(check)


@together(which=Filter)
def check(
    context: typer.Context,
    which: Filter,
    last: Annotated[
        bool,
        typer.Option("--last", help="Connect to no device: show what the last check found, and how old that is."),
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
    """Check whether every pair is ready to move now.

    Roles, bridges, queues, mates, accounts, versions, fence plans, clocks. It changes nothing. The result is
    stored with its time; the plan of a move says how old the last good check is. A check that could not be made is
    unknown, never ok. The last line is the verdict. Exit code 4 if anything beyond a note was found.

    With --explain it shows for each reading whether its answers were understood, and writes a file with every exchange.
    Names in it are replaced by pseudonyms. Read it before you send it to others.

    \b
    Examples:
      failover check
      failover check Trading_VPN
      failover check --pair trading --inventory sites.yaml --json
      failover check --readings readings
      failover check --explain first-contact.json
      failover check --last
    """
    from orchestrator.cli.pairs.connecting import say_connecting
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.selection import narrowed

    tools = tools_of(context)
    inventory = narrowed(tools.inventory(which.inventory), which.services)
    if last and readings is not None:
        raise DefinitionError(
            "--last connects to no device, so there are no readings to keep", hint="leave one of them out"
        )
    if last and explain is not None:
        raise DefinitionError(
            "--last connects to no device, so there is nothing to explain", hint="leave one of them out"
        )
    if not last and not as_json:
        say_connecting(tools, inventory, which.pair)
    from orchestrator.cli.pairs.check import run_check, show_last  # takes longer to load than all imports above

    if last:
        raise typer.Exit(show_last(tools, inventory, which.pair, as_json=as_json))
    raise typer.Exit(run_check(tools, inventory, which.pair, readings, explain=explain, as_json=as_json))
