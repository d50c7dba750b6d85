"""A process of the command line that stops itself, as SIGSTOP does, at the instant it is told; its clock is in a hurry.

``python -m tests.journal.stopping ORIGIN SIDE INSTANT COMMAND…``: the clock counts ``FACTOR`` seconds for one of the
machine's since ORIGIN. SIDE and INSTANT say where it stops (``source 'before set_role'``); ``- -``: nowhere.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

from orchestrator.cli.main import main
from orchestrator.clock import Clock, SystemClock
from orchestrator.engine.dispatch import Fleet, InlineFleet, Prompter
from orchestrator.family.contract import Adapter, Permit
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.model.runbook import Side
from orchestrator.operations.runtime import STATE_VARIABLE, Tools
from tests.core.killing import Fuse, killing

# A lease of 15 s is over in one and a half.
FACTOR = 10.0


class HastyClock(SystemClock):
    """The same in every process that is given the same ``origin``, seconds since the epoch."""

    def __init__(self, origin: float) -> None:
        super().__init__()
        self._origin = origin

    def now(self) -> float:
        return self._origin + (super().now() - self._origin) * FACTOR

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds / FACTOR)


class Stopper(Fuse):
    """Stops the whole process, once, at an instant of that name."""

    def __init__(self, where: str) -> None:
        super().__init__(None)
        self.where = where

    def instant(self, name: str) -> None:
        if name == self.where:
            self.where = ""
            os.kill(os.getpid(), signal.SIGSTOP)


def run(origin: float, side: str, where: str, *command: str) -> int:
    """One command; returns its exit code."""

    def fleet(adapters: Mapping[Side, Adapter], permit: Permit, clock: Clock, desk: Prompter | None) -> Fleet:
        watched: dict[Side, Adapter] = {
            name: killing(adapter, Stopper(where if name == side else "")) for name, adapter in adapters.items()
        }
        # One thread only: stopped, it must hold no lock on the world file, as no real device would be locked.
        return InlineFleet(watched, permit, clock, prompter=desk)

    tools = Tools(Path(os.environ[STATE_VARIABLE]), HastyClock(origin), SecretStore(None), Registry(), fleet)
    return main(command, tools)


if __name__ == "__main__":
    raise SystemExit(run(float(sys.argv[1]), *sys.argv[2:]))
