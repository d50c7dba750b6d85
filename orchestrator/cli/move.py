"""``failover controlled``: the command that moves services in a planned way."""

from __future__ import annotations

import typer

from orchestrator.cli.options import (
    All,
    ApproveBy,
    ApproveWithin,
    BreakGlass,
    Canary,
    DryRun,
    EventsAsJson,
    FailFast,
    Faults,
    From,
    InventoryFile,
    Key,
    MaxFailed,
    NoWait,
    OnBridgeLoss,
    OnStall,
    PairName,
    RunbookName,
    Vpn,
    Wave,
    Xa,
    Yes,
)
from orchestrator.cli.terminal import is_attended
from orchestrator.errors import DefinitionError

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
    wave: Wave = None,
    canary: Canary = None,
    max_failed: MaxFailed = 1,
    key: Key = None,
    no_wait: NoWait = False,
    approve_by: ApproveBy = None,
    approve_within: ApproveWithin = None,
    break_glass: BreakGlass = None,
    runbook: RunbookName = None,
) -> None:
    from orchestrator.cli.approving import Eyes
    from orchestrator.cli.families import fitting
    from orchestrator.cli.planning import Wish, make_plan, policy_of
    from orchestrator.cli.starting import in_waves, start
    from orchestrator.cli.wiring import tools as tools_of

    if dry_run and fault:
        raise DefinitionError(
            "--dry-run changes nothing, not even the simulated pair, so --fault does not go with it"
        )
    tools = tools_of(context)
    policy = policy_of(xa, on_bridge_loss, on_stall, fail_fast, attended=is_attended() and not as_json)
    plan = make_plan(
        tools, Wish(runbook or fitting(tools, "controlled"), inventory, vpn or (), everything, pair, source, policy)
    )
    plan = in_waves(plan, wave, canary, max_failed)
    eyes = Eyes("controlled", approve_by, approve_within, break_glass)
    raise typer.Exit(
        start(tools, plan, eyes, dry_run=dry_run, yes=yes, as_json=as_json, fault=fault, key=key, no_wait=no_wait)
    )
