"""``failover lab …``: serves simulated sites on real ports, and resets the embedded pair."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.help import DEVELOP


class Link(StrEnum):
    """The acknowledgement of the links between the AMPS instances of a lab."""

    sync = "sync"
    is_async = "async"


class LabAdapter(StrEnum):
    """The adapters that an inventory of the lab uses for the sites."""

    both = "both"
    semp = "solace-semp"
    cli = "solace-cli"


_APP = typer.Typer(help="Simulated sites: serve them on real ports, reset them.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add these commands to ``app``."""
    app.add_typer(_APP, name="lab", rich_help_panel=DEVELOP)


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
    adapter: Annotated[
        LabAdapter | None,
        typer.Option(
            "--adapter", metavar="NAME", help="What the inventory uses: both (the default), solace-semp, solace-cli."
        ),
    ] = None,
    plain_http: Annotated[bool, typer.Option("--http", help="SEMP without TLS.")] = False,
    ha: Annotated[bool, typer.Option("--ha", help="Two nodes a site: HA pairs.")] = False,
    amps: Annotated[
        bool, typer.Option("--amps", help="A pair of AMPS instances instead, over their administration interface.")
    ] = False,
    assume: Annotated[
        list[str] | None,
        typer.Option(
            "--assume", metavar="NAME=VALUE", help="AMPS: an assumption about what its documentation does not say."
        ),
    ] = None,
    link: Annotated[
        Link | None,
        typer.Option("--link", metavar="sync|async", help="AMPS: how the instances replicate to each other."),
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option("--fault", metavar="TEXT|FILE", help="'drain: bridge down 5s', or a file of them."),
    ] = None,
    edition: Annotated[
        list[str] | None,
        typer.Option(
            "--edition", metavar="NAME[=N]", help="A difference between real devices; see failover lab editions."
        ),
    ] = None,
) -> None:
    """Serve both simulated sites on loopback ports, until Ctrl-C.

    As Solace appliances, over SSH and SEMP; its inventory moves services over SEMP, and over SSH what SEMP cannot do.
    Or, with --amps, as AMPS instances with their administration interface. The lab's directory keeps its editions;
    --edition plain removes them.

    \b
    Examples, each in two terminals:
      failover lab up
      failover controlled Trading_VPN --inventory lab.yaml
    \b
      failover lab up --adapter solace-cli
      failover status --inventory lab.yaml
    \b
      failover lab up --amps
      failover check --inventory lab.yaml
    """
    from orchestrator.cli.simulated.lab import serve_lab
    from orchestrator.cli.tools import tools as tools_of
    from orchestrator.errors import DefinitionError
    from simulator.lab.amps.pair import AmpsPair
    from simulator.lab.pair import SolacePair
    from simulator.lab.request import LabRequest

    if amps and (latency or adapter or plain_http or ha):
        raise DefinitionError("--latency, --adapter, --http and --ha are for appliances; --amps serves none")
    if not amps and (assume or link):
        raise DefinitionError("--assume and --link are for AMPS instances", hint="add --amps")
    request = LabRequest(directory, inventory, fault or (), edition or ())
    if amps:
        pair = AmpsPair(assume or (), None if link is None else link is Link.sync)
        serve_lab(tools_of(context), request, pair.served)
        return
    appliances = SolacePair(latency, adapter or LabAdapter.both, plain_http, ha)
    serve_lab(tools_of(context), request, appliances.served)


@_APP.command("editions")
def editions() -> None:
    """List the editions of a lab, with one sentence each.

    An edition makes the simulated devices answer as some real devices do. Several can be given at once.

    \b
    Example:
      failover lab editions
      failover lab up --edition mate-prefix --edition slow-line=40
      failover lab up --amps --edition no-group
    """
    from orchestrator.cli.render.terminal import show
    from simulator.lab.amps.editions import INSTANCES
    from simulator.lab.editions import APPLIANCES

    for title, catalogue in (("failover lab up", APPLIANCES.lines()), ("failover lab up --amps", INSTANCES.lines())):
        show(f"{title} --edition NAME")
        for line in catalogue:
            show(f"  {line}")


@_APP.command("dump")
def dump(
    context: typer.Context,
    out: Annotated[Path, typer.Option("--out", "-o", metavar="DIR", help="Where to: DIR/INSTANCE/journal, …/sow.")],
    directory: Annotated[
        Path, typer.Option("--directory", "-d", metavar="DIR", help="Where the lab keeps its sites.")
    ] = Path("lab"),
) -> None:
    """Write the dumps of the lab's AMPS instances.

    As amps_journal_dump and amps_sow_dump -v would print them. They show the state at the last request to the lab:
    its time does not pass between requests.

    \b
    Example:
      failover lab dump --out dumps
      failover snapshot --inventory lab.yaml --site ny --dumps dumps/orders-ny --out exports/ny
    """
    from orchestrator.cli.render.terminal import show
    from orchestrator.cli.tools import tools as tools_of
    from simulator.lab.amps.pair import dumped

    lines = dumped(directory, out, tools_of(context).clock)
    show("SIMULATED")
    for line in lines:
        show(line)


@_APP.command("reset")
def reset(
    context: typer.Context,
    directory: Annotated[
        Path | None,
        typer.Option("--directory", "-d", metavar="DIR", help="The directory of a lab, whose sites are reset."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Reset even if a run is unfinished; no process may lead it.")
    ] = False,
) -> None:
    """Reset the embedded simulated pair.

    New York is active then, New Jersey standby. With --directory, the sites of a lab instead, appliances or AMPS
    instances, whether or not it is up. Their devices stay, and their faults are removed. It is refused while a
    simulated run is unfinished, unless --force is given.

    \b
    Examples:
      failover lab reset
      failover lab reset --force
      failover lab reset --directory lab
    """
    from orchestrator.cli.simulated.lab_reset import reset_embedded, reset_lab
    from orchestrator.cli.tools import tools as tools_of

    if directory is None:
        reset_embedded(tools_of(context), force=force)
    else:
        reset_lab(tools_of(context), directory, force=force)
