"""How a run is begun: the options that every command that moves services has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.cli.options import EventsAsJson, Faults, Yes


@dataclass(frozen=True, slots=True)
class Beginning:
    """As typed. Each field is an option of its own."""

    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read, check, print every command; change nothing.")] = (
        False
    )
    as_json: EventsAsJson = False
    yes: Yes = False
    fail_fast: Annotated[
        bool, typer.Option("--fail-fast", help="One that fails calls off those that can still turn back.")
    ] = False
    fault: Faults = None
    wave: Annotated[
        int | None, typer.Option("--wave", metavar="N", min=1, help="Begin N services at a time, wave after wave.")
    ] = None
    canary: Annotated[
        str | None,
        typer.Option("--canary", metavar="NAME", help="This one goes first, alone; if it fails, no other begins."),
    ] = None
    max_failed: Annotated[
        int, typer.Option("--max-failed", metavar="N", min=1, help="With so many failed, no further wave begins.")
    ] = 1
    key: Annotated[
        str | None,
        typer.Option(
            "--idempotency-key",
            metavar="TEXT",
            help="Asked again with the same one, the first run's result is given.",
        ),
    ] = None
    no_wait: Annotated[
        bool,
        typer.Option(
            "--no-wait/--wait", help="Return once a process of its own leads the run, instead of waiting for its end."
        ),
    ] = False
    approve_by: Annotated[
        int | None,
        typer.Option("--approve-by", metavar="N", min=1, max=10, help="Begin only once N other people have agreed."),
    ] = None
    approve_within: Annotated[
        str | None,
        typer.Option(
            "--approve-within", metavar="TIME", help="How long they have; then it is refused (default: 1h)."
        ),
    ] = None
    break_glass: Annotated[
        str | None,
        typer.Option("--break-glass", metavar="REASON", help="Begin without the approvals of others; recorded."),
    ] = None
