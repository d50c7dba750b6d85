"""``failover simulate``: the product itself over thousands of simulated nights, judged by its promises."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class KindName(StrEnum):
    """What is played; the names of proof.simulation, which the help must not load."""

    CONTROLLED = "controlled"
    UNCONTROLLED = "uncontrolled"
    UNCONTROLLED_ISOLATED = "uncontrolled-isolated"
    UNCONTROLLED_COMMANDED = "uncontrolled-commanded"
    RESTORE = "restore"
    RESTORE_COMMANDED = "restore-commanded"
    FAILBACK = "failback"
    GUARD = "guard"
    GUARD_STANDBY = "guard-standby"
    SUSPEND = "suspend"
    REPAIR_STANDBY = "repair-standby"
    REPAIR_ACTIVE = "repair-active"
    AMPS_CONTROLLED = "amps/controlled"
    AMPS_CONTROLLED_ASYNC = "amps/controlled-async"
    AMPS_UNCONTROLLED = "amps/uncontrolled"
    AMPS_UNCONTROLLED_ASYNC = "amps/uncontrolled-async"
    AMPS_RESTORE = "amps/restore"
    AMPS_RESTORE_BOOTSTRAP = "amps/restore-bootstrap"
    AMPS_FAILBACK = "amps/failback"
    AMPS_FAILBACK_ASYNC = "amps/failback-async"
    AMPS_PROXIED_TRANSFER = "amps/proxied-transfer"
    AMPS_GUARD = "amps/guard"


def register(app: typer.Typer) -> None:
    """Add this command to ``app``."""
    app.command("simulate")(simulate)


def simulate(
    seeds: Annotated[int, typer.Option("--seeds", "-n", metavar="N", min=1, help="How many nights.")] = 1_000,
    first: Annotated[int, typer.Option("--from", metavar="SEED", min=0, help="The first seed.")] = 0,
    jobs: Annotated[int, typer.Option("--jobs", "-j", metavar="N", min=1, help="In so many processes.")] = 1,
    kind: Annotated[
        list[KindName] | None, typer.Option("--kind", help="Only runs of this kind; repeat for several.")
    ] = None,
    shrink: Annotated[
        bool, typer.Option("--shrink", help="Leave out of a failing night what it does not need to fail.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="For machines: JSON, one value a line.")] = False,
) -> None:
    """Play simulated nights of faults, judged by every promise.

    In virtual time, drawn by seed; exit code 4 if one fails. Each seed draws two sites, of Solace or of AMPS, a runbook,
    people, and what goes wrong: faults of devices and links, kills and pauses of processes, wrong decisions. The real
    engine plays it; every promise is judged after every event. No device is spoken to, and no record of yours is
    touched. docs/simulation.md tells more.

    \b
    Examples:
      failover simulate
      failover simulate --seeds 10000 --jobs 2 --json
      failover simulate --seeds 1 --from 4711 --kind controlled --shrink
    """
    from orchestrator.cli.simulated.simulate import SimulationRequest, run_simulation

    request = SimulationRequest(
        seeds=seeds,
        first=first,
        jobs=jobs,
        kinds=tuple(one.value for one in kind or ()),
        shrink=shrink,
        as_json=as_json,
    )
    raise typer.Exit(run_simulation(request))
