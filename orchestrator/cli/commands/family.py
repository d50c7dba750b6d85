"""``failover family …``: the installed kinds of replicated systems, and the laws that each keeps."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.help import BUILD
from orchestrator.cli.options import AsJson, InventoryFile, PairName

_FAMILY = typer.Typer(help="Kinds of replicated systems: list, show, lint, test, new.", no_args_is_help=True)
_File = Annotated[Path, typer.Argument(metavar="FILE")]
_Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of a family, as in `failover family list`.")]


@_FAMILY.callback()
def _of_all() -> None:
    """Families that files declare are known too."""
    from orchestrator.operations.declared_families import offer_families

    offer_families()


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    app.add_typer(_FAMILY, name="family", rich_help_panel=BUILD)


@_FAMILY.command("list")
def list_families(as_json: AsJson = False) -> None:
    """List the installed families. Exit code 4 if an installed package offers a family that cannot be used.

    \b
    Example:
      failover family list
    """
    from orchestrator.cli.render.families import print_families

    raise typer.Exit(print_families(as_json=as_json))


@_FAMILY.command("show")
def show_family(name: _Name, as_json: AsJson = False) -> None:
    """Show a family: its readings with their facets, its adapters, actions and runbooks.

    \b
    Example:
      failover family show solace
    """
    from orchestrator.cli.render.families import print_family

    print_family(name, as_json=as_json)


@_FAMILY.command("lint")
def lint_family(file: _File, as_json: AsJson = False) -> None:
    """Check a file that declares a family. Exit code 4 if it has a mistake.

    It also checks the runbooks of the family: those in the folder beside the file that has the family's name.

    \b
    Example:
      failover family lint families/postgresql.yaml
    """
    from orchestrator.cli.render.families import lint_family_file

    raise typer.Exit(lint_family_file(file, as_json=as_json))


@_FAMILY.command("new")
def new_family(name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the family.")]) -> None:
    """Print a commented file that declares a family, to start from.

    \b
    Example:
      failover family new orders-db > families/orders-db.yaml
    """
    from orchestrator.cli.render.families import print_new_family

    print_new_family(name)


@_FAMILY.command("test")
def test_family(
    context: typer.Context,
    name: _Name,
    inventory: InventoryFile = None,
    pair: PairName = None,
    change: Annotated[
        str | None,
        typer.Option(
            "--change",
            metavar="SITE",
            help="Also do each action at SITE and roll it back. The first service of SITE is CLOSED meanwhile.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Check the laws that every family must keep. Exit code 4 if a law is broken.

    With an inventory, it also reads the pairs of the family, through sessions that can only read. It changes nothing
    without --change. With --change, it does the actions at this one site and rolls them back
    (docs/reference/families.md).

    \b
    Examples:
      failover family test ledger
      failover family test ledger --inventory sites.yaml
      failover family test ledger --inventory sites.yaml --change test-ny
    """
    from orchestrator.cli.render.laws import print_laws
    from orchestrator.cli.tools import tools as tools_of

    raise typer.Exit(print_laws(tools_of(context), name, inventory, pair, change, as_json=as_json))
