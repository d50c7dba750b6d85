"""``failover watch``: follows the replication queue of the acting site, or AMPS instances, while the mate is away."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from orchestrator.cli.help import AFTER
from orchestrator.cli.option_groups import together
from orchestrator.cli.options import LinesAsJson, Readings, Selection, site_option
from orchestrator.errors import DefinitionError

Interval = Annotated[str, typer.Option("--interval", metavar="TIME", help="Time between two readings: 5s, 2m.")]


def register(app: typer.Typer) -> None:
    """Add this command to ``app``."""
    app.command("watch", rich_help_panel=AFTER)(watch)


@together(which=Selection)
def watch(
    context: typer.Context,
    which: Selection,
    site: Annotated[str | None, site_option("The active site (default: the site that serves now).")] = None,
    interval: Interval = "10s",
    suspend_at: Annotated[
        str | None,
        typer.Option("--suspend-at", metavar="PERCENT", help="Suspend replication when the queue is PERCENT full."),
    ] = None,
    readings: Readings = None,
    as_json: LinesAsJson = False,
) -> None:
    """Follow the replication queue while the mate is away.

    It shows the queue of the active site: usage, rate, time until the queue is full, and the high mark. It reports when
    replication should be suspended. With --suspend-at, it suspends replication in a recorded run, which `failover
    restore` undoes. For AMPS, it follows the links and the space for journals of both instances; it cannot suspend
    replication there. It changes nothing else, and runs until Ctrl-C.

    \b
    Examples:
      failover watch Trading_VPN
      failover watch --all --interval 30s --json
      failover watch Trading_VPN --suspend-at 80%
      failover watch --all --readings readings
      failover watch orders --inventory amps.yaml
    """
    from orchestrator.cli.pairs.connecting import say_connecting
    from orchestrator.cli.tools import tools as tools_of

    every_s = seconds_of("--interval", interval)
    mark = None if suspend_at is None else percent_of("--suspend-at", suspend_at)
    tools = tools_of(context)
    inventory = tools.inventory(which.inventory)
    if not as_json:
        say_connecting(tools, inventory, which.pair)
    from orchestrator.cli.pairs.watch import watch_pair  # takes longer to load than all imports above
    from orchestrator.operations.watch.request import WatchRequest

    request = WatchRequest(
        services=which.services,
        everything=which.everything,
        pair=which.pair,
        site=site,
        inventory=which.inventory,
        interval_s=every_s,
        suspend_at=mark,
        keeps_samples=readings is not None,
    )
    raise typer.Exit(watch_pair(tools, inventory, request, readings, as_json=as_json))


def seconds_of(option: str, text: str, *, least: float | None = None) -> float:
    """The seconds of a text such as ``10s``. 0 is allowed only if ``least`` is 0. Raises ``DefinitionError``."""
    from orchestrator.model.runbook import parse_duration

    try:
        seconds = parse_duration(text)
    except ValueError as error:
        raise DefinitionError(f"{option} {text}: {error}") from error
    if seconds <= 0 and seconds != least:
        raise DefinitionError(f"{option} {text}: the time must be longer than 0 seconds")
    return seconds


def moment_before(option: str, text: str, now: float) -> float:
    """Seconds since the epoch of an ISO 8601 time, or of an age such as ``7d`` before ``now``. A time without a zone is
    UTC. Raises ``DefinitionError``."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return now - seconds_of(option, text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def percent_of(option: str, text: str) -> float:
    """The number of a percentage: 80.0 for ``80%`` or ``80``. Raises ``DefinitionError``."""
    try:
        percent = float(text.removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not 0 <= percent <= 100:
        raise DefinitionError(f"{option} {text}: write a number from 0 to 100, as in 80%")
    return percent
