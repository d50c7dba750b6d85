"""The options and arguments that several commands share, worded once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

# A service is a message VPN to most who type this.
SERVICE_FLAGS = ("--vpn", "--service")
Services = Annotated[
    list[str] | None,
    typer.Option(
        *SERVICE_FLAGS,
        metavar="NAME",
        help="A message VPN, or the clients of an AMPS instance; repeat for several.",
    ),
]
SomeServices = Annotated[
    list[str] | None,
    typer.Option(*SERVICE_FLAGS, metavar="NAME", help="A service; repeat for several (default: all)."),
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
Readings = Annotated[
    Path | None,
    typer.Option("--readings", metavar="DIR", help="Also keep each reading there, for `failover pipeline watch`."),
]
AsJson = Annotated[bool, typer.Option("--json", help="For machines: JSON, one value a line.")]
LinesAsJson = Annotated[bool, typer.Option("--json", help="One JSON value a line, ending in a result object.")]
EventsAsJson = Annotated[bool, typer.Option("--json", help="One JSON event a line, ending in a result object.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether to start.")]
OnStall = Annotated[
    str | None,
    typer.Option("--on-stall", metavar="wait|revert|escalate", help="Decided beforehand (unattended: revert)."),
]
Faults = Annotated[
    list[str] | None,
    typer.Option(
        "--fault", metavar="TEXT|FILE", help="Simulated pair only: 'drain: bridge down 5s', or a file of them."
    ),
]
RunbookName = Annotated[
    str | None,
    typer.Option("--runbook", metavar="NAME|FILE", help="Another procedure than the usual one of this family."),
]
RunName = Annotated[
    str | None,
    typer.Argument(metavar="RUN", help="Its name, a beginning of it, or 'last' (default: the unfinished one)."),
]
PastRunName = Annotated[
    str | None,
    typer.Argument(metavar="RUN", help="Its name, a beginning of it, or 'last' (default: the newest one)."),
]
Reason = Annotated[str, typer.Option("--reason", metavar="TEXT", help="Why; recorded with the run.")]
