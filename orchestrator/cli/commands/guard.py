"""``failover guard``: prevents a failed site from coming back as a second active site."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator.cli.commands.watch import Interval, seconds_of
from orchestrator.cli.help import AFTER
from orchestrator.cli.option_groups import together
from orchestrator.cli.options import LinesAsJson, Selection, Yes, site_option


def register(app: typer.Typer) -> None:
    """Add this command to ``app``."""
    app.command("guard", rich_help_panel=AFTER)(guard)


@together(which=Selection)
def guard(
    context: typer.Context,
    which: Selection,
    site: Annotated[str, site_option("The failed site.")],
    interval: Interval = "2s",
    yes: Yes = False,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why the site is guarded (recorded).")
    ] = "the failed site is guarded",
    as_json: LinesAsJson = False,
) -> None:
    """Fence a failed site as soon as it answers.

    The command also makes the site standby. It asks once, at the start (with --yes it does not ask), and then acts
    without asking. It acts in a recorded run, and only while the other site reports that it is active. It ends when the
    failed site is standby and fenced, when that site was restored, or with Ctrl-C. For AMPS, it disables the client
    transports of the instance whenever they are enabled, until the instance is restored. Default: every service of the
    pair.

    \b
    Examples:
      failover guard --site ny
      failover guard --site ny --yes --reason "power is out; expected back at 04:00"
    """
    from orchestrator.cli.pairs.connecting import say_connecting
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.runtime import checked_text

    interval_s, why, tools = seconds_of("--interval", interval), checked_text(reason, "--reason"), tools_of(context)
    inventory = tools.inventory(which.inventory)
    if not as_json:
        say_connecting(tools, inventory, which.pair)
    from orchestrator.cli.pairs.guard import guard_site  # takes longer to load than all imports above
    from orchestrator.operations.guard.request import GuardRequest

    request = GuardRequest(
        site=site,
        services=() if which.everything else which.services,
        pair=which.pair,
        inventory=which.inventory,
        interval_s=interval_s,
        reason=why,
    )
    raise typer.Exit(guard_site(tools, inventory, request, yes=yes, as_json=as_json))
