"""The options for the start of a run. Every command that moves services has them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.cli import completion
from orchestrator.cli.help import APPROVAL, SEVERAL
from orchestrator.cli.options import OUTAGE_SLO, EventsAsJson, Faults, OutageSlo, Yes


@dataclass(frozen=True, slots=True)
class Beginning:
    """The typed options. Each field is a separate option."""

    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read, check, print every command; change nothing.")] = (
        False
    )
    as_json: EventsAsJson = False
    yes: Yes = False
    outage_slo: OutageSlo = OUTAGE_SLO
    fail_fast: Annotated[
        bool,
        typer.Option(
            "--fail-fast",
            help="If one service fails, roll back the others that still can.",
            rich_help_panel=SEVERAL,
        ),
    ] = False
    fault: Faults = None
    wave: Annotated[
        int | None,
        typer.Option(
            "--wave",
            metavar="N",
            min=1,
            help="Start N services at a time, wave after wave.",
            rich_help_panel=SEVERAL,
        ),
    ] = None
    canary: Annotated[
        str | None,
        typer.Option(
            "--canary",
            metavar="NAME",
            help="Move this one first, alone; if it fails, start no other.",
            rich_help_panel=SEVERAL,
            autocompletion=completion.services,
        ),
    ] = None
    max_failed: Annotated[
        int,
        typer.Option(
            "--max-failed",
            metavar="N",
            min=1,
            help="With N failed services, start no further wave.",
            rich_help_panel=SEVERAL,
        ),
    ] = 1
    key: Annotated[
        str | None,
        typer.Option(
            "--idempotency-key",
            metavar="TEXT",
            help="Name this request: the same name again returns the first run's result.",
        ),
    ] = None
    timeout: Annotated[
        str | None,
        typer.Option(
            "--timeout",
            metavar="TIME",
            help="Roll back what is not done by then: 90s, 5m. Past the point of no return it continues.",
        ),
    ] = None
    no_wait: Annotated[
        bool,
        typer.Option(
            "--no-wait/--wait",
            help="Return once the run continues in the background, instead of waiting for its end.",
        ),
    ] = False
    approve_by: Annotated[
        int | None,
        typer.Option(
            "--approve-by",
            metavar="N",
            min=1,
            max=10,
            help="Start only once N other people have approved.",
            rich_help_panel=APPROVAL,
        ),
    ] = None
    approve_within: Annotated[
        str | None,
        typer.Option(
            "--approve-within",
            metavar="TIME",
            help="Time to approve; then the run is refused (default: 1h).",
            rich_help_panel=APPROVAL,
        ),
    ] = None
    break_glass: Annotated[
        str | None,
        typer.Option(
            "--break-glass",
            metavar="REASON",
            help="Start without the approval of others; this is recorded.",
            rich_help_panel=APPROVAL,
        ),
    ] = None
