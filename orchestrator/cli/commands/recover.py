"""``failover uncontrolled``, ``restore`` and ``failback``: a site is lost, comes back, and serves again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.family_options import given_of, of_kind
from orchestrator.cli.option_groups import together
from orchestrator.cli.options import All, InventoryFile, OnStall, PairName, Services
from orchestrator.cli.render.terminal import is_attended
from orchestrator.cli.run_options import Beginning
from orchestrator.errors import DefinitionError

_UNCONTROLLED = """\
The active site is lost: let its mate take over. What only the lost site holds stays there.

If the fence plan of the lost site has a command, that is run and proven first; otherwise somebody answers for it.

\b
Examples:
  failover uncontrolled --vpn Trading_VPN --failed ny
  failover uncontrolled --all --failed ny --yes --attest "cables of both NABs pulled, J. Doe, 03:12"
  failover uncontrolled --all --failed ny --yes --reason "power is out in the whole building"
  failover uncontrolled --all --failed ny --isolated --yes --reason "backbone cut, management answers"
  failover uncontrolled --service orders --failed ny --yes --attest "host is off, J. Doe" --accept-loss "DR, head of desk"
"""
_RESTORE = """\
Bring a lost site back as standby.

Its clients stay out until it is standby; then it is synchronised again.

\b
Examples:
  failover restore --vpn Trading_VPN --site ny
  failover restore --all --site ny --yes --xa decisions.yaml --spool lost
  failover restore --service orders --site ny --bootstrap --yes --attest "journal moved to /save, J. Doe"
"""
_FAILBACK = """\
Give activity back, once that is shown to be safe.

It goes to a restored site, and step by step as in a planned move.

\b
Examples:
  failover failback --vpn Trading_VPN --to ny
  failover failback --all --to ny --yes --xa decisions.yaml --evidence evidence/report.json
  failover failback --vpn Trading_VPN --to ny --evidence take
  failover failback --all --to ny --yes --xa decisions.yaml --attest "depths of all queues equal, J. Doe, 09:40"
  failover failback --all --to ny --yes --xa decisions.yaml --accept-risk "agreed with the desk: duplicates are dropped"
"""
Failed = Annotated[str, typer.Option("--failed", metavar="SITE", help="The site that is lost.")]
Attest = Annotated[
    str | None,
    typer.Option("--attest", metavar="TEXT", help="How the failed site is fenced, who did it, when; recorded."),
]
Reason = Annotated[
    str | None, typer.Option("--reason", metavar="TEXT", help="Why to go on without a proven fence; recorded.")
]
FenceFirst = Annotated[bool, typer.Option("--fence-first", help="Do not offer to go on without a fence.")]


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    app.command("uncontrolled", help=_UNCONTROLLED, cls=of_kind("uncontrolled"))(uncontrolled)
    app.command("restore", help=_RESTORE, cls=of_kind("restore"))(restore)
    app.command("failback", help=_FAILBACK, cls=of_kind("failback"))(failback)


@together(begin=Beginning)
def uncontrolled(
    context: typer.Context,
    failed: Failed,
    services: Services = None,
    everything: All = False,
    pair: PairName = None,
    inventory: InventoryFile = None,
    attest: Attest = None,
    reason: Reason = None,
    fence_first: FenceFirst = False,
    *,
    begin: Beginning,
) -> None:
    from orchestrator.cli.runs.start import start
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.runs.plan_moves import UncontrolledRequest, uncontrolled_plan

    tools = tools_of(context)
    request = UncontrolledRequest(
        inventory=inventory,
        services=services or (),
        everything=everything,
        pair=pair,
        given=given_of(context),
        fail_fast=begin.fail_fast,
        is_attended=is_attended() and not begin.as_json,
        is_settled=begin.yes and not begin.dry_run,
        failed=failed,
        attest=attest,
        reason=reason,
        fence_first=fence_first,
    )
    raise typer.Exit(start(tools, uncontrolled_plan(tools, request), "uncontrolled", begin))


@together(begin=Beginning)
def restore(
    context: typer.Context,
    site: Annotated[str, typer.Option("--site", metavar="SITE", help="The site that comes back.")],
    services: Services = None,
    everything: All = False,
    pair: PairName = None,
    inventory: InventoryFile = None,
    *,
    begin: Beginning,
) -> None:
    from orchestrator.cli.runs.start import start
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.runs.plan_moves import RestoreRequest, recorded_options, restore_plan

    tools = tools_of(context)
    request = RestoreRequest(
        inventory=inventory,
        services=services or (),
        everything=everything,
        pair=pair,
        given=given_of(context),
        fail_fast=begin.fail_fast,
        is_attended=is_attended() and not begin.as_json,
        is_settled=begin.yes and not begin.dry_run,
        site=site,
    )
    plan = restore_plan(tools, request)
    raise typer.Exit(start(tools, plan, "restore", begin, recorded_options(plan, "restore", request.given)))


@together(begin=Beginning)
def failback(
    context: typer.Context,
    to: Annotated[str | None, typer.Option("--to", metavar="SITE", help="Default: the home site.")] = None,
    services: Services = None,
    everything: All = False,
    pair: PairName = None,
    inventory: InventoryFile = None,
    failed_over_at: Annotated[
        str | None,
        typer.Option("--failed-over-at", metavar="TIME", help="ISO 8601; only needed when no record tells."),
    ] = None,
    accept_risk: Annotated[
        str | None, typer.Option("--accept-risk", metavar="TEXT", help="Go back though it is not shown to be safe.")
    ] = None,
    attest: Annotated[
        str | None,
        typer.Option(
            "--attest", metavar="TEXT", help="Who compared the endpoints of both sites, how, when; recorded."
        ),
    ] = None,
    evidence: Annotated[
        Path | None,
        typer.Option(
            "--evidence",
            metavar="REPORT|take",
            help="report.json of `compare` that shows it is safe; take: read and compare both sites now.",
        ),
    ] = None,
    evidence_age: Annotated[
        str, typer.Option("--evidence-age", metavar="TIME", help="How old its snapshots may be.")
    ] = "15m",
    on_stall: OnStall = None,
    *,
    begin: Beginning,
) -> None:
    from orchestrator.cli.commands.watch import seconds_of
    from orchestrator.cli.exports.evidence import TAKE, taken_evidence
    from orchestrator.cli.runs.start import start
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.model import events as ev
    from orchestrator.operations.runs.plan_moves import FailbackRequest, failback_plan

    def report(plan: ev.Plan) -> Path:
        assert evidence is not None  # it is only asked for then
        return taken_evidence(tools, plan, as_json=begin.as_json) if str(evidence) == TAKE else evidence

    tools = tools_of(context)
    request = FailbackRequest(
        inventory=inventory,
        services=services or (),
        everything=everything,
        pair=pair,
        given=given_of(context),
        on_stall=on_stall,
        fail_fast=begin.fail_fast,
        is_attended=is_attended() and not begin.as_json,
        is_settled=begin.yes and not begin.dry_run,
        to=to,
        failed_over_at=None if failed_over_at is None else _moment(failed_over_at),
        accept_risk=accept_risk,
        attest=attest,
        evidence=None if evidence is None else report,
        evidence_age=seconds_of("--evidence-age", evidence_age),
    )
    plan = failback_plan(tools, request)
    raise typer.Exit(start(tools, plan, "failback", begin, {"--failed-over-at": failed_over_at}))


def _moment(text: str) -> float:
    """Seconds since the epoch of an ISO 8601 time; without a zone it is UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise DefinitionError(f"{text!r} is no time", hint="for example 2026-11-20T03:05:00Z") from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
