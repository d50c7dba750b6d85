"""``failover controlled``, ``resume``, ``abort`` and ``decide``: the commands that move services."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.terminal import is_attended, say, show, show_json
from orchestrator.errors import DefinitionError, LeaseHeld

Vpn = Annotated[
    list[str] | None, typer.Option("--vpn", metavar="NAME", help="A service to move; repeat for several.")
]
All = Annotated[bool, typer.Option("--all", help="Every service of the pair.")]
PairName = Annotated[
    str | None, typer.Option("--pair", metavar="NAME", help="The pair, if the inventory has several.")
]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="SITE", help="The site that gives up activity (default: the home site)."),
]
InventoryFile = Annotated[
    Path | None,
    typer.Option("--inventory", "-i", metavar="FILE", help="Default: $FAILOVER_INVENTORY, or the simulated pair."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Read, check, print every command; change nothing.")]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON event a line, ending in a result object.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether to start.")]
Xa = Annotated[
    str | None,
    typer.Option(
        "--xa",
        metavar="ask|stop|FILE",
        help="Prepared transactions: ask, stop, or the decisions in FILE (default: ask on a terminal, else stop).",
    ),
]
OnBridgeLoss = Annotated[
    str | None,
    typer.Option("--on-bridge-loss", metavar="wait|revert|escalate", help="Decided beforehand (unattended: revert)."),
]
OnStall = Annotated[
    str | None,
    typer.Option("--on-stall", metavar="wait|revert|escalate", help="Decided beforehand (unattended: revert)."),
]
FailFast = Annotated[
    bool, typer.Option("--fail-fast", help="One that fails calls off those that can still turn back.")
]
Faults = Annotated[
    list[str] | None,
    typer.Option(
        "--fault", metavar="TEXT|FILE", help="Simulated pair only: 'drain: bridge down 5s', or a file of them."
    ),
]
RunbookName = Annotated[str, typer.Option("--runbook", metavar="NAME|FILE", help="The procedure.", show_default=True)]
RunName = Annotated[
    str | None,
    typer.Argument(metavar="[RUN]", help="Its name, a beginning of it, or 'last' (default: the unfinished one)."),
]

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
    """Add these commands to ``app``."""
    app.command("controlled", help=_CONTROLLED)(controlled)
    app.command("resume")(resume)
    app.command("abort")(abort)
    app.command("decide")(decide)


def controlled(
    vpn: Vpn = None,
    everything: All = False,
    pair: PairName = None,
    source: From = None,
    inventory: InventoryFile = None,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    yes: Yes = False,
    xa: Xa = None,
    on_bridge_loss: OnBridgeLoss = None,
    on_stall: OnStall = None,
    fail_fast: FailFast = False,
    fault: Faults = None,
    runbook: RunbookName = "solace/controlled",
) -> None:
    from orchestrator.cli.planning import Wish, make_plan, policy_of
    from orchestrator.cli.wiring import tools as make_tools

    tools = make_tools()
    policy = policy_of(xa, on_bridge_loss, on_stall, fail_fast)
    plan = make_plan(tools, Wish(runbook, inventory, vpn or (), everything, pair, source, policy))
    if fault:
        from orchestrator.cli.lab import script_faults

        script_faults(tools, plan, fault)
    if dry_run:
        from orchestrator.cli.preview import show_preview

        raise typer.Exit(show_preview(tools, plan, as_json=as_json))
    if not yes:
        _confirm(tools, plan, as_json)
    from orchestrator.cli.leading import lead_new

    raise typer.Exit(lead_new(tools, plan, as_json=as_json))


def _confirm(tools: object, plan: object, as_json: bool) -> None:
    """Show the plan and ask once; without a terminal, refuse."""
    from orchestrator import events as ev
    from orchestrator.cli.preview import brief
    from orchestrator.cli.wiring import Tools

    assert isinstance(tools, Tools)
    assert isinstance(plan, ev.Plan)
    if not is_attended() or as_json:
        raise DefinitionError("nobody is there to be asked", hint="add --yes to start without asking")
    for line in brief(tools, plan):
        say(line)
    if not typer.confirm("Start?", default=False, err=True):
        say("not started; nothing was changed")
        raise typer.Exit(3)


def resume(
    run: RunName = None,
    as_json: AsJson = False,
    xa: Xa = None,
    on_bridge_loss: OnBridgeLoss = None,
    on_stall: OnStall = None,
) -> None:
    """Go on with a run that was interrupted, killed, or needs an operator."""
    from orchestrator.cli.leading import find_run, lead_again
    from orchestrator.cli.planning import policy_of
    from orchestrator.cli.wiring import tools as make_tools
    from orchestrator.state import begin

    tools = make_tools()
    journal = tools.journal()
    try:
        name = find_run(journal, run)
        given = policy_of(xa, on_bridge_loss, on_stall, False)
        had = begin(next(journal.records(name))).plan.policy
        policy = had.model_copy(
            update={
                "on_gate": {**had.on_gate, **given.on_gate},
                "transactions": {**had.transactions, **given.transactions},
            }
        )
        raise typer.Exit(lead_again(tools, journal, name, as_json=as_json, policy=policy, abort=None))
    finally:
        journal.close()


def abort(
    run: RunName = None,
    reason: Annotated[str, typer.Option("--reason", help="Recorded with the run.")] = "",
    as_json: AsJson = False,
) -> None:
    """Give activity back to the source, as long as a service is before its point of no return."""
    from orchestrator.cli.leading import find_run, lead_again
    from orchestrator.cli.wiring import tools as make_tools
    from orchestrator.cli.wiring import user_name

    tools = make_tools()
    journal = tools.journal()
    try:
        name = find_run(journal, run)
        try:
            raise typer.Exit(lead_again(tools, journal, name, as_json=as_json, policy=None, abort=reason))
        except LeaseHeld:
            journal.ask(name, {"kind": "abort", "by": user_name(), "reason": reason})
            show(f"run {name} is being led by another process, which was asked to call it off")
    finally:
        journal.close()


def decide(
    choice: Annotated[str, typer.Argument(help="wait, revert, escalate, retry, stop, commit or rollback.")],
    reason: Annotated[str, typer.Option("--reason", help="Why; recorded.")],
    gate: Annotated[str, typer.Option("--gate", help="The question, as shown by `failover runs show`.")],
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="Default: the unfinished one.")] = None,
    vpn: Annotated[
        str | None, typer.Option("--vpn", metavar="NAME", help="Default: every lane it is open for.")
    ] = None,
    item: Annotated[str | None, typer.Option("--item", metavar="XID", help="For a question about one item.")] = None,
    as_json: AsJson = False,
) -> None:
    """Answer a question of a run that another process leads.

    \b
    Example:
      failover decide escalate --gate bridge-lost --vpn Trading_VPN --reason "link is gone for hours, desk agrees"
    """
    from orchestrator.cli.leading import find_run
    from orchestrator.cli.wiring import tools as make_tools
    from orchestrator.cli.wiring import user_name
    from orchestrator.state import fold

    tools = make_tools()
    journal = tools.journal()
    try:
        name = find_run(journal, run)
        lanes = fold(journal.records(name)).lanes
        asked = [
            (lane.service, question)
            for lane in lanes.values()
            for question in lane.gates
            if question.gate == gate and question.item == item and vpn in (None, lane.service)
        ]
        if not asked:
            raise DefinitionError(f"no such question is open in run {name}", hint=f"see `failover runs show {name}`")
        for service, question in asked:
            if choice not in question.choices:
                raise DefinitionError(
                    f"{choice!r} is no answer to {gate}", hint=f"one of: {', '.join(question.choices)}"
                )
            request = {"kind": "decide", "lane": service, "gate": gate, "choice": choice, "reason": reason}
            journal.ask(name, {**request, "by": user_name(), **({"item": item} if item else {})})
        if as_json:
            show_json({"run": name, "asked": [service for service, _ in asked]})
        else:
            show(f"run {name} was told: {choice} for {', '.join(service for service, _ in asked)}")
    finally:
        journal.close()
