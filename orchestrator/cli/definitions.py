"""``failover runbook …`` and ``failover inventory …``: look at definitions and check them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.options import AsJson

_RUNBOOK = typer.Typer(help="Runbooks: list, show, lint, graph, schema.", no_args_is_help=True)
_INVENTORY = typer.Typer(help="Inventories: show, lint, schema.", no_args_is_help=True)
_Source = Annotated[str, typer.Argument(metavar="NAME|FILE", help="solace/controlled, or a file of your own.")]
_File = Annotated[Path, typer.Argument(metavar="FILE")]


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    app.add_typer(_RUNBOOK, name="runbook")
    app.add_typer(_INVENTORY, name="inventory")


@_RUNBOOK.command("list")
def list_runbooks() -> None:
    """The runbooks that come with the product."""
    from orchestrator.cli.documents import print_runbooks

    print_runbooks()


@_RUNBOOK.command("show")
def show_runbook(source: _Source) -> None:
    """A runbook's steps in words."""
    from orchestrator.cli.documents import print_runbook

    print_runbook(source)


@_RUNBOOK.command("lint")
def lint_runbook(
    source: _Source,
    adapter: Annotated[
        list[str] | None,
        typer.Option(
            "--adapter",
            help="Whose readings and actions it is checked against, as often as a site has; default: mock.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a runbook. Exit code 2 if it cannot be read, 4 if it has an error."""
    from orchestrator.cli.documents import lint_runbook_file

    raise typer.Exit(lint_runbook_file(source, adapter or ["mock"], as_json=as_json))


@_RUNBOOK.command("graph")
def graph_runbook(source: _Source) -> None:
    """A runbook as a Mermaid flowchart."""
    from orchestrator.cli.documents import print_graph

    print_graph(source)


@_RUNBOOK.command("schema")
def runbook_schema() -> None:
    """The JSON Schema of runbooks."""
    from orchestrator.cli.documents import print_schema

    print_schema("runbook")


@_INVENTORY.command("show")
def show_inventory(file: _File) -> None:
    """An inventory: sites, devices, pairs."""
    from orchestrator.cli.documents import print_inventory

    print_inventory(file)


@_INVENTORY.command("lint")
def lint_inventory(file: _File, as_json: AsJson = False) -> None:
    """Check an inventory. Exit code 2 if it cannot be read, 4 if it has an error."""
    from orchestrator.cli.documents import lint_inventory_file

    raise typer.Exit(lint_inventory_file(file, as_json=as_json))


@_INVENTORY.command("schema")
def inventory_schema() -> None:
    """The JSON Schema of inventories."""
    from orchestrator.cli.documents import print_schema

    print_schema("inventory")
