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
        typer.Option("--last", help="Show the findings of the last check and their age; do not connect to a device."),
    ] = False,
    readings: Readings = None,
    explain: Annotated[
        Path | None,
        typer.Option(
            "--explain",
            metavar="FILE",
            help="Also write each request, its answer and its readings to FILE, redacted.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check whether every pair is ready to move now.

    It checks roles, bridges, queues, mates, accounts, versions, fence plans and clocks. It changes nothing. The result
    is stored with its time; the plan of a move shows how old the last good check is. If a check could not be made, its
    result is unknown, never ok. The last line is the verdict. Exit code 4 if anything beyond a note was found.

    With --explain, it shows for each reading whether the answers were understood, and writes every request and answer
    to a file. Names in this file are replaced by pseudonyms. Read the file before you send it to others.

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
            "--last does not connect to a device, so there are no readings to keep",
            hint="leave out --last or --readings",
        )
    if last and explain is not None:
        raise DefinitionError(
            "--last does not connect to a device, so there is nothing to explain",
            hint="leave out --last or --explain",
        )
    if not last and not as_json:
        say_connecting(tools, inventory, which.pair)
    from orchestrator.cli.pairs.check import run_check, show_last  # takes longer to load than all imports above

    if last:
        raise typer.Exit(show_last(tools, inventory, which.pair, as_json=as_json))
    raise typer.Exit(run_check(tools, inventory, which.pair, readings, explain=explain, as_json=as_json))
