"""``failover pipeline watch``: follows the readings that other commands keep."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from orchestrator.cli.options import LinesAsJson
from orchestrator.cli.spark_options import SparkOptions, on_spark


def _time(name: str, what: str) -> Any:
    """An option that takes a time."""
    return typer.Option(name, metavar="TIME", help=what)


def register(group: typer.Typer) -> None:
    """Add this command to ``group``."""
    group.command("watch")(on_spark(watch))


def watch(
    context: typer.Context,
    readings: Annotated[
        str,
        typer.Argument(
            metavar="DIR", help="The readings that `failover watch` and `failover check` keep with --readings."
        ),
    ],
    spark: SparkOptions,
    checkpoint: Annotated[
        str,
        typer.Option(
            "--checkpoint",
            metavar="DIR",
            help="Store the progress in DIR, so that the same command continues after a stop.",
        ),
    ],
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="DIR", help="Write alerts to DIR (default: in the checkpoint)."),
    ] = None,
    available_now: Annotated[
        bool, typer.Option("--available-now", "--once", help="Read the existing readings, then end; for cron.")
    ] = False,
    interval: Annotated[str, _time("--interval", "How often to search for new readings.")] = "5s",
    window: Annotated[str, _time("--window", "The time over which rates are computed.")] = "5m",
    stall: Annotated[str, _time("--stall", "A queue without progress for this time is stalled.")] = "2m",
    late: Annotated[str, _time("--late", "How long to wait for a late reading.")] = "30s",
    full_within: Annotated[str, _time("--full-within", "Alert if a queue will be full within this time.")] = "1h",
    as_json: LinesAsJson = False,
) -> None:
    """Follow kept readings: drain rate, time until empty and until full, stalls; alerts as CloudEvents.

    It runs until Ctrl-C. When it is started again, it continues where it stopped: no alert is lost or written twice.
    Exit code 4 if an alarm was active at the end, or if a line could not be used.

    \b
    Examples:
      failover watch --all --readings readings
      failover pipeline watch readings --checkpoint followed
      failover pipeline watch readings --checkpoint followed --available-now --json --out alerts
    """
    from orchestrator.cli.commands.watch import seconds_of
    from orchestrator.cli.context import clock_of
    from orchestrator.cli.exports.follow import FollowRequest, follow_readings

    request = FollowRequest(
        readings=readings,
        checkpoint=checkpoint,
        out=out,
        every_s=None if available_now else seconds_of("--interval", interval),
        window_s=seconds_of("--window", window),
        stall_s=seconds_of("--stall", stall),
        late_s=seconds_of("--late", late, least=0.0),
        full_within_s=seconds_of("--full-within", full_within),
    )
    raise typer.Exit(follow_readings(clock_of(context), request, spark, as_json=as_json))
