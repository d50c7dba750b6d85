"""``failover guard``: keeps a failed site from coming back as a second active one."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator.cli.commands.watch import Interval, seconds_of
from orchestrator.cli.options import All, InventoryFile, LinesAsJson, PairName, Services, Yes


def register(app: typer.Typer) -> None:
    """Add this command to ``app``."""
    app.command("guard")(guard)


def guard(
    context: typer.Context,
    site: Annotated[str, typer.Option("--site", metavar="SITE", help="The failed site.")],
    services: Services = None,
    everything: All = False,
    pair: PairName = None,
    inventory: InventoryFile = None,
    interval: Interval = "2s",
    yes: Yes = False,
    reason: Annotated[
        str, typer.Option("--reason", metavar="TEXT", help="Why; recorded with what it does.")
    ] = "the failed site is guarded",
    as_json: LinesAsJson = False,
) -> None:
    """Wait for a failed site, and make it safe once it answers.

    The moment it answers, its doors are shut and it is made standby, without asking again. Asks once, at the start,
    unless --yes is given. What it does is a recorded run, and only while the other site says that it is active. Ends
    when the site is standby and fenced, or restored, or with Ctrl-C. Of AMPS, the client transports of the
    instance are disabled whenever they are enabled, until it is restored. Default: every service of the pair.

    \b
    Examples:
      failover guard --site ny
      failover guard --site ny --yes --reason "power is out; back at some time in the night"
    """
    from orchestrator.cli.pairs.guard import guard_site
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.guard.request import GuardRequest
    from orchestrator.operations.runtime import checked_text

    request = GuardRequest(
        site=site,
        services=() if everything else tuple(services or ()),
        pair=pair,
        inventory=inventory,
        interval_s=seconds_of("--interval", interval),
        reason=checked_text(reason, "--reason"),
    )
    raise typer.Exit(guard_site(tools_of(context), request, yes=yes, as_json=as_json))
