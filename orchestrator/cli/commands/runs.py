"""``failover runs …``: the record of what was done."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.options import AsJson, EventsAsJson, PastRunName
from orchestrator.errors import DefinitionError

_APP = typer.Typer(help="The record: list, show, report, export, verify, keygen.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    app.add_typer(_APP, name="runs")


@_APP.command("list")
def list_runs(
    context: typer.Context,
    as_json: AsJson = False,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="The newest so many.")] = 20,
) -> None:
    """All runs, newest first. Exit code 4 if the record of one cannot be read.

    \b
    Example:
      failover runs list --limit 5
    """
    from orchestrator.cli.render.records import print_list
    from orchestrator.cli.tools import tools as tools_of

    raise typer.Exit(print_list(tools_of(context), limit, as_json=as_json))


@_APP.command("show")
def show_run(context: typer.Context, run: PastRunName = None, as_json: AsJson = False) -> None:
    """One run: how it stands, and what to do next.

    Its lanes, steps, decisions and open questions.

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
    """The JSON Schema of what `failover runs show --json` prints.

    \b
    Example:
      failover runs schema > run.schema.json
    """
    from orchestrator.cli.render.documents import print_schema

    print_schema("run")


@_APP.command("report")
def report_run(context: typer.Context, run: PastRunName = None, as_json: EventsAsJson = False) -> None:
    """Everything that happened in one run, a line an event.

    \b
    Examples:
      failover runs report last
      failover runs report 20261120-0305 --json
    """
    from orchestrator.cli.render.records import print_story
    from orchestrator.cli.tools import tools as tools_of

    print_story(tools_of(context), run, as_json=as_json)


@_APP.command("export")
def export_run(
    context: typer.Context,
    run: PastRunName = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", help="Default: stdout.")] = None,
    parquet: Annotated[
        Path | None, typer.Option("--parquet", metavar="DIR", help="As Parquet instead, a file for each run.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="With --parquet: every run.")] = False,
) -> None:
    """The records of one run as JSON Lines; or as Parquet.

    JSON Lines have their hashes with them, for `failover runs verify FILE`.

    \b
    Examples:
      failover runs export last --output run.jsonl
      failover runs export --all --parquet exports/runs
    """
    from orchestrator.cli.render.records import export, export_parquet
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.errors import DefinitionError

    if parquet is not None and output is not None:
        raise DefinitionError("--output and --parquet contradict each other", hint="give one of them")
    if every and (parquet is None or run is not None):
        raise DefinitionError("--all exports every run, with --parquet DIR and no run named")
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
    everything: Annotated[bool, typer.Option("--all", help="All runs, which is the default.")] = False,
    file: Annotated[Path | None, typer.Option("--file", metavar="EXPORT", help="An exported file.")] = None,
    key: Annotated[
        list[Path] | None,
        typer.Option(
            "--key", metavar="PUBLIC", help="Demand a signature by this public key; repeat for several keys."
        ),
    ] = None,
    head: Annotated[
        str | None,
        typer.Option("--head", metavar="NUMBER:HASH", help="Demand this record, as an earlier verify showed it."),
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
        raise DefinitionError("say one of RUN, --all, --file")
    raise typer.Exit(verify(tools_of(context), VerifyRequest(run, file, key or (), head), as_json=as_json))


@_APP.command("keygen")
def make_key(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="The private key; default: in the state directory.")
    ] = None,
    public: Annotated[
        bool, typer.Option("--public", help="Make nothing: print the public half of the key that is there.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a pair of keys to sign the record with.

    FILE is the private one, FILE.pub the public one.

    \b
    Examples:
      failover runs keygen
      failover runs keygen /etc/failover/signing.key
      failover runs keygen --public
    """
    from orchestrator.cli.runs.keygen import make_keys, show_public
    from orchestrator.cli.tools import tools as tools_of

    (show_public if public else make_keys)(tools_of(context), file, as_json=as_json)
