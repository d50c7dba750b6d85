"""``failover simulate``: runs the product itself in thousands of simulated runs, and judges its promises."""

from __future__ import annotations

from typing import Annotated

import typer

from orchestrator.cli.help import DEVELOP


def register(app: typer.Typer) -> None:
    """Add this command to ``app``."""
    app.command("simulate", rich_help_panel=DEVELOP)(simulate)


def simulate(
    seeds: Annotated[int, typer.Option("--seeds", "-n", metavar="N", min=1, help="How many runs.")] = 1_000,
    first: Annotated[int, typer.Option("--from", metavar="SEED", min=0, help="The first seed.")] = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", metavar="N", min=1, help="The number of processes.")] = 1,
    kind: Annotated[
        list[str] | None,
        typer.Option(
            "--kind",
            metavar="RUNBOOK",
            help="Simulate only this runbook, or a family that a file declares; repeat for several.",
        ),
    ] = None,
    shrink: Annotated[
        bool, typer.Option("--shrink", help="Find fewer faults that still make a failing run fail.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON for machines, one value on each line.")] = False,
) -> None:
    """Simulate runs with faults, and judge every promise.

    The time is virtual. Each seed chooses two sites, a runbook, people, and what goes wrong: faults of devices and
    links, kills and pauses of processes, wrong decisions. The real engine executes the run, and every promise is judged
    after every event. Exit code 4 if a promise is broken. The simulation does not connect to a device, and does not use
    your record. docs/explanation/simulation.md explains more.

    \b
    Examples:
      failover simulate
      failover simulate --seeds 10000 --jobs 2 --json
      failover simulate --seeds 1 --from 4711 --kind controlled --shrink
      failover --family orders-db.yaml simulate --kind orders-db
    """
    from orchestrator.cli.render.terminal import say_unless
    from orchestrator.counting import counted

    # The simulator takes longer to load than all other commands.
    say_unless(as_json)(f"SIMULATED  simulating {counted(seeds, 'run')}, from seed {first}")
    from orchestrator.cli.simulated.simulate import SimulationRequest, kinds_named, run_simulation

    request = SimulationRequest(
        seeds=seeds,
        first=first,
        jobs=jobs,
        kinds=kinds_named(kind or ()),
        shrink=shrink,
        as_json=as_json,
    )
    raise typer.Exit(run_simulation(request))
