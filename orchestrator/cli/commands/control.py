"""``failover attach``, ``resume``, ``abort``, ``decide`` and ``approve``: the commands for a run that is not finished."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator.cli import completion
from orchestrator.cli.family_options import given_of, of_answers
from orchestrator.cli.help import DAILY
from orchestrator.cli.options import (
    OUTAGE_SLO,
    AsJson,
    EventsAsJson,
    NamedByOption,
    OnStall,
    OutageSlo,
    Reason,
    RunName,
)
from orchestrator.cli.render.terminal import is_attended
from orchestrator.errors import DefinitionError


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    app.command("attach", rich_help_panel=DAILY)(attach)
    app.command("resume", cls=of_answers(), rich_help_panel=DAILY)(resume)
    app.command("abort", rich_help_panel=DAILY)(abort)
    app.command("decide", rich_help_panel=DAILY)(decide)
    app.command("approve", rich_help_panel=DAILY)(approve)


def attach(
    context: typer.Context, run: RunName = None, slo: OutageSlo = OUTAGE_SLO, as_json: EventsAsJson = False
) -> None:
    """Follow a run that another process leads.

    It shows the same view as the terminal that started the run, made from the record. Each open question is shown with
    the command that answers it. Ctrl-C detaches. The exit code is that of the run, or 0 if the run continues.

    \b
    Examples:
      failover attach
      failover attach 20261120-0305 --json
    """
    from orchestrator.cli.commands.watch import seconds_of
    from orchestrator.cli.runs.attach import attach_run
    from orchestrator.cli.tools import tools as tools_of

    slo_s = seconds_of("--outage-slo", slo)
    raise typer.Exit(attach_run(tools_of(context), run, slo=slo_s, as_json=as_json))


def resume(
    context: typer.Context,
    run: RunName = None,
    as_json: EventsAsJson = False,
    on_stall: OnStall = None,
    slo: OutageSlo = OUTAGE_SLO,
) -> None:
    """Resume an interrupted run.

    Use it if the process of the run was stopped or killed, or if the run needs an operator.

    \b
    Examples:
      failover resume
      failover resume last --xa decisions.yaml
    """
    from orchestrator.cli.commands.watch import seconds_of
    from orchestrator.cli.runs.intervene import resume_run
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.runs.answers import Answers

    attended = is_attended() and not as_json
    answers = Answers(given_of(context), on_stall, attended)
    slo_s = seconds_of("--outage-slo", slo)
    raise typer.Exit(resume_run(tools_of(context), run, answers, slo=slo_s, as_json=as_json))


def abort(
    context: typer.Context,
    run: RunName = None,
    reason: Reason = "",
    leave: Annotated[
        bool,
        typer.Option(
            "--leave",
            help="End a run that cannot be rolled back. The run can no longer be resumed, and its services are free"
            " for other runs. Needs --reason. No process may lead the run.",
        ),
    ] = False,
    as_json: EventsAsJson = False,
) -> None:
    """Roll back a run: the source serves again.

    A service that is past its point of no return, or may be, is not rolled back: it continues, or stops. Then the exit
    code is 10. An abort needs no approval, even if the run needs approvals.

    \b
    Examples:
      failover abort --reason "the link to New Jersey is unstable"
      failover abort --leave --reason "pg_rewind cannot be used: rebuilt by hand, J. Doe"
    """
    from orchestrator.cli.runs.intervene import abort_run
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.runtime import checked_text

    raise typer.Exit(
        abort_run(tools_of(context), run, checked_text(reason, "--reason"), leave=leave, as_json=as_json)
    )


def decide(
    context: typer.Context,
    choice: Annotated[
        str,
        typer.Argument(
            metavar="CHOICE",
            help="One of the answers that `failover runs show` lists for the question: wait, revert, escalate, retry,"
            " stop, waive, attest, accept, later. For a transaction: commit, rollback, stop.",
        ),
    ],
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="The name of a service. Default: every service that has this question.",
            autocompletion=completion.services,
        ),
    ] = None,
    *,
    reason: Reason,
    gate: Annotated[
        str,
        typer.Option("--gate", metavar="GATE", help="The name of the question, as `failover runs show` shows it."),
    ],
    run: Annotated[
        str | None,
        typer.Option(
            "--run", metavar="RUN", help="The run (default: the unfinished run).", autocompletion=completion.runs
        ),
    ] = None,
    named: NamedByOption = None,
    item: Annotated[
        str | None, typer.Option("--item", metavar="ITEM", help="The transaction, if the question is about one.")
    ] = None,
    as_json: EventsAsJson = False,
) -> None:
    """Answer an open question of a run.

    `failover runs show` lists the open questions, with the command that answers each. Without NAME, the answer is for
    every service that has the same question.

    \b
    Example:
      failover decide escalate Trading_VPN --gate bridge-lost --reason "the link stays down for hours, change 4711"
    """
    from orchestrator.cli.runs.intervene import decide_for
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.runs.answers import Decision
    from orchestrator.operations.runtime import checked_text

    decision = Decision(gate, choice, checked_text(reason, "--reason"), item, (*(names or ()), *(named or ())))
    raise typer.Exit(decide_for(tools_of(context), run, decision, as_json=as_json))


def approve(
    context: typer.Context,
    run: RunName = None,
    reason: Reason = "",
    deny: Annotated[bool, typer.Option("--deny", help="Deny the run: it does not start.")] = False,
    break_glass: Annotated[
        str | None,
        typer.Option(
            "--break-glass", metavar="REASON", help="Start the run without the approvals; REASON is recorded."
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Do not show the plan, and do not ask for confirmation.")
    ] = False,
    show: Annotated[bool, typer.Option("--show", help="Only show the whole plan, with every command.")] = False,
    as_json: AsJson = False,
) -> None:
    """Approve or deny a run that waits for approval.

    Use your own account: the approval of the requester does not count.

    \b
    Examples:
      failover approve 20261120-0305 --show
      failover approve 20261120-0305 --reason "change 4711"
      failover approve --deny --reason "not before the market closes"
      failover approve last --break-glass "no other approver can be reached"
    """
    from orchestrator.cli.runs.approve import approve_run, show_run
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.runs.approval import Word
    from orchestrator.operations.runtime import checked_text

    if show:
        if deny or yes or reason or break_glass is not None:
            raise DefinitionError("--show can be used only with RUN and --json")
        raise typer.Exit(show_run(tools_of(context), run, as_json=as_json))
    if deny and break_glass is not None:
        raise DefinitionError("--deny and --break-glass cannot be used together")
    if break_glass is not None and not break_glass.strip():
        raise DefinitionError("--break-glass needs a reason, because the reason is recorded")
    word: Word = "deny" if deny else "approve" if break_glass is None else "break-glass"
    why = checked_text(reason if break_glass is None else break_glass, "the reason")
    raise typer.Exit(approve_run(tools_of(context), run, word, why, yes=yes, as_json=as_json))
