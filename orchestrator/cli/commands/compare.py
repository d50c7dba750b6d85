"""``failover compare``: snapshots of both sites of a pair, reconciled, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.help import AFTER
from orchestrator.cli.option_groups import together
from orchestrator.cli.options import AsJson, Filter
from orchestrator.cli.spark_options import SparkOptions, on_spark


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("compare", rich_help_panel=AFTER)(together(which=Filter)(on_spark(compare)))


def compare(
    *,
    context: typer.Context,
    which: Filter,
    run: Annotated[
        str | None,
        typer.Option("--run", metavar="RUN", help="The fail-over run that needs this evidence: its ID, or 'last'."),
    ] = None,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="DIR", help="Keep both exports and the evidence in DIR."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Also write the report to one HTML file.")
    ] = None,
    spark: SparkOptions,
    as_json: AsJson = False,
) -> None:
    """Compare both sites, and show whether it is safe to fail back.

    It only reads. Exit code 4: a fail-back is not shown to be safe. With --out, the same command can continue within an
    hour after it was stopped; it does not read the same data again.

    \b
    Examples:
      failover compare --pair ny-nj --html compared.html
      failover compare --pair ny-nj --run last --out evidence
    """
    from orchestrator.cli.exports.compare import CompareRequest, compare_pair
    from orchestrator.cli.tools import tools as tools_of

    tools = tools_of(context)
    request = CompareRequest(which.pair, which.services, run, out, html)
    raise typer.Exit(compare_pair(tools, tools.inventory(which.inventory), request, spark, as_json=as_json))
