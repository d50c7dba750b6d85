"""``failover controlled``: the command that moves services in a planned way."""

from __future__ import annotations

import typer

from orchestrator.cli.option_groups import together
from orchestrator.cli.options import All, From, InventoryFile, OnBridgeLoss, OnStall, PairName, RunbookName, Vpn, Xa
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
    app.command("controlled", help=_CONTROLLED)(controlled)


@together(begin=Beginning)
def controlled(
    context: typer.Context,
    vpn: Vpn = None,
    everything: All = False,
    pair: PairName = None,
    source: From = None,
    inventory: InventoryFile = None,
    xa: Xa = None,
    on_bridge_loss: OnBridgeLoss = None,
    on_stall: OnStall = None,
    runbook: RunbookName = None,
    *,
    begin: Beginning,
) -> None:
    from orchestrator.cli.runs.start import start
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.families import fitting
    from orchestrator.operations.runs.plan import Wish, make_plan, policy_of

    tools = tools_of(context)
    policy = policy_of(
        xa, on_bridge_loss, on_stall, begin.fail_fast, attended=is_attended() and not begin.as_json, who=tools.who()
    )
    plan = make_plan(
        tools, Wish(runbook or fitting(tools, "controlled"), inventory, vpn or (), everything, pair, source, policy)
    )
    raise typer.Exit(start(tools, plan, "controlled", begin))
