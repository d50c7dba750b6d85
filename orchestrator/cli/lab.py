"""``failover lab …``: the simulated sites on real ports, and a fresh start for the embedded pair."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

_APP = typer.Typer(help="The simulated sites: serve them on real ports, reset them.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    app.add_typer(_APP, name="lab")


@_APP.command("up")
def up(
    context: typer.Context,
    directory: Annotated[
        Path,
        typer.Option("--directory", "-d", metavar="DIR", help="For the inventory, password, keys and the world."),
    ] = Path("lab"),
    inventory: Annotated[
        Path, typer.Option("--inventory", "-i", metavar="FILE", help="Also write the inventory there.")
    ] = Path("lab.yaml"),
    latency: Annotated[
        float, typer.Option("--latency", metavar="MS", min=0, help="Milliseconds before each answer.")
    ] = 0.0,
    ha: Annotated[bool, typer.Option("--ha", help="Two nodes a site: HA pairs.")] = False,
    fault: Annotated[
        list[str] | None,
        typer.Option("--fault", metavar="TEXT|FILE", help="'drain: bridge down 5s', or a file of them."),
    ] = None,
) -> None:
    """Serve both simulated sites as Solace appliances over SSH on loopback ports, until Ctrl-C.

    \b
    Example, in two terminals:
      failover lab up
      failover controlled --inventory lab.yaml --vpn Trading_VPN
    """
    from orchestrator.cli.simulation import LabWish, serve_lab
    from orchestrator.cli.wiring import tools as tools_of

    serve_lab(tools_of(context), LabWish(directory, inventory, latency, ha, fault or ()))


@_APP.command("reset")
def reset(context: typer.Context) -> None:
    """Start the embedded simulated pair anew: New York active, New Jersey standby."""
    from orchestrator.cli.simulation import reset_embedded
    from orchestrator.cli.wiring import tools as tools_of

    reset_embedded(tools_of(context))
