"""``failover controlled``: the command that moves services in a planned way."""

from __future__ import annotations

import typer

from orchestrator.cli.family_options import given_of, of_kind
from orchestrator.cli.option_groups import together
from orchestrator.cli.options import All, From, InventoryFile, OnStall, PairName, RunbookName, Services
from orchestrator.cli.render.terminal import is_attended
from orchestrator.cli.run_options import Beginning

_CONTROLLED = """\
Move services in a planned way; nothing is lost.

\b
Examples:
  failover controlled --vpn Trading_VPN --dry-run
  failover controlled --vpn Trading_VPN
  failover controlled --all --yes --xa decisions.yaml --on-bridge-loss revert --json
  failover controlled --vpn Trading_VPN --from nj          back again
  failover controlled --service orders -i amps.yaml        an AMPS instance's clients
"""


def register(app: typer.Typer) -> None:
    """Add this command to ``app``."""
    app.command("controlled", help=_CONTROLLED, cls=of_kind("controlled"))(controlled)


@together(begin=Beginning)
def controlled(
    context: typer.Context,
    services: Services = None,
    everything: All = False,
    pair: PairName = None,
    source: From = None,
    inventory: InventoryFile = None,
    on_stall: OnStall = None,
    runbook: RunbookName = None,
    *,
    begin: Beginning,
) -> None:
    from orchestrator.cli.runs.start import start
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.runs.plan_moves import ControlledRequest, controlled_plan

    tools = tools_of(context)
    request = ControlledRequest(
        inventory=inventory,
        services=services or (),
        everything=everything,
        pair=pair,
        given=given_of(context),
        on_stall=on_stall,
        fail_fast=begin.fail_fast,
        is_attended=is_attended() and not begin.as_json,
        is_settled=begin.yes and not begin.dry_run,
        source=source,
        runbook=runbook,
    )
    raise typer.Exit(start(tools, controlled_plan(tools, request), "controlled", begin))
