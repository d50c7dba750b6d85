"""The options and arguments that several commands share, defined once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli import completion
from orchestrator.cli.help import DECIDE, OUTPUT, WHAT
from orchestrator.cli.render.forms import Form

# The options for a service in the written procedure. A plain word names a service too.
SERVICE_FLAGS = ("--vpn", "--service")
Names = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME", help="Services, by name.", autocompletion=completion.services),
]
NamedByOption = Annotated[
    list[str] | None,
    typer.Option(
        *SERVICE_FLAGS,
        metavar="NAME",
        help="The same as NAME.",
        hidden=True,
        rich_help_panel=WHAT,
        autocompletion=completion.services,
    ),
]
All = Annotated[bool, typer.Option("--all", help="Every service of the pair.", rich_help_panel=WHAT)]
PairName = Annotated[
    str | None,
    typer.Option(
        "--pair",
        metavar="NAME",
        help="The name of the pair, if the inventory has several pairs.",
        rich_help_panel=WHAT,
        autocompletion=completion.pairs,
    ),
]
InventoryFile = Annotated[
    Path | None,
    typer.Option(
        "--inventory",
        "-i",
        metavar="FILE",
        help="The inventory (default: $FAILOVER_INVENTORY, or the simulated pair).",
        rich_help_panel=WHAT,
    ),
]
Readings = Annotated[
    Path | None,
    typer.Option("--readings", metavar="DIR", help="Also keep each reading in DIR, for `failover pipeline watch`."),
]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON for machines, one value on each line.", rich_help_panel=OUTPUT)
]
LinesAsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON value on each line, and a result object at the end.", rich_help_panel=OUTPUT
    ),
]
EventsAsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON event on each line, and a result object at the end.", rich_help_panel=OUTPUT
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
OnStall = Annotated[
    str | None,
    typer.Option(
        "--on-stall",
        metavar="wait|revert|escalate",
        help="What to do if the drain stalls (unattended: revert).",
        rich_help_panel=DECIDE,
    ),
]
Faults = Annotated[
    list[str] | None,
    typer.Option(
        "--fault",
        metavar="TEXT|FILE",
        help="Simulated pair only: a fault such as 'drain: bridge down 5s', or a file of faults.",
    ),
]
RunbookName = Annotated[
    str | None,
    typer.Option(
        "--runbook",
        metavar="NAME|FILE",
        help="A runbook to use instead of the usual runbook of the family.",
        rich_help_panel=WHAT,
    ),
]
RunName = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        help="Run ID, unique prefix, or 'last' (default: the unfinished run).",
        autocompletion=completion.runs,
    ),
]
PastRunName = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        help="Run ID, unique prefix, or 'last' (default: the newest run).",
        autocompletion=completion.runs,
    ),
]
OutputForm = Annotated[
    Form,
    typer.Option(
        "--output", "-o", help="The output form; wide shows everything on each line.", rich_help_panel=OUTPUT
    ),
]
# An outage that is longer than this is shown in red.
OUTAGE_SLO = "30s"
OutageSlo = Annotated[
    str,
    typer.Option(
        "--outage-slo",
        metavar="TIME",
        help="Show an outage in red on the screen if it is longer than TIME.",
        rich_help_panel=OUTPUT,
    ),
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="The reason (recorded with the run).")]


@dataclass(frozen=True, slots=True)
class Selection:
    """The typed services and their inventory. Each field is an argument or a separate option."""

    names: Names = None
    named: NamedByOption = None
    everything: All = False
    pair: PairName = None
    inventory: InventoryFile = None

    @property
    def services(self) -> tuple[str, ...]:
        """The names from arguments and from options."""
        return (*(self.names or ()), *(self.named or ()))


@dataclass(frozen=True, slots=True)
class Filter:
    """The same as ``Selection``, for commands that read every service unless some are named."""

    names: Names = None
    named: NamedByOption = None
    pair: PairName = None
    inventory: InventoryFile = None

    @property
    def services(self) -> tuple[str, ...]:
        """The names from arguments and from options. Empty means all services."""
        return (*(self.names or ()), *(self.named or ()))


def site_option(help_text: str, *old_words: str) -> typer.models.OptionInfo:
    """The option for the site of a command that has only one site."""
    found: typer.models.OptionInfo = typer.Option(
        "--site",
        *old_words,
        metavar="SITE",
        help=help_text,
        rich_help_panel=WHAT,
        autocompletion=completion.sites,
    )
    return found
