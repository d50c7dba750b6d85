"""``failover lab up``: shows the simulated sites that are served, until a signal ends them."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager

from orchestrator.cli.render.terminal import say, show
from orchestrator.clock import Clock
from orchestrator.operations.runtime import Tools
from simulator.lab.request import LabRequest, LabUp

Served = Callable[[LabRequest, Clock], AbstractContextManager[LabUp]]


def serve_lab(tools: Tools, request: LabRequest, served: Served) -> None:
    """Serve both sites until a signal comes."""
    with served(request, tools.clock) as lab:
        show("SIMULATED  the lab is up:")
        if lab.editions:  # perhaps typed days ago
            show(f"  editions: {' '.join(lab.editions)}")
        for line in lab.lines:
            show(line)
        _wait_for_signal()
    say("the lab is down")


def _wait_for_signal() -> None:
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    stop.wait()
