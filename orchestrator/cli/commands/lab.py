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
        typer.Option(
            "--directory",
            "-d",
            metavar="DIR",
            help="Where to keep the inventory, password, keys and simulated sites.",
        ),
    ] = Path("lab"),
    inventory: Annotated[
        Path, typer.Option("--inventory", "-i", metavar="FILE", help="Also write the inventory to FILE.")
    ] = Path("lab.yaml"),
    latency: Annotated[
        float, typer.Option("--latency", metavar="MS", min=0, help="The delay of each answer, in milliseconds.")
    ] = 0.0,
    adapter: Annotated[
        LabAdapter | None,
        typer.Option(
            "--adapter",
            metavar="NAME",
            help="The adapter that the inventory uses: both (the default), solace-semp or solace-cli.",
        ),
    ] = None,
    plain_http: Annotated[bool, typer.Option("--http", help="Serve SEMP without TLS.")] = False,
    ha: Annotated[bool, typer.Option("--ha", help="Simulate an HA pair of two nodes at each site.")] = False,
    amps: Annotated[
        bool, typer.Option("--amps", help="Serve the administration interfaces of a pair of AMPS instances instead.")
    ] = False,
    assume: Annotated[
        list[str] | None,
        typer.Option(
            "--assume",
            metavar="NAME=VALUE",
            help="AMPS: an assumption about behaviour that the AMPS documentation does not describe.",
        ),
    ] = None,
    link: Annotated[
        Link | None,
        typer.Option("--link", metavar="sync|async", help="AMPS: how the instances acknowledge replicated messages."),
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            "--fault", metavar="TEXT|FILE", help="A fault, such as 'drain: bridge down 5s', or a file of faults."
        ),
    ] = None,
    edition: Annotated[
        list[str] | None,
        typer.Option(
            "--edition",
            metavar="NAME[=N]",
            help="Make the devices answer as some real devices do; `failover lab editions` lists the names.",
        ),
    ] = None,
) -> None:
    """Serve both simulated sites on loopback ports, until Ctrl-C.

    The sites are Solace appliances that answer over SSH and SEMP. The inventory uses SEMP to move services, and SSH for
    what SEMP cannot do. With --amps, the sites are AMPS instances with their administration interface. The directory
    of the lab keeps the chosen editions; --edition plain removes them.

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
        raise DefinitionError(
            "--latency, --adapter, --http and --ha are only for appliances; leave them out with --amps"
        )
    if not amps and (assume or link):
        raise DefinitionError("--assume and --link are only for AMPS instances", hint="add --amps")
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
    out: Annotated[
        Path,
        typer.Option("--out", "-o", metavar="DIR", help="Write to DIR/INSTANCE/journal and DIR/INSTANCE/sow."),
    ],
    directory: Annotated[
        Path, typer.Option("--directory", "-d", metavar="DIR", help="The directory of the lab.")
    ] = Path("lab"),
) -> None:
    """Write the dumps of the lab's AMPS instances.

    The dumps have the format of amps_journal_dump and amps_sow_dump -v. They show the state at the last request to the
    lab, because the time of the lab does not pass between requests.

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
        typer.Option("--directory", "-d", metavar="DIR", help="Reset the sites of the lab in this directory."),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Reset even if a run is unfinished. No process may lead that run.")
    ] = False,
) -> None:
    """Reset the embedded simulated pair.

    After the reset, New York is active and New Jersey is standby. With --directory, it resets the sites of a lab
    instead: appliances or AMPS instances, whether or not the lab is up. The devices stay, and their faults are removed.
    While a simulated run is unfinished, the reset is refused unless --force is given.

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
