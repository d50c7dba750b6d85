"""``failover pipeline …``: answers questions about exports of both sites, with DuckDB on this machine or with Spark."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator.cli.commands import pipeline_watch
from orchestrator.cli.help import AFTER
from orchestrator.cli.options import AsJson
from orchestrator.cli.spark_options import SparkOptions, on_spark

_APP = typer.Typer(help="Analyse exports of both sites: compare, explain, forecast.", no_args_is_help=True)

Instances = (
    "A directory with journal/… (from amps_journal_dump), sow/TOPIC.TYPE.txt (from amps_sow_dump -v) and config.xml."
)
Left = Annotated[str, typer.Argument(metavar="LEFT", help="The export of one site: a directory or a URI.")]
Right = Annotated[str, typer.Argument(metavar="RIGHT", help="The export of the other site.")]
Out = Annotated[
    str | None,
    typer.Option(
        "--out", "-o", metavar="DIR", help="Also write report.json, and the differences as Parquet, to DIR."
    ),
]
# The limit of the option. A longer or infinite time is a typing error.
_YEAR_S = 366 * 86_400
Skew = Annotated[
    float,
    typer.Option(
        "--clock-skew", metavar="SECONDS", min=0, max=_YEAR_S, help="The maximum difference between the clocks."
    ),
]


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    pipeline_watch.register(_APP)
    app.add_typer(_APP, name="pipeline", rich_help_panel=AFTER)


@_APP.command("reconcile")
@on_spark
def reconcile(
    *,
    context: typer.Context,
    left: Left,
    right: Right,
    active: Annotated[
        str | None,
        typer.Option(
            "--active", metavar="left|right", help="The side that serves clients (default: from the exports)."
        ),
    ] = None,
    failover_at: Annotated[
        str | None,
        typer.Option(
            "--failover-at",
            metavar="TIME",
            help="The time of the fail-over, in ISO 8601 (default: from the exports).",
        ),
    ] = None,
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="RUN", help="The run that needs this evidence (default: from the exports)."),
    ] = None,
    skew: Skew = 1.0,
    interval: Annotated[
        float,
        typer.Option(
            "--interval",
            metavar="SECONDS",
            min=0.001,
            max=_YEAR_S,
            help="The length of the time intervals in the report.",
        ),
    ] = 60.0,
    equal_duplicates: Annotated[
        bool,
        typer.Option(
            "--equal-duplicates", help="Also search for duplicates at both sites; this reads every message."
        ),
    ] = False,
    spark: SparkOptions,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Show what differs between two exports, what was lost, and whether it is safe to fail back.

    Exit code 4: a person should read the report.

    \b
    Example:
      failover pipeline reconcile exports/ny exports/nj --failover-at 2026-11-20T03:00:00Z --out evidence
    """
    from orchestrator.cli.context import clock_of
    from orchestrator.cli.exports.reconcile import ReconcileRequest, reconcile_exports

    ask = ReconcileRequest(active, failover_at, run, skew, interval, equal_duplicates)
    raise typer.Exit(reconcile_exports(clock_of(context), left, right, ask, spark, out, as_json=as_json))


@_APP.command("journals")
@on_spark
def journals(
    *,
    context: typer.Context,
    left: Annotated[str, typer.Argument(metavar="LEFT", help="Dumps of one AMPS instance: a directory or a file.")],
    right: Annotated[str, typer.Argument(metavar="RIGHT", help="Dumps of the other instance.")],
    skew: Skew = 1.0,
    spark: SparkOptions,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Show the differences between the transaction logs of two AMPS instances, and what a fail-over left behind.

    Exit code 4: a person should read the report.

    \b
    Example:
      amps_journal_dump AMPS.0000000000.journal > dumps/ny/journal/0.txt
      failover pipeline journals dumps/ny dumps/nj --out evidence
    """
    from orchestrator.cli.context import clock_of
    from orchestrator.cli.exports.instances import journals_of

    raise typer.Exit(journals_of(clock_of(context), left, right, skew, spark, out, as_json=as_json))


@_APP.command("sow")
@on_spark
def sow(
    *,
    context: typer.Context,
    left: Annotated[str, typer.Argument(metavar="LEFT", help=Instances)],
    right: Annotated[
        str, typer.Argument(metavar="RIGHT", help="The directory of the other instance, with the same files.")
    ],
    keys: Annotated[
        list[str] | None,
        typer.Option(
            "--keys",
            metavar="TOPIC.TYPE=/FIELD,…",
            help="The key of a topic that is not defined in a config.xml; repeat for several topics.",
        ),
    ] = None,
    skew: Skew = 1.0,
    spark: SparkOptions,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Rebuild the SOW of two AMPS instances from their logs, and explain every difference.

    Exit code 4: a person should read the report.

    \b
    Example:
      amps_sow_dump -v orders.sow > dumps/ny/sow/orders.json.txt
      failover pipeline sow dumps/ny dumps/nj --keys orders.json=/orderId
    """
    from orchestrator.cli.context import clock_of
    from orchestrator.cli.exports.instances import sows_of

    raise typer.Exit(sows_of(clock_of(context), left, right, keys or [], skew, spark, out, as_json=as_json))


@_APP.command("history")
@on_spark
def history(
    *,
    context: typer.Context,
    records: Annotated[
        list[str], typer.Argument(metavar="RECORDS…", help="Exported runs and stored checks: files or directories.")
    ],
    learn: Annotated[bool, typer.Option("--learn", help="Use the result for the estimates of dry runs.")] = False,
    spark: SparkOptions,
    out: Annotated[
        str | None,
        typer.Option(
            "--out", "-o", metavar="DIR", help="Also write history.html, report.json and other files to DIR."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show how long each phase of past runs took, how fast queues drained, and which actions were retried.

    Exit code 4 if a file could not be used.

    \b
    Examples:
      failover runs export --all --parquet records
      failover check --json > records/check-20261120.json
      failover pipeline history records --learn --out history
    """
    from orchestrator.cli.exports.history import history as run
    from orchestrator.cli.tools import tools as tools_of

    raise typer.Exit(run(tools_of(context), records, spark, out, learn=learn, as_json=as_json))
