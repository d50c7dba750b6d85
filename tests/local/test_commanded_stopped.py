"""Real signals at every step of the runbooks that run commands of the operator's own: a pause, then resume."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.engine.dispatch import InlineFleet
from orchestrator.operations.runtime import Tools
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from simulator.solace.world import World
from tests.cli.shell import Ended, Shell
from tests.local.conftest import Bench
from tests.local.test_commanded import DARK, Night

pytestmark = pytest.mark.realtime
SERVICES = ("Trading_VPN", "Risk_VPN", "Settlement_VPN")


class SignallingFleet(InlineFleet):
    """The process gets a signal when the fleet is asked for the ``at``-th time."""

    at, count, number = 0, 0, signal.SIGTERM

    def submit(self, commands: Sequence[Any]) -> None:
        cls = type(self)
        cls.count += 1
        super().submit(commands)
        if cls.count == cls.at:
            os.kill(os.getpid(), cls.number)


@dataclass
class SignalledShell(Shell):
    """A shell whose commands are led by such a fleet."""

    at: int = 0

    def tools(self) -> Tools:
        class Fleet(SignallingFleet):
            at, count = self.at, 0
            number = (signal.SIGTERM, signal.SIGINT)[self.at % 2]

        return replace(super().tools(), fleet=lambda a, p, c, desk: Fleet(a, p, c, prompter=desk))


def stopped_and_resumed(shell: SignalledShell, at: int, command: Callable[[], Ended]) -> Ended:
    """The command, stopped at its ``at``-th request and resumed; or as it ended, when that was its last one."""
    shell.at = at
    ended = command()
    shell.at = 0
    if ended.code != 6:
        return ended
    assert "PAUSED after" in ended.out
    assert "Resume it: `failover resume " in ended.out
    return shell("resume")


@pytest.mark.parametrize("at", [1, 2, 3, 5, 8])
def test_stopped_anywhere(at: int, tmp_path: Path, capsys: pytest.CaptureFixture[str], shell: Shell) -> None:
    """Law: whenever a signal comes, resume ends it as if none had come, and no command is run a second time."""
    stopped = SignalledShell(tmp_path, capsys)
    bench = Bench(tmp_path)
    bench.with_switch()
    night = Night(
        stopped, bench, [{"backbone": True}, {"command": "cut"}, {"attest": "pull the cables of both NABs"}]
    )
    night.inventory()
    stopped.world_file.unlink()
    vpns = tuple(VpnLayout(name, publish_rate=40.0, drain_rate=900.0) for name in SERVICES)
    sites = (SiteLayout("ny", ("NY_Appliance1",)), SiteLayout("nj", ("NJ_Appliance1",)))
    World(WorldLayout(sites=sites, vpns=vpns), stopped.clock, path=stopped.world_file).save()
    stopped.disturb(DARK)
    ended = stopped_and_resumed(stopped, at, lambda: night.uncontrolled("--all", "--yes"))
    assert ended.code == 0, ended.out + ended.err
    assert night.ran == ["cut"]
    world = stopped.world()  # its time passes while somebody looks
    stopped.clock.advance(900)
    world.close()
    restore = ("restore", "--inventory", night.inventory(), "--all", "--site", "ny", "--yes", "--xa", "stop")
    ended = stopped_and_resumed(stopped, at, lambda: stopped(*restore))
    assert ended.code == 0, ended.out + ended.err
    assert night.ran == ["cut", "open"]
    assert {stopped.roles(name) for name in SERVICES} == {("standby", "active")}
