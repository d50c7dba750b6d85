"""``failover hooks …``: lists and delivers the events that hooks have not received yet."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator.cli.help import AFTER
from orchestrator.cli.options import AsJson

_APP = typer.Typer(help="List and redeliver pending notifications.", no_args_is_help=True)
_Run = Annotated[
    str | None, typer.Argument(metavar="RUN", help="Run ID, unique prefix, or 'last' (default: all runs).")
]


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    app.add_typer(_APP, name="hooks", rich_help_panel=AFTER)


@_APP.command("list")
def list_hooks(context: typer.Context, run: _Run = None, as_json: AsJson = False) -> None:
    """List the events that hooks have not received yet, with the error of each.

    \b
    Examples:
      failover hooks list
      failover hooks list last --json
    """
    from orchestrator.cli.runs.owed_hooks import print_owed
    from orchestrator.cli.tools import tools as tools_of

    print_owed(tools_of(context), run, as_json=as_json)


@_APP.command("flush")
def flush_hooks(context: typer.Context, run: _Run = None, as_json: AsJson = False) -> None:
    """Deliver pending events now. After its first failure, a hook gets no more events. Exit code 4 if an event is left.

    \b
    Examples:
      failover hooks flush
      failover hooks flush last --json
    """
    from orchestrator.cli.runs.owed_hooks import flush_owed
    from orchestrator.cli.tools import tools as tools_of

    raise typer.Exit(flush_owed(tools_of(context), run, as_json=as_json))


@_APP.command("drop")
def drop_hooks(
    context: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="Run ID, unique prefix, or 'last'.")],
    hook: Annotated[
        str | None, typer.Option("--hook", metavar="NAME", help="The hook (default: every hook of the run).")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Drop the events of a run that its hooks have not received.

    Use it for a receiver that no longer exists, or that refuses an event each time.

    \b
    Example:
      failover hooks drop last --hook pager
    """
    from orchestrator.cli.runs.owed_hooks import drop_owed
    from orchestrator.cli.tools import tools as tools_of

    drop_owed(tools_of(context), run, hook, as_json=as_json)
