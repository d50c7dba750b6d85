"""``failover uncontrolled``, ``restore`` and ``failback``: a site is lost, comes back, and serves again."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from orchestrator.cli.option_groups import together
from orchestrator.cli.options import All, InventoryFile, OnBridgeLoss, OnStall, PairName, Vpn, Xa
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
Isolated = Annotated[
    bool, typer.Option("--isolated", help="Its management still answers: fence and demote it first.")
]
Attest = Annotated[
    str | None,
    typer.Option("--attest", metavar="TEXT", help="How the failed site is fenced, who did it, when; recorded."),
]
Reason = Annotated[
    str | None, typer.Option("--reason", metavar="TEXT", help="Why to go on without a proven fence; recorded.")
]
Spool = Literal["kept", "lost"]
AcceptLoss = Annotated[
    str | None,
    typer.Option("--accept-loss", metavar="TEXT", help="AMPS across an async link: why messages may be given up."),
]
AcceptSync = Annotated[
    str | None,
    typer.Option(
        "--accept-sync", metavar="TEXT", help="Solace: why to continue if a site does not report sync eligibility."
    ),
]
FenceFirst = Annotated[bool, typer.Option("--fence-first", help="Do not offer to go on without a fence.")]


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    app.command("uncontrolled", help=_UNCONTROLLED)(uncontrolled)
    app.command("restore", help=_RESTORE)(restore)
    app.command("failback", help=_FAILBACK)(failback)


@together(begin=Beginning)
def uncontrolled(
    context: typer.Context,
    failed: Failed,
    vpn: Vpn = None,
    everything: All = False,
    pair: PairName = None,
    inventory: InventoryFile = None,
    isolated: Isolated = False,
    attest: Attest = None,
    reason: Reason = None,
    accept_loss: AcceptLoss = None,
    fence_first: FenceFirst = False,
    *,
    begin: Beginning,
) -> None:
    from orchestrator.cli.runs.start import start
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.families import AMPS, SOLACE, family_of_services, fitting, only_for
    from orchestrator.operations.runs.fence_plan import see_answered, when_dark, with_instructions
    from orchestrator.operations.runs.plan import Wish, make_plan
    from orchestrator.operations.runs.plan_recovery import (
        accepting,
        unfenced_policy,
        with_last_known,
        with_readings,
        without_waiver,
    )

    tools = tools_of(context)
    family = family_of_services(tools, tools.inventory(inventory), vpn or (), pair)
    policy = unfenced_policy(attest, reason, fail_fast=begin.fail_fast, isolated=isolated)
    if isolated:
        only_for(family, SOLACE, "--isolated")
    if accept_loss is not None:
        only_for(family, AMPS, "--accept-loss")
        policy = accepting(policy, {"data-loss": "accept"}, accept_loss)
    runbook = fitting(tools, "uncontrolled", "solace/uncontrolled-isolated" if isolated else when_dark(policy))
    plan = make_plan(tools, Wish(runbook, inventory, vpn or (), everything, pair, failed, policy))
    if begin.yes and not begin.dry_run:
        see_answered(plan)
    plan = with_instructions(without_waiver(plan) if fence_first else plan)
    plan = with_last_known(tools, plan)
    plan = with_readings(tools, plan) if isolated else plan
    raise typer.Exit(start(tools, plan, "uncontrolled", begin))


@together(begin=Beginning)
def restore(
    context: typer.Context,
    site: Annotated[str, typer.Option("--site", metavar="SITE", help="The site that comes back.")],
    vpn: Vpn = None,
    everything: All = False,
    pair: PairName = None,
    inventory: InventoryFile = None,
    spool: Annotated[
        Spool, typer.Option("--spool", help="Did it come back without its message spool? Recorded.")
    ] = "kept",
    bootstrap: Annotated[
        bool, typer.Option("--bootstrap", help="AMPS: it lost its data, and fetches its state from its mate.")
    ] = False,
    attest: Annotated[
        str | None,
        typer.Option("--attest", metavar="TEXT", help="AMPS: who looked at what it comes back with; recorded."),
    ] = None,
    accept_sync: AcceptSync = None,
    accept_sow: Annotated[
        str | None,
        typer.Option(
            "--accept-sow", metavar="TEXT", help="AMPS, with --bootstrap: why it returns though SOW records differ."
        ),
    ] = None,
    xa: Xa = None,
    *,
    begin: Beginning,
) -> None:
    from orchestrator.cli.runs.start import start
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.core.comparisons import SOW_GATE
    from orchestrator.operations.families import AMPS, SOLACE, family_of_services, fitting, only_for
    from orchestrator.operations.runs.fence_plan import see_answered, when_restored
    from orchestrator.operations.runs.plan import Wish, make_plan, policy_of
    from orchestrator.operations.runs.plan_recovery import accepting, see_one_active, with_outage, with_readings

    tools = tools_of(context)
    began = tools.clock.now()
    family = family_of_services(tools, tools.inventory(inventory), vpn or (), pair)
    policy = policy_of(xa, None, None, begin.fail_fast, attended=is_attended() and not begin.as_json, who=tools.who())
    if spool == "lost":
        only_for(family, SOLACE, "--spool lost")
    if bootstrap:
        only_for(family, AMPS, "--bootstrap")
    if attest is not None:
        only_for(family, AMPS, "--attest")
        policy = accepting(policy, {"stale-tail": "accept", "bootstrap": "attest"}, attest)
    if accept_sync is not None:
        only_for(family, SOLACE, "--accept-sync")
        policy = accepting(policy, {"sync-untold": "accept"}, accept_sync)
    if accept_sow is not None:
        only_for(family, AMPS, "--accept-sow")
        if not bootstrap:
            raise DefinitionError(
                "--accept-sow answers a question that only a return by bootstrap asks", hint="add --bootstrap"
            )
        policy = accepting(policy, {SOW_GATE: "accept"}, accept_sow)
    chosen = fitting(tools, "restore-bootstrap" if bootstrap else "restore", when_restored)
    plan = make_plan(tools, Wish(chosen, inventory, vpn or (), everything, pair, site, policy))
    if begin.yes and not begin.dry_run:
        see_answered(plan)
    plan = with_outage(tools, plan, acting=plan.target, at=None, spool_lost=spool == "lost")
    plan = with_readings(tools, plan)
    see_one_active(tools, plan, began)
    raise typer.Exit(start(tools, plan, "restore", begin, {"--spool": spool}))


@together(begin=Beginning)
def failback(
    context: typer.Context,
    to: Annotated[str | None, typer.Option("--to", metavar="SITE", help="Default: the home site.")] = None,
    vpn: Vpn = None,
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
    accept_sync: AcceptSync = None,
    xa: Xa = None,
    on_bridge_loss: OnBridgeLoss = None,
    on_stall: OnStall = None,
    *,
    begin: Beginning,
) -> None:
    from orchestrator.cli.commands.watch import seconds_of
    from orchestrator.cli.exports.evidence import TAKE, taken_evidence
    from orchestrator.cli.runs.start import start
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.families import fitting
    from orchestrator.operations.runs.plan import Wish, make_plan, policy_of
    from orchestrator.operations.runs.plan_recovery import (
        accepting,
        see_comparable,
        site_to_leave,
        with_evidence,
        with_outage,
        with_readings,
    )

    tools = tools_of(context)
    policy = policy_of(
        xa, on_bridge_loss, on_stall, begin.fail_fast, attended=is_attended() and not begin.as_json, who=tools.who()
    )
    if accept_risk is not None and attest is not None:
        raise DefinitionError("--attest says that it is safe, --accept-risk that it is not: give one of them")
    if accept_risk is not None or attest is not None:
        policy = accepting(policy, {"unsafe-return": "accept" if attest is None else "attest"}, attest or accept_risk)
    if accept_sync is not None:
        policy = accepting(policy, {"sync-untold": "accept"}, accept_sync)
    source = site_to_leave(tools.inventory(inventory), vpn or (), pair, to)
    chosen = fitting(tools, "failback")
    plan = make_plan(tools, Wish(chosen, inventory, vpn or (), everything, pair, source, policy))
    if begin.yes and not begin.dry_run and evidence is None:
        see_comparable(tools, plan)
    moment = None if failed_over_at is None else _moment(failed_over_at)
    plan = with_outage(tools, plan, acting=plan.source, at=moment, spool_lost=False)
    plan = with_readings(tools, plan)
    if evidence is not None:
        if str(evidence) == TAKE:
            evidence = taken_evidence(tools, plan, as_json=begin.as_json)
        plan = with_evidence(tools, plan, evidence, seconds_of("--evidence-age", evidence_age))
    raise typer.Exit(start(tools, plan, "failback", begin, {"--failed-over-at": failed_over_at}))


def _moment(text: str) -> float:
    """Seconds since the epoch of an ISO 8601 time; without a zone it is UTC."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise DefinitionError(f"{text!r} is no time", hint="for example 2026-11-20T03:05:00Z") from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
