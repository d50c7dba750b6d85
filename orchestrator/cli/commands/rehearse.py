"""``failover rehearse``: the real procedure, screens and decisions, on a simulated copy of a pair."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from orchestrator.cli.help import BEFORE
from orchestrator.cli.options import All, EventsAsJson, InventoryFile, NamedByOption, PairName, Yes, site_option

_HELP = """\
Rehearse a fail-over on a simulated copy of the pair.

The runbook, the screens and the decisions are the real ones. The command does not connect to appliances. To make the
copy, it first reads the AMPS instances that answer; with --offline it does not read them. Every other option of the
rehearsed command can be given too, such as --xa, --on-bridge-loss or --attest. The exit codes are those of the
rehearsed command.

\b
Examples:
  failover rehearse controlled --all
  failover rehearse controlled Trading_VPN --drill bridge-lost --fast
  failover rehearse uncontrolled --all --inventory sites.yaml --seed 7 --attest "cables pulled"
  failover rehearse restore orders --site ny --inventory amps.yaml --fast
  failover rehearse repair Trading_VPN --site nj --both-active --accept-loss "a test"
  failover rehearse controlled --all --fast --json --on-bridge-loss revert --fault 'drain: bridge down'
"""


def register(app: typer.Typer) -> None:
    """Add this command to ``app``."""
    more = {"allow_extra_args": True, "ignore_unknown_options": True}
    app.command("rehearse", help=_HELP, context_settings=more, rich_help_panel=BEFORE)(rehearse)


def rehearse(
    context: typer.Context,
    kind: Annotated[
        Literal["controlled", "uncontrolled", "restore", "failback", "repair"],
        typer.Argument(metavar="KIND", help="The command to rehearse."),
    ],
    named: NamedByOption = None,
    everything: All = False,
    pair: PairName = None,
    site: Annotated[
        str | None,
        site_option("The site for the rehearsed command (default: the home site).", "--from", "--failed", "--to"),
    ] = None,
    inventory: InventoryFile = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            "--fault", metavar="TEXT|FILE", help="A fault, such as 'drain: bridge down 5s', or a file of faults."
        ),
    ] = None,
    drill: Annotated[
        str | None,
        typer.Option("--drill", metavar="NAME|FILE", help="A file of faults; examples/drills has some such files."),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", min=0, help="The same seed makes the same copy.")
    ] = None,
    fast: Annotated[
        bool,
        typer.Option(
            "--fast", help="Run ten times as fast, except while you decide. An unattended rehearsal does not wait."
        ),
    ] = False,
    keep: Annotated[
        bool, typer.Option("--keep", help="Keep the record and the simulated pair, and show where they are.")
    ] = False,
    offline: Annotated[bool, typer.Option("--offline", help="Make the copy without reading any device.")] = False,
    both_active: Annotated[
        bool, typer.Option("--both-active", help="For repair: both sites start active. Default: both start standby.")
    ] = False,
    yes: Yes = False,
    as_json: EventsAsJson = False,
) -> None:
    from orchestrator.cli.render.terminal import is_attended, say_unless

    say_unless(as_json)("SIMULATED  making a copy of the pair")  # printed first, because the next modules load slowly
    from orchestrator.cli.simulated.rehearse import run_rehearsal
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.rehearsal.rehearse import RehearsalRequest

    program: Any = context.find_root().command
    rehearsed = program.commands[kind].make_context(kind, list(context.args), resilient_parsing=True).params
    plain = tuple(rehearsed["names"] or ())
    request = RehearsalRequest(
        kind=kind,
        services=(*plain, *(named or ())),
        everything=everything,
        pair=pair,
        site=site,
        inventory=inventory,
        faults=tuple(fault or ()),
        drill=drill,
        seed=seed,
        fast=fast,
        keep=keep,
        offline=offline,
        both_active=both_active,
        attended=is_attended() and not as_json,
        more=tuple(context.args),
        plain=plain,
    )
    raise typer.Exit(run_rehearsal(tools_of(context), request, program, yes=yes, as_json=as_json))
