"""The options and arguments that several commands share, worded once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli import completion
from orchestrator.cli.help import DECIDE, OUTPUT, WHAT
from orchestrator.cli.render.forms import Form

# The words for a service of the procedure on paper; a plain word names one too.
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
        help="The pair, if the inventory has several.",
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
        help="Default: $FAILOVER_INVENTORY, or the simulated pair.",
        rich_help_panel=WHAT,
    ),
]
Readings = Annotated[
    Path | None,
    typer.Option("--readings", metavar="DIR", help="Also keep each reading there, for `failover pipeline watch`."),
]
AsJson = Annotated[bool, typer.Option("--json", help="For machines: JSON, one value a line.", rich_help_panel=OUTPUT)]
LinesAsJson = Annotated[
    bool, typer.Option("--json", help="One JSON value a line, ending in a result object.", rich_help_panel=OUTPUT)
]
EventsAsJson = Annotated[
    bool, typer.Option("--json", help="One JSON event a line, ending in a result object.", rich_help_panel=OUTPUT)
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
OnStall = Annotated[
    str | None,
    typer.Option(
        "--on-stall",
        metavar="wait|revert|escalate",
        help="If the drain stalls (unattended: revert).",
        rich_help_panel=DECIDE,
    ),
]
Faults = Annotated[
    list[str] | None,
    typer.Option(
        "--fault", metavar="TEXT|FILE", help="Simulated pair only: 'drain: bridge down 5s', or a file of them."
    ),
]
RunbookName = Annotated[
    str | None,
    typer.Option(
        "--runbook",
        metavar="NAME|FILE",
        help="Another procedure than the usual one of this family.",
        rich_help_panel=WHAT,
    ),
]
RunName = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        help="Run ID, unique prefix, or 'last' (default: the unfinished one).",
        autocompletion=completion.runs,
    ),
]
PastRunName = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        help="Run ID, unique prefix, or 'last' (default: the newest one).",
        autocompletion=completion.runs,
    ),
]
OutputForm = Annotated[
    Form,
    typer.Option("--output", "-o", help="wide: everything on each line.", rich_help_panel=OUTPUT),
]
# Without an active site for longer than this, the outage is red.
OUTAGE_SLO = "30s"
OutageSlo = Annotated[
    str,
    typer.Option(
        "--outage-slo", metavar="TIME", help="On the screen, a longer outage is red.", rich_help_panel=OUTPUT
    ),
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; recorded with the run.")]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which services of which inventory, as typed. Each field is an argument or a separate option."""

    names: Names = None
    named: NamedByOption = None
    everything: All = False
    pair: PairName = None
    inventory: InventoryFile = None

    @property
    def services(self) -> tuple[str, ...]:
        """The names, however they were given."""
        return (*(self.names or ()), *(self.named or ()))


@dataclass(frozen=True, slots=True)
class Filter:
    """The same for commands that read every service unless some are named."""

    names: Names = None
    named: NamedByOption = None
    pair: PairName = None
    inventory: InventoryFile = None

    @property
    def services(self) -> tuple[str, ...]:
        """The names, however they were given; empty: all."""
        return (*(self.names or ()), *(self.named or ()))


def site_option(help_text: str, *old_words: str) -> typer.models.OptionInfo:
    """The one word for a site where a command has only one."""
    found: typer.models.OptionInfo = typer.Option(
        "--site",
        *old_words,
        metavar="SITE",
        help=help_text,
        rich_help_panel=WHAT,
        autocompletion=completion.sites,
    )
    return found
