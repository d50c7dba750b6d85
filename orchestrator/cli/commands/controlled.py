"""``failover controlled`` (or ``switchover``) and ``plan``: the commands that move services in a planned way."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from orchestrator.cli.family_options import given_of, of_kind
from orchestrator.cli.help import BEFORE, DAILY
from orchestrator.cli.option_groups import together
from orchestrator.cli.options import OnStall, RunbookName, Selection, site_option
from orchestrator.cli.render.terminal import is_attended
from orchestrator.cli.run_options import Beginning

_CONTROLLED = """\
Move services in a planned way (alias: switchover). No message is lost.

\b
Examples:
  failover controlled Trading_VPN --dry-run
  failover controlled Trading_VPN
  failover controlled --all --yes --xa decisions.yaml --on-bridge-loss revert --json
  failover controlled Trading_VPN --site nj          back again
  failover controlled orders -i amps.yaml            an AMPS instance's clients
"""
_PLAN = """\
Show what a planned move would do; change nothing.

The same as `failover controlled --dry-run`, with the same options.

\b
Examples:
  failover plan Trading_VPN
  failover plan --all --json
"""


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    kind = of_kind("controlled")
    app.command("controlled", help=_CONTROLLED, cls=kind, rich_help_panel=DAILY)(controlled)
    app.command("switchover", help=_CONTROLLED, cls=kind, hidden=True)(controlled)
    app.command("plan", help=_PLAN, cls=kind, rich_help_panel=BEFORE)(plan)


@together(which=Selection, begin=Beginning)
def controlled(
    context: typer.Context,
    which: Selection,
    site: Annotated[
        str | None, site_option("The site that becomes standby (default: the home site).", "--from")
    ] = None,
    on_stall: OnStall = None,
    runbook: RunbookName = None,
    *,
    begin: Beginning,
) -> None:
    _move(context, which, site, on_stall, runbook, begin)


@together(which=Selection, begin=Beginning)
def plan(
    context: typer.Context,
    which: Selection,
    site: Annotated[
        str | None, site_option("The site that would become standby (default: the home site).", "--from")
    ] = None,
    on_stall: OnStall = None,
    runbook: RunbookName = None,
    *,
    begin: Beginning,
) -> None:
    _move(context, which, site, on_stall, runbook, replace(begin, dry_run=True))


def _move(
    context: typer.Context,
    which: Selection,
    site: str | None,
    on_stall: str | None,
    runbook: str | None,
    begin: Beginning,
) -> None:
    from orchestrator.cli.pairs.connecting import say_connecting_to_move
    from orchestrator.cli.tools import tools as tools_of

    tools = tools_of(context)
    say_connecting_to_move(tools, which, begin, site)
    from orchestrator.cli.runs.start import start  # takes longer to load than all imports above
    from orchestrator.operations.runs.plan_moves import ControlledRequest, controlled_plan

    request = ControlledRequest(
        inventory=which.inventory,
        services=which.services,
        everything=which.everything,
        pair=which.pair,
        given=given_of(context),
        on_stall=on_stall,
        fail_fast=begin.fail_fast,
        is_attended=is_attended() and not begin.as_json,
        is_settled=begin.yes and not begin.dry_run,
        source=site,
        runbook=runbook,
    )
    raise typer.Exit(start(tools, controlled_plan(tools, request), "controlled", begin))
