"""``failover uncontrolled``, ``restore`` and ``failback``: a site is lost, comes back, and serves again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli.family_options import given_of, of_kind
from orchestrator.cli.help import AFTER, DAILY, DECIDE
from orchestrator.cli.option_groups import together
from orchestrator.cli.options import OnStall, Selection, site_option
from orchestrator.cli.render.terminal import is_attended
from orchestrator.cli.run_options import Beginning
from orchestrator.errors import DefinitionError

if TYPE_CHECKING:
    from orchestrator.model import events as ev

_UNCONTROLLED = """\
The active site is lost: its mate takes over.

Messages that only the lost site holds stay there.
If the fence plan of the lost site has a command, the run executes the command first, and proves the fence. Otherwise an
operator confirms the fence by name.

\b
Examples:
  failover uncontrolled Trading_VPN --site ny
  failover uncontrolled --all --site ny --yes --attest "cables of both NABs pulled, J. Doe, 03:12"
  failover uncontrolled --all --site ny --yes --reason "power is out in the whole building"
  failover uncontrolled --all --site ny --isolated --yes --reason "backbone cut, management answers"
  failover uncontrolled orders --site ny --yes --attest "host is off, J. Doe" --accept-loss "DR, head of desk"
"""
_RESTORE = """\
Bring a lost site back as standby.

The run keeps the clients of the site out until the site is standby. Then the site is synchronised again.

\b
Examples:
  failover restore Trading_VPN --site ny
  failover restore --all --site ny --yes --xa decisions.yaml --spool lost
  failover restore orders --site ny --bootstrap --yes --attest "journal moved to /save, J. Doe"
"""
_FAILBACK = """\
Make a restored site active again.

The run starts only after the fail-back is shown to be safe. The steps are those of a planned move.

\b
Examples:
  failover failback Trading_VPN --site ny
  failover failback --all --site ny --yes --xa decisions.yaml --evidence evidence/report.json
  failover failback Trading_VPN --site ny --evidence take
  failover failback --all --site ny --yes --xa decisions.yaml --attest "depths of all queues equal, J. Doe, 09:40"
  failover failback --all --site ny --yes --xa decisions.yaml --accept-risk "change 4711: duplicates are dropped"
