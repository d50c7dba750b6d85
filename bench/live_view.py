"""The share of a core for drawing the live view of 1, 24, 200 and 1,000 draining services, at 80x24 and 200x50."""

from __future__ import annotations

import io
import time
from pathlib import Path

from rich.console import Console
from rich.live import Live

from orchestrator.cli.live.frame import Signs
from orchestrator.cli.live.pane import Pane
from orchestrator.cli.live.screen import per_second
from orchestrator.cli.live.view import View
from orchestrator.core.lane import Lane, Stage
from orchestrator.core.position import Positions
from orchestrator.core.run import Run
from orchestrator.documents.loader import read_runbook
from orchestrator.model import events as ev
from simulator.embedded import embedded_inventory

FRAMES = 50


def main() -> None:
    """Print the time of a picture, and the share of a core at the live view's drawing rate."""
    for services in (1, 24, 200, 1_000):
        run = _draining(services)
        for width, height in ((80, 24), (200, 50)):
            seconds = _seconds(run, width, height)
            rate = per_second(services)
            print(
                f"{services:>5} services {width}x{height}: {seconds * 1000:6.2f} ms a picture, "
                f"{rate:.0f} a second: {seconds * rate:6.1%} of a core"
            )


def _draining(services: int) -> Run:
    inventory = embedded_inventory(Path("world.json"))
    names = tuple(f"Service_{number:04}" for number in range(services))
    pair = inventory.pairs[0].model_copy(update={"services": names})
    runbook = read_runbook("solace/controlled").result()
    plan = ev.Plan(
        runbook=runbook,
        inventory=inventory.model_copy(update={"pairs": (pair,)}),
        pair=pair.name,
        source=pair.sites[0],
        target=pair.sites[1],
        services=names,
        policy=ev.Policy(),
        simulated=True,
    )
    drain = next(number for number, step in enumerate(runbook.steps) if step.progress is not None)
    gauge = tuple((float(at), 4_000.0 - 90 * at) for at in range(20))
    lanes = {
        name: Lane(name, status="running", step=drain, stage=Stage.MAIN, mark=1, gauge=gauge, moved_at=19.0)
        for name in names
    }
    return Run(plan, status="running", lanes=lanes, last_at=20.0)


def _seconds(run: Run, width: int, height: int) -> float:
    """Processor time of one picture, drawn as for a terminal."""
    view = View(Positions(run.plan), 30.0, Signs(), Pane(), title="a run", full=dict.fromkeys(run.lanes, 4_000.0))
    console = Console(file=io.StringIO(), force_terminal=True, width=width, height=height)
    live = Live(
        get_renderable=lambda: view.picture(run, 20.0, width, height - 1), console=console, auto_refresh=False
    )
    with live:
        before = time.process_time()
        for _ in range(FRAMES):
            live.refresh()
        return (time.process_time() - before) / FRAMES
