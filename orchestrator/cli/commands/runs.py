"""``failover runs …``: the records of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.help import DAILY, GroupedCommand
from orchestrator.cli.options import AsJson, EventsAsJson, Names, OutputForm, PastRunName
from orchestrator.cli.render.forms import Form, form_of
from orchestrator.errors import DefinitionError

_APP = typer.Typer(help="Records of runs: list, show, report, export, verify, keygen.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    app.add_typer(_APP, name="runs", rich_help_panel=DAILY)


@_APP.command("list", cls=GroupedCommand)
def list_runs(
    context: typer.Context,
    names: Names = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="Number of runs to show.")] = 20,
    status: Annotated[
        str | None,
        typer.Option("--status", metavar="WORD", help="Only runs with this outcome or status: done, interrupted, …"),
    ] = None,
    by: Annotated[
        str | None, typer.Option("--by", metavar="NAME", help="Only runs that this operator started.")
    ] = None,
    runbook: Annotated[
        str | None, typer.Option("--runbook", metavar="TEXT", help="Only runs whose runbook has TEXT in its name.")
    ] = None,
    since: Annotated[
        str | None,
        typer.Option("--since", metavar="TIME", help="Only runs since this time: 7d, 12h, or 2026-11-20T03:05:00Z."),
    ] = None,
    output: OutputForm = Form.TEXT,
    as_json: AsJson = False,
) -> None:
    """List runs, newest first.

    The list shows the outcome, start, duration and longest outage of each run, and who started it. Exit code 4 if the
    record of a run cannot be read.

    \b
    Examples:
      failover runs list --limit 5
      failover runs list Trading_VPN --status needs-operator --since 7d
      failover runs list -o wide
    """
    from orchestrator.cli.commands.watch import moment_before
    from orchestrator.cli.render.runs_list import RunFilter, print_list
    from orchestrator.cli.tools import tools as tools_of

    tools = tools_of(context)
    start = None if since is None else moment_before("--since", since, tools.clock.now())
    wanted = RunFilter(tuple(names or ()), status, by, runbook, start)
    raise typer.Exit(print_list(tools, limit, wanted, form_of(output, as_json=as_json)))


@_APP.command("show")
def show_run(context: typer.Context, run: PastRunName = None, as_json: AsJson = False) -> None:
    """Show the state of one run, and what to do next.

    It shows the lanes, steps, decisions and open questions of the run.

    \b
    Examples:
      failover runs show last
      failover runs show 20261120-0305 --json
    """
    from orchestrator.cli.render.records import print_run
    from orchestrator.cli.tools import tools as tools_of

    print_run(tools_of(context), run, as_json=as_json)


@_APP.command("schema")
def run_schema() -> None:
    """Print the JSON Schema of the output of `failover runs show --json`.

    \b
    Example:
      failover runs schema > run.schema.json
    """
    from orchestrator.cli.render.documents import print_schema

    print_schema("run")


@_APP.command("report")
def report_run(
    context: typer.Context,
    run: PastRunName = None,
    as_json: EventsAsJson = False,
    html: Annotated[
        Path | None,
        typer.Option(
            "--html", metavar="FILE", help="Write one HTML file, which checks the records that it contains."
        ),
    ] = None,
    outputs: Annotated[
        list[Path] | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write FILE.html, FILE.md or FILE.json; repeat for several files."
        ),
    ] = None,
) -> None:
    """Show every event of one run, one line for each; or write a document.

    The document has a timeline, decisions, commands, readings and predictions.

    \b
    Examples:
      failover runs report last
      failover runs report 20261120-0305 --json
      failover runs report last --html report.html
      failover runs report last -o report.md -o report.json
    """
    from orchestrator.cli.tools import tools as tools_of

    if html is None and not outputs:
        from orchestrator.cli.render.records import print_story

        print_story(tools_of(context), run, as_json=as_json)
        return
    from orchestrator.cli.render.run_files import formats_of, write_documents

    if as_json:
        raise DefinitionError(
            "--json prints events, but --html and --output write files",
            hint="leave out --json; `-o FILE.json` writes JSON to a file",
        )
    write_documents(tools_of(context), run, formats_of(html, outputs or ()))


@_APP.command("export")
def export_run(
    context: typer.Context,
    run: PastRunName = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="The file (default: stdout).")
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option("--parquet", metavar="DIR", help="Write Parquet to DIR instead, one file for each run."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="With --parquet: export every run.")] = False,
) -> None:
    """Export the records of one run as JSON Lines, or as Parquet.

    JSON Lines include the hashes, so that `failover runs verify FILE` can check the file.

    \b
    Examples:
      failover runs export last --output run.jsonl
      failover runs export --all --parquet exports/runs
    """
    from orchestrator.cli.render.records import export, export_parquet
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.errors import DefinitionError

    if parquet is not None and output is not None:
        raise DefinitionError("--output and --parquet cannot be used together", hint="leave out one option")
    if every and (parquet is None or run is not None):
        raise DefinitionError("--all exports every run; give --parquet DIR, and leave out RUN")
    if parquet is None:
        export(tools_of(context), run, output)
    else:
        export_parquet(tools_of(context), run, parquet, every=every)


@_APP.command("verify")
def verify_run(
    context: typer.Context,
    run: Annotated[
        str | None, typer.Argument(metavar="RUN|FILE", help="A run, or an exported file; default: all runs.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Check all runs (the default).")] = False,
    file: Annotated[Path | None, typer.Option("--file", metavar="EXPORT", help="An exported file.")] = None,
    key: Annotated[
        list[Path] | None,
        typer.Option(
            "--key", metavar="PUBLIC", help="Require a signature by this public key; repeat for several keys."
        ),
    ] = None,
    head: Annotated[
        str | None,
        typer.Option("--head", metavar="NUMBER:HASH", help="Require this record, which an earlier verify showed."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check that no record was edited, deleted, reordered or cut off. Exit code 4 if one was.

    \b
    Examples:
      failover runs verify
      failover runs verify last --key /mnt/auditor/failover.pub
      failover runs verify --file run.jsonl --key failover.pub --json
    """
    from orchestrator.cli.runs.verify import verify
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.operations.verify import VerifyRequest

    if sum((run is not None, everything, file is not None)) > 1:
        raise DefinitionError("RUN, --all and --file cannot be used together; give only one")
    raise typer.Exit(verify(tools_of(context), VerifyRequest(run, file, key or (), head), as_json=as_json))


@_APP.command("keygen")
def make_key(
    context: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="FILE", help="The file of the private key (default: in the state directory)."),
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Do not make keys; print the public key of the existing pair.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a pair of keys to sign the record with.

    FILE is the private key, and FILE.pub is the public key.

    \b
    Examples:
      failover runs keygen
      failover runs keygen /etc/failover/signing.key
      failover runs keygen --public
    """
    from orchestrator.cli.runs.keygen import make_keys, show_public
    from orchestrator.cli.tools import tools as tools_of

    (show_public if public else make_keys)(tools_of(context), file, as_json=as_json)
