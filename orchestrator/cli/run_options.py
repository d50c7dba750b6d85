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

    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Read and check the pair, and print every command; change nothing.")
    ] = False
    as_json: EventsAsJson = False
    yes: Yes = False
    outage_slo: OutageSlo = OUTAGE_SLO
    fail_fast: Annotated[
        bool,
        typer.Option(
            "--fail-fast",
            help="If one service fails, roll back the other services that can still be rolled back.",
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
            help="Move this service first, alone; if it fails, start no other service.",
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
            help="Start no further wave after N services failed.",
            rich_help_panel=SEVERAL,
        ),
    ] = 1
    key: Annotated[
        str | None,
        typer.Option(
            "--idempotency-key",
            metavar="TEXT",
            help="Name this request; a second request with the same name returns the result of the first run.",
        ),
    ] = None
    timeout: Annotated[
        str | None,
        typer.Option(
            "--timeout",
            metavar="TIME",
            help="Roll back services that are not done after TIME: 90s, 5m. After its point of no return, a service"
            " continues.",
        ),
    ] = None
    no_wait: Annotated[
        bool,
        typer.Option(
            "--no-wait/--wait",
            help="Do not wait for the end of the run; the run continues in the background.",
        ),
    ] = False
    approve_by: Annotated[
        int | None,
        typer.Option(
            "--approve-by",
            metavar="N",
            min=1,
            max=10,
            help="Start only after N other people have approved.",
            rich_help_panel=APPROVAL,
        ),
    ] = None
    approve_within: Annotated[
        str | None,
        typer.Option(
            "--approve-within",
            metavar="TIME",
            help="The time limit for approvals; after it, the run is refused (default: 1h).",
            rich_help_panel=APPROVAL,
        ),
    ] = None
    break_glass: Annotated[
        str | None,
        typer.Option(
            "--break-glass",
            metavar="REASON",
            help="Start without the approval of others; REASON is recorded.",
            rich_help_panel=APPROVAL,
        ),
    ] = None
