"""``failover repair``: the command for a pair with two standby, or two active, sites."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator.cli.option_groups import together
from orchestrator.cli.options import All, InventoryFile, PairName, Services
from orchestrator.cli.run_options import Beginning

_REPAIR = """\
Both sites are standby, or both are active: leave one active.

It reads both roles, and shows how many messages each site holds for its mate. You choose the site to be active. If no
site is active, that one is activated once the other one's replication queue is empty. If both are active, the other one
becomes standby and keeps what is in its replication queue: an operator accepts that by name.

\b
Examples:
  failover repair --vpn Trading_VPN --to ny --dry-run
  failover repair --vpn Trading_VPN --to ny
  failover repair --all --to nj --yes --json
  failover repair --vpn Trading_VPN --to nj --yes --accept-loss "resent by the desk, J. Doe, 03:12"
"""
To = Annotated[str, typer.Option("--to", metavar="SITE", help="The site that is to be active.")]
AcceptLoss = Annotated[
    str | None,
    typer.Option(
        "--accept-loss",
        metavar="TEXT",
        help="Who accepts, and why, that messages stay at the other site only; recorded.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add this command to ``app``."""
    app.command("repair", help=_REPAIR)(repair)


@together(begin=Beginning)
def repair(
    context: typer.Context,
    to: To,
    services: Services = None,
    everything: All = False,
    pair: PairName = None,
    inventory: InventoryFile = None,
    accept_loss: AcceptLoss = None,
    *,
    begin: Beginning,
) -> None:
    from orchestrator.cli.runs.start import start
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.runs.plan_repair import RepairRequest, repair_plan

    tools = tools_of(context)
    request = RepairRequest(inventory, services or (), everything, pair, to, accept_loss, begin.fail_fast)
    raise typer.Exit(start(tools, repair_plan(tools, request), "repair", begin))
