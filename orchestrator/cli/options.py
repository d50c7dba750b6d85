"""The options and arguments that several commands share, worded once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Vpn = Annotated[
    list[str] | None,
    typer.Option(
        "--vpn",
        "--service",
        metavar="NAME",
        help="A message VPN, or the clients of an AMPS instance; repeat for several.",
    ),
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
DryRun = Annotated[bool, typer.Option("--dry-run", help="Read, check, print every command; change nothing.")]
AsJson = Annotated[bool, typer.Option("--json", help="For machines: JSON, one value a line.")]
LinesAsJson = Annotated[bool, typer.Option("--json", help="One JSON value a line, ending in a result object.")]
EventsAsJson = Annotated[bool, typer.Option("--json", help="One JSON event a line, ending in a result object.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask whether to start.")]
Xa = Annotated[
    str | None,
    typer.Option(
        "--xa",
        metavar="ask|stop|FILE",
        help="Prepared transactions: ask, stop, or the decisions in FILE (default: ask on a terminal, else stop).",
    ),
]
OnBridgeLoss = Annotated[
    str | None,
    typer.Option("--on-bridge-loss", metavar="wait|revert|escalate", help="Decided beforehand (unattended: revert)."),
]
OnStall = Annotated[
    str | None,
    typer.Option("--on-stall", metavar="wait|revert|escalate", help="Decided beforehand (unattended: revert)."),
]
FailFast = Annotated[
    bool, typer.Option("--fail-fast", help="One that fails calls off those that can still turn back.")
]
Faults = Annotated[
    list[str] | None,
    typer.Option(
        "--fault", metavar="TEXT|FILE", help="Simulated pair only: 'drain: bridge down 5s', or a file of them."
    ),
]
Wave = Annotated[
    int | None, typer.Option("--wave", metavar="N", min=1, help="Begin N services at a time, wave after wave.")
]
Canary = Annotated[
    str | None,
    typer.Option("--canary", metavar="NAME", help="This one goes first, alone; if it fails, no other begins."),
]
MaxFailed = Annotated[
    int, typer.Option("--max-failed", metavar="N", min=1, help="With so many failed, no further wave begins.")
]
Key = Annotated[
    str | None,
    typer.Option(
        "--idempotency-key", metavar="TEXT", help="Asked again with the same one, the first run's result is given."
    ),
]
NoWait = Annotated[
    bool,
    typer.Option(
        "--no-wait/--wait", help="Return once a process of its own leads the run, instead of waiting for its end."
    ),
]
ApproveBy = Annotated[
    int | None,
    typer.Option("--approve-by", metavar="N", min=1, max=10, help="Begin only once N other people have agreed."),
]
ApproveWithin = Annotated[
    str | None,
    typer.Option("--approve-within", metavar="TIME", help="How long they have; then it is refused (default: 1h)."),
]
BreakGlass = Annotated[
    str | None,
    typer.Option("--break-glass", metavar="REASON", help="Begin without the approvals of others; recorded."),
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
