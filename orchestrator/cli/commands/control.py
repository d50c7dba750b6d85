"""``failover resume``, ``abort``, ``decide`` and ``approve``: the commands for a run that is not at its end."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator.cli.family_options import given_of, of_answers
from orchestrator.cli.options import SERVICE_FLAGS, AsJson, EventsAsJson, OnStall, Reason, RunName
from orchestrator.cli.render.terminal import is_attended
from orchestrator.errors import DefinitionError


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    app.command("resume", cls=of_answers())(resume)
    app.command("abort")(abort)
    app.command("decide")(decide)
    app.command("approve")(approve)


def resume(
    context: typer.Context,
    run: RunName = None,
    as_json: EventsAsJson = False,
    on_stall: OnStall = None,
) -> None:
    """Resume a run that is not finished.

    It was interrupted or killed, or needs an operator.

    \b
    Examples:
      failover resume
      failover resume last --xa decisions.yaml
    """
    from orchestrator.cli.runs.intervene import resume_run
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.runs.intervene import Answers

    attended = is_attended() and not as_json
    answers = Answers(given_of(context), on_stall, attended)
    raise typer.Exit(resume_run(tools_of(context), run, answers, as_json=as_json))


def abort(context: typer.Context, run: RunName = None, reason: Reason = "", as_json: EventsAsJson = False) -> None:
    """Give activity back to the source, while that is possible.

    A service that is past its point of no return, or may be, goes on to its end or stops.

    \b
    Example:
      failover abort --reason "the link to New Jersey is unstable"
    """
    from orchestrator.cli.runs.intervene import abort_run
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.runtime import checked_text

    raise typer.Exit(abort_run(tools_of(context), run, checked_text(reason, "--reason"), as_json=as_json))


def decide(
    context: typer.Context,
    choice: Annotated[
        str,
        typer.Argument(
            metavar="CHOICE",
            help="One of the answers that the question offers, as shown by `failover runs show`: wait, revert, escalate,"
            " retry, stop, waive, attest, accept, later; of transactions commit, rollback, stop.",
        ),
    ],
    reason: Reason,
    gate: Annotated[
        str, typer.Option("--gate", metavar="GATE", help="The question, as shown by `failover runs show`.")
    ],
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="Default: the unfinished one.")] = None,
    service: Annotated[
        str | None,
        typer.Option(*SERVICE_FLAGS, metavar="NAME", help="Default: every lane it is open for."),
    ] = None,
    item: Annotated[
        str | None, typer.Option("--item", metavar="ITEM", help="For a question about one transaction.")
    ] = None,
    as_json: EventsAsJson = False,
) -> None:
    """Answer a question of a run that another process leads.

    \b
    Example:
      failover decide escalate --gate bridge-lost --vpn Trading_VPN --reason "link is gone for hours, desk agrees"
    """
    from orchestrator.cli.runs.intervene import decide_for
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.runs.intervene import Decision
    from orchestrator.operations.runtime import checked_text

    decision = Decision(gate, choice, checked_text(reason, "--reason"), item, service)
    raise typer.Exit(decide_for(tools_of(context), run, decision, as_json=as_json))


def approve(
    context: typer.Context,
    run: RunName = None,
    reason: Reason = "",
    deny: Annotated[bool, typer.Option("--deny", help="Say no: nothing begins, nothing is changed.")] = False,
    break_glass: Annotated[
        str | None,
        typer.Option("--break-glass", metavar="REASON", help="Let it begin without the approvals; recorded."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not show the plan and ask.")] = False,
    show: Annotated[
        bool, typer.Option("--show", help="Show the whole plan, with every command, and say nothing about it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Agree to the plan of a run that waits for it.

    From an account of your own: the word of the requester does not count.

    \b
    Examples:
      failover approve 20261120-0305 --show
      failover approve 20261120-0305 --reason "change 4711"
      failover approve --deny --reason "not before the market closes"
      failover approve last --break-glass "nobody else can be reached"
    """
    from orchestrator.cli.runs.approve import approve_run, show_run
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.runs.approval import Word
    from orchestrator.operations.runtime import checked_text

    if show:
        if deny or yes or reason or break_glass is not None:
            raise DefinitionError(
                "--show says nothing about the plan, so nothing goes with it but the run and --json"
            )
        raise typer.Exit(show_run(tools_of(context), run, as_json=as_json))
    if deny and break_glass is not None:
        raise DefinitionError("--deny and --break-glass contradict each other")
    if break_glass is not None and not break_glass.strip():
        raise DefinitionError("--break-glass is recorded with its reason; please give one")
    word: Word = "deny" if deny else "approve" if break_glass is None else "break-glass"
    why = checked_text(reason if break_glass is None else break_glass, "the reason")
    raise typer.Exit(approve_run(tools_of(context), run, word, why, yes=yes, as_json=as_json))
