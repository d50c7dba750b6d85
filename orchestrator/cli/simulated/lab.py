"""``failover lab up``: serves the simulated sites and shows them, until a signal ends the lab."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from orchestrator.cli.render.terminal import say, show
from orchestrator.cli.runs.signals import asked_to_stop
from orchestrator.clock import Clock
from orchestrator.operations.runtime import Tools
from simulator.lab.request import LabRequest, LabUp

Served = Callable[[LabRequest, Clock], AbstractContextManager[LabUp]]


def serve_lab(tools: Tools, request: LabRequest, served: Served) -> None:
    """Serve both sites until a signal comes."""
    with asked_to_stop() as stop, served(request, tools.clock) as lab:
        show("SIMULATED  the lab is up:")
        if lab.editions:  # printed, because the operator may have chosen them days ago
            show(f"  editions: {' '.join(lab.editions)}")
        for line in lab.lines:
            show(line)
        stop.wait()
    say("the lab is down")