"""
Failed = Annotated[str, site_option("The site that is lost.", "--failed")]
Attest = Annotated[
    str | None,
    typer.Option(
        "--attest",
        metavar="TEXT",
        help="How the failed site was fenced, by whom and when (recorded).",
        rich_help_panel=DECIDE,
    ),
]
Reason = Annotated[
    str | None,
    typer.Option(
        "--reason",
        metavar="TEXT",
        help="Why the run may continue without a proven fence (recorded).",
        rich_help_panel=DECIDE,
    ),
]
FenceFirst = Annotated[
    bool,
    typer.Option("--fence-first", help="Never offer to continue without a fence.", rich_help_panel=DECIDE),
]


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    app.command("uncontrolled", help=_UNCONTROLLED, cls=of_kind("uncontrolled"), rich_help_panel=DAILY)(uncontrolled)
    app.command("restore", help=_RESTORE, cls=of_kind("restore"), rich_help_panel=AFTER)(restore)
    app.command("failback", help=_FAILBACK, cls=of_kind("failback"), rich_help_panel=AFTER)(failback)


@together(which=Selection, begin=Beginning)
def uncontrolled(
    context: typer.Context,
    which: Selection,
    site: Failed,
    attest: Attest = None,
    reason: Reason = None,
    fence_first: FenceFirst = False,
    *,
    begin: Beginning,
) -> None:
    from orchestrator.cli.pairs.connecting import say_connecting_to_move
    from orchestrator.cli.tools import tools as tools_of

    tools = tools_of(context)
    say_connecting_to_move(tools, which, begin, site)
    from orchestrator.cli.runs.start import start  # takes longer to load than all imports above
    from orchestrator.operations.runs.plan_moves import UncontrolledRequest, uncontrolled_plan

    request = UncontrolledRequest(
        inventory=which.inventory,
        services=which.services,
        everything=which.everything,
        pair=which.pair,
        given=given_of(context),
        fail_fast=begin.fail_fast,
        is_attended=is_attended() and not begin.as_json,
        is_settled=begin.yes and not begin.dry_run,
        failed=site,
        attest=attest,
        reason=reason,
        fence_first=fence_first,
    )
    raise typer.Exit(start(tools, uncontrolled_plan(tools, request), "uncontrolled", begin))


@together(which=Selection, begin=Beginning)
def restore(
    context: typer.Context,
    which: Selection,
    site: Annotated[str, site_option("The site that comes back as standby.")],
    *,
    begin: Beginning,
) -> None:
    from orchestrator.cli.pairs.connecting import say_connecting_to_move
    from orchestrator.cli.tools import tools as tools_of

    tools = tools_of(context)
    say_connecting_to_move(tools, which, begin, site)
    from orchestrator.cli.runs.start import start  # takes longer to load than all imports above
    from orchestrator.operations.runs.plan_moves import RestoreRequest, recorded_options, restore_plan

    request = RestoreRequest(
        inventory=which.inventory,
        services=which.services,
        everything=which.everything,
        pair=which.pair,
        given=given_of(context),
        fail_fast=begin.fail_fast,
        is_attended=is_attended() and not begin.as_json,
        is_settled=begin.yes and not begin.dry_run,
        site=site,
    )
    plan = restore_plan(tools, request)
    raise typer.Exit(start(tools, plan, "restore", begin, recorded_options(plan, "restore", request.given)))


@together(which=Selection, begin=Beginning)
def failback(
    context: typer.Context,
    which: Selection,
    site: Annotated[
        str | None, site_option("The site that becomes active again (default: the home site).", "--to")
    ] = None,
    failed_over_at: Annotated[
        str | None,
        typer.Option(
            "--failed-over-at",
            metavar="TIME",
            help="The time of the fail-over, in ISO 8601; needed only if no record has it.",
        ),
    ] = None,
    accept_risk: Annotated[
        str | None,
        typer.Option(
            "--accept-risk",
            metavar="TEXT",
            help="Why to fail back without proof that the fail-back is safe (recorded).",
            rich_help_panel=DECIDE,
        ),
    ] = None,
    attest: Annotated[
        str | None,
        typer.Option(
            "--attest",
            metavar="TEXT",
            help="Who compared the endpoints of both sites, how and when (recorded).",
            rich_help_panel=DECIDE,
        ),
    ] = None,
    evidence: Annotated[
        Path | None,
        typer.Option(
            "--evidence",
            metavar="REPORT|take",
            help="The report.json of a `failover compare` that shows a safe fail-back; or `take`, to compare both sites"
            " now.",
            rich_help_panel=DECIDE,
        ),
    ] = None,
    evidence_age: Annotated[
        str,
        typer.Option(
            "--evidence-age",
            metavar="TIME",
            help="The maximum age of the snapshots in the evidence.",
            rich_help_panel=DECIDE,
        ),
    ] = "15m",
    on_stall: OnStall = None,
    *,
    begin: Beginning,
) -> None:
    from orchestrator.cli.commands.watch import seconds_of
    from orchestrator.cli.pairs.connecting import say_connecting_to_move
    from orchestrator.cli.tools import tools as tools_of

    tools = tools_of(context)
    say_connecting_to_move(tools, which, begin, site)
    from orchestrator.cli.exports.evidence import TAKE, taken_evidence  # takes longer to load than all imports above
    from orchestrator.cli.runs.start import start
    from orchestrator.operations.runs.plan_moves import FailbackRequest, failback_plan

    def report(plan: ev.Plan) -> Path:
        assert evidence is not None  # this function is only called with evidence
        return taken_evidence(tools, plan, as_json=begin.as_json) if str(evidence) == TAKE else evidence

    request = FailbackRequest(
        inventory=which.inventory,
        services=which.services,
        everything=which.everything,
        pair=which.pair,
        given=given_of(context),
        on_stall=on_stall,
        fail_fast=begin.fail_fast,
        is_attended=is_attended() and not begin.as_json,
        is_settled=begin.yes and not begin.dry_run,
        to=site,
        failed_over_at=None if failed_over_at is None else _moment(failed_over_at),
        accept_risk=accept_risk,
        attest=attest,
        evidence=None if evidence is None else report,
        evidence_age=seconds_of("--evidence-age", evidence_age),
    )
    plan = failback_plan(tools, request)
    raise typer.Exit(start(tools, plan, "failback", begin, {"--failed-over-at": failed_over_at}))


def _moment(text: str) -> float:
    """Seconds since the epoch of an ISO 8601 time. A time without a zone is UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise DefinitionError(f"{text!r} is not a time", hint="for example 2026-11-20T03:05:00Z") from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
