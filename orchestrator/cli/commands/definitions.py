"""``failover runbook …`` and ``failover inventory …``: show definitions and check them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.help import BUILD
from orchestrator.cli.options import AsJson

_RUNBOOK = typer.Typer(help="Runbooks: list, show, lint, explore, graph, schema.", no_args_is_help=True)
_INVENTORY = typer.Typer(help="Inventories: show, lint, schema.", no_args_is_help=True)
_Source = Annotated[
    str, typer.Argument(metavar="NAME|FILE", help="A name from `failover runbook list`, or a runbook file.")
]
_File = Annotated[Path, typer.Argument(metavar="FILE")]


@_RUNBOOK.callback()
@_INVENTORY.callback()
def _of_all() -> None:
    """Families that files declare are known too."""
    from orchestrator.operations.declared_families import offer_families

    offer_families()


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    app.add_typer(_RUNBOOK, name="runbook", rich_help_panel=BUILD)
    app.add_typer(_INVENTORY, name="inventory", rich_help_panel=BUILD)


@_RUNBOOK.command("list")
def list_runbooks(as_json: AsJson = False) -> None:
    """List the runbooks that come with the product.

    \b
    Example:
      failover runbook list
    """
    from orchestrator.cli.render.documents import print_runbooks

    print_runbooks(as_json=as_json)


@_RUNBOOK.command("show")
def show_runbook(source: _Source, as_json: AsJson = False) -> None:
    """Show the steps of a runbook in words.

    \b
    Examples:
      failover runbook show solace/controlled
      failover runbook show own.yaml
    """
    from orchestrator.cli.render.documents import print_runbook

    print_runbook(source, as_json=as_json)


@_RUNBOOK.command("lint")
def lint_runbook(
    source: _Source,
    adapter: Annotated[
        list[str] | None,
        typer.Option(
            "--adapter",
            metavar="NAME",
            help="Check the runbook against the readings and actions of this adapter; repeat for each adapter of a site."
            " Default: the adapters of a simulated site of the runbook's family.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check a runbook. Exit code 2 if it cannot be read, 4 if it has an error.

    It checks the file, and then explores the runbook for a few seconds. It prints the shortest way to each broken promise
    step by step, and how much was explored. If the runbook uses a reading or action that no simulated pair has, the
    command names it and explores nothing.

    \b
    Examples:
      failover runbook lint own.yaml
      failover runbook lint own.yaml --adapter solace-semp --adapter solace-cli
    """
    from orchestrator.cli.render.documents import lint_runbook_file

    raise typer.Exit(lint_runbook_file(source, adapter or [], as_json=as_json))


@_RUNBOOK.command("explore")
def explore_runbook(
    source: _Source,
    disturbances: Annotated[
        int,
        typer.Option(
            "--disturbances",
            metavar="N",
            min=0,
            help="The maximum number of failures, kills, aborts and actions of others in one path.",
        ),
    ] = 1,
    states: Annotated[
        int, typer.Option("--states", metavar="N", min=1, help="The maximum number of states in each exploration.")
    ] = 400_000,
    as_json: AsJson = False,
) -> None:
    """Explore every order of events of a runbook, on a model of a pair.

    The events are outcomes, decisions, kills and failures. No device is read. A runbook that changes a whole site (its
    fence, its interfaces) is also explored with two services of the same sites. It prints the counts, and the shortest
    way to each broken promise. Exit code 4 if a promise is broken, or if the model does not know a word of the runbook.

    \b
    Examples:
      failover runbook explore solace/uncontrolled
      failover runbook explore own.yaml --disturbances 2
    """
    from orchestrator.cli.render.exploration import explore_runbook as explore

    raise typer.Exit(explore(source, states=states, disturbances=disturbances, as_json=as_json))


@_RUNBOOK.command("graph")
def graph_runbook(source: _Source) -> None:
    """Print a runbook as a Mermaid flowchart.

    \b
    Example:
      failover runbook graph solace/controlled > controlled.mmd
    """
    from orchestrator.cli.render.documents import print_graph

    print_graph(source)


@_RUNBOOK.command("schema")
def runbook_schema() -> None:
    """Print the JSON Schema of runbooks, for an editor.

    \b
    Example:
      failover runbook schema > runbook.schema.json
    """
    from orchestrator.cli.render.documents import print_schema

    print_schema("runbook")


@_INVENTORY.command("show")
def show_inventory(file: _File, as_json: AsJson = False) -> None:
    """Show an inventory: sites, devices, pairs. It shows references to secrets, never the secrets.

    \b
    Example:
      failover inventory show sites.yaml
    """
    from orchestrator.cli.render.documents import print_inventory

    print_inventory(file, as_json=as_json)


@_INVENTORY.command("lint")
def lint_inventory(file: _File, as_json: AsJson = False) -> None:
    """Check an inventory. Exit code 2 if it cannot be read, 4 if it has an error.

    \b
    Example:
      failover inventory lint sites.yaml
    """
    from orchestrator.cli.render.documents import lint_inventory_file

    raise typer.Exit(lint_inventory_file(file, as_json=as_json))


@_INVENTORY.command("schema")
def inventory_schema() -> None:
    """Print the JSON Schema of inventories, for an editor.

    \b
    Example:
      failover inventory schema > inventory.schema.json
    """
    from orchestrator.cli.render.documents import print_schema

    print_schema("inventory")
