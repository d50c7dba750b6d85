"""``failover status``: the present state of the pairs, read from both sites."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator.cli.commands.watch import Interval, seconds_of
from orchestrator.cli.help import DAILY
from orchestrator.cli.option_groups import together
from orchestrator.cli.options import AsJson, Filter, OutputForm
from orchestrator.cli.render.forms import Form, form_of


def register(app: typer.Typer) -> None:
    """Add this command to ``app``."""
    app.command("status", rich_help_panel=DAILY)(status)


@together(which=Filter)
def status(
    context: typer.Context,
    which: Filter,
    again: Annotated[bool, typer.Option("--watch", help="Refresh continuously, until Ctrl-C.")] = False,
    interval: Interval = "2s",
    output: OutputForm = Form.TEXT,
    as_json: AsJson = False,
) -> None:
    """Show every service of every pair, read now from both ends.

    It shows roles, bridge, replication queue and prepared transactions; for AMPS it shows transports, links and lag.
    Exit code 4 if a service is not as it should be, or could not be read. With --watch, the last reading counts.

    \b
    Examples:
      failover status
      failover status Trading_VPN Risk_VPN
      failover status --watch --interval 5s
      failover status --inventory lab.yaml --json
    """
    from orchestrator.cli.pairs.connecting import say_connecting
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.selection import narrowed

    tools = tools_of(context)
    inventory = narrowed(tools.inventory(which.inventory), which.services)
    every_s = seconds_of("--interval", interval) if again else None
    form = form_of(output, as_json=as_json)
    if form in (Form.TEXT, Form.WIDE):
        say_connecting(tools, inventory, which.pair)
    from orchestrator.cli.pairs.status import show_survey  # takes longer to load than all imports above

    raise typer.Exit(show_survey(tools, inventory, which.pair, form=form, every_s=every_s))
