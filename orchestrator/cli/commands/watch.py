"""``failover watch``: the replication queue of the acting site, or AMPS instances, for as long as the mate is away."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator.cli.options import All, InventoryFile, LinesAsJson, PairName, Readings, Services
from orchestrator.errors import DefinitionError

Interval = Annotated[str, typer.Option("--interval", metavar="TIME", help="Between two readings, as in 5s or 2m.")]


def register(app: typer.Typer) -> None:
    """Add this command to ``app``."""
    app.command("watch")(watch)


def watch(
    context: typer.Context,
    services: Services = None,
    everything: All = False,
    pair: PairName = None,
    site: Annotated[
        str | None, typer.Option("--site", metavar="SITE", help="The acting site (default: the one that is active).")
    ] = None,
    inventory: InventoryFile = None,
    interval: Interval = "10s",
    suspend_at: Annotated[
        str | None,
        typer.Option("--suspend-at", metavar="PERCENT", help="Suspend replication when the queue is so full."),
    ] = None,
    readings: Readings = None,
    as_json: LinesAsJson = False,
) -> None:
    """Follow the replication queue of the acting site.

    Usage, rate, time until it is full, the high mark. It says when replication should be suspended, and with
    --suspend-at does it, as a recorded run that `failover restore` takes back. Of AMPS, both instances: their links,
    and the room for journals; nothing can be suspended there. Changes nothing otherwise. Goes on until Ctrl-C.

    \b
    Examples:
      failover watch --vpn Trading_VPN
      failover watch --all --interval 30s --json
      failover watch --vpn Trading_VPN --suspend-at 80%
      failover watch --all --readings readings
      failover watch --service orders --inventory amps.yaml
    """
    from orchestrator.cli.pairs.watch import watch_pair
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.watch.request import WatchRequest

    request = WatchRequest(
        services=tuple(services or ()),
        everything=everything,
        pair=pair,
        site=site,
        inventory=inventory,
        interval_s=seconds_of("--interval", interval),
        suspend_at=None if suspend_at is None else percent_of("--suspend-at", suspend_at),
        keeps_samples=readings is not None,
    )
    raise typer.Exit(watch_pair(tools_of(context), request, readings, as_json=as_json))


def seconds_of(option: str, text: str, *, least: float | None = None) -> float:
    """Seconds of ``10s``; nothing at all only where ``least`` is 0. Raises ``DefinitionError``."""
    from orchestrator.model.runbook import parse_duration

    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise DefinitionError(f"{option} {text}: {error}") from error
    if seconds <= 0 and seconds != least:
        raise DefinitionError(f"{option} {text}: a time of nothing is none")
    return seconds


def percent_of(option: str, text: str) -> float:
    """80.0 of ``80%`` or ``80``. Raises ``DefinitionError``."""
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 100:
        raise DefinitionError(f"{option} {text}: write a number from 0 to 100, as in 80%")
    return percent
