"""``failover controlled``: the command that moves services in a planned way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from orchestrator.cli.options import (
    All,
    DryRun,
    EventsAsJson,
    FailFast,
    Faults,
    From,
    InventoryFile,
    OnBridgeLoss,
    OnStall,
    PairName,
    RunbookName,
    Vpn,
    Xa,
    Yes,
)
from orchestrator.cli.terminal import is_attended, say
from orchestrator.errors import DefinitionError

if TYPE_CHECKING:
    from orchestrator import events as ev
    from orchestrator.cli.wiring import Tools

_CONTROLLED = """\
Move services in a planned way; nothing is lost.

\b
Examples:
  failover controlled --vpn Trading_VPN --dry-run
  failover controlled --vpn Trading_VPN
  failover controlled --all --yes --xa decisions.yaml --on-bridge-loss revert --json
  failover controlled --vpn Trading_VPN --from nj          back again
"""


def register(app: typer.Typer) -> None:
    """Add this command to ``app``."""
    app.command("controlled", help=_CONTROLLED)(controlled)


def controlled(
    context: typer.Context,
    vpn: Vpn = None,
    everything: All = False,
    pair: PairName = None,
    source: From = None,
    inventory: InventoryFile = None,
    dry_run: DryRun = False,
    as_json: EventsAsJson = False,
    yes: Yes = False,
    xa: Xa = None,
    on_bridge_loss: OnBridgeLoss = None,
    on_stall: OnStall = None,
    fail_fast: FailFast = False,
    fault: Faults = None,
    runbook: RunbookName = "solace/controlled",
) -> None:
    from orchestrator.cli.planning import Wish, make_plan, policy_of
    from orchestrator.cli.wiring import tools as tools_of

    if dry_run and fault:
        raise DefinitionError(
            "--dry-run changes nothing, not even the simulated pair, so --fault does not go with it"
        )
    tools = tools_of(context)
    policy = policy_of(xa, on_bridge_loss, on_stall, fail_fast, attended=is_attended() and not as_json)
    plan = make_plan(tools, Wish(runbook, inventory, vpn or (), everything, pair, source, policy))
    if dry_run:
        from orchestrator.cli.preview import show_preview

        raise typer.Exit(show_preview(tools, plan, as_json=as_json))
    if not yes:
        _confirm(tools, plan, as_json)
    from orchestrator.cli.leading import lead_new

    if fault:
        from orchestrator.cli.simulation import script_faults

        script_faults(tools, plan, fault)
    raise typer.Exit(lead_new(tools, plan, as_json=as_json))


def _confirm(tools: Tools, plan: ev.Plan, as_json: bool) -> None:
    """Show the plan and ask once; without a terminal, refuse."""
    from orchestrator.cli.preview import brief, question

    if not is_attended() or as_json:
        raise DefinitionError("nobody is there to be asked", hint="add --yes to start without asking")
    for line in brief(tools, plan):
        say(line)
    try:
        agreed = typer.confirm(question(plan), default=False, err=True)
    except (typer.Abort, KeyboardInterrupt):
        agreed = False
        say("")
    if not agreed:
        say("not started; nothing was changed")
        raise typer.Exit(3)
