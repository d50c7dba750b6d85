"""``failover repair``: the command for a pair with two standby, or two active, sites."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator.cli.help import AFTER, DECIDE, GroupedCommand
from orchestrator.cli.option_groups import together
from orchestrator.cli.options import Selection, site_option
from orchestrator.cli.run_options import Beginning

_REPAIR = """\
Make only one site active if both sites are active, or if no site is.

It reads both roles, and shows how many messages each site holds for its mate. You choose the site to be active. If no
site is active, the chosen site is activated when the replication queue of the other site is empty. If both sites are
active, the other site becomes standby and keeps what is in its replication queue; an operator must accept that by name.

\b
Examples:
  failover repair Trading_VPN --site ny --dry-run
  failover repair Trading_VPN --site ny
  failover repair --all --site nj --yes --json
  failover repair Trading_VPN --site nj --yes --accept-loss "resent by the publishers, J. Doe, 03:12"
"""
To = Annotated[str, site_option("The site that must be active after the repair.", "--to")]
AcceptLoss = Annotated[
    str | None,
    typer.Option(
        "--accept-loss",
        metavar="TEXT",
        help="Who accepts that messages stay only at the other site, and why (recorded).",
        rich_help_panel=DECIDE,
    ),
]


def register(app: typer.Typer) -> None:
    """Add this command to ``app``."""
    app.command("repair", help=_REPAIR, cls=GroupedCommand, rich_help_panel=AFTER)(repair)


@together(which=Selection, begin=Beginning)
def repair(
    context: typer.Context,
    which: Selection,
    site: To,
    accept_loss: AcceptLoss = None,
    *,
    begin: Beginning,
) -> None:
    from orchestrator.cli.pairs.connecting import say_connecting_to_move
    from orchestrator.cli.tools import tools as tools_of

    tools = tools_of(context)
    say_connecting_to_move(tools, which, begin, site)
    from orchestrator.cli.runs.start import start  # takes longer to load than all imports above
    from orchestrator.operations.runs.plan_repair import RepairRequest, repair_plan

    request = RepairRequest(
        which.inventory, which.services, which.everything, which.pair, site, accept_loss, begin.fail_fast
    )
    raise typer.Exit(start(tools, repair_plan(tools, request), "repair", begin))
