"""Three network namespaces: two sites and the orchestrator between them, with cables that can be cut."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clock import SystemClock
from simulator.solace.account import Tally
from simulator.solace.layout import SiteLayout, VpnLayout, WorldLayout
from simulator.solace.world import World
from tests.cli.processes import FAILOVER
from tests.cli.shell import roles_of
from tests.network.spaces import Spaces, why_not

ROOT = Path(__file__).parents[2]
SITES = ("ny", "nj")


@dataclass
class Net:
    """The namespaces, what runs in them, and the world behind. ``way``: ``cli`` or ``semp``."""

    folder: Path
    way: str
    delay_s: float = 0.0
    told: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    started: list[subprocess.Popen[str]] = field(default_factory=list)
    spaces: Spaces = field(default_factory=lambda: Spaces((("op", "ny"), ("op", "nj"))))

    def lay(self, stack: ExitStack) -> None:
        """Make the namespaces and the cables between them. Raises ``CalledProcessError`` where that cannot be."""
        self.spaces.lay(stack)

    @property
    def dropped(self) -> Mapping[str, int]:
        """Packets of each site that were lost, once it is healed."""
        return {site: self.spaces.dropped["op", site] for site in SITES}

    def serve(self, stack: ExitStack) -> None:
        """Start both sites, and write the inventory that reaches them."""
        layout = WorldLayout(
            (SiteLayout("ny", ("NY_Appliance1",)), SiteLayout("nj", ("NJ_Appliance1",))),
            (VpnLayout("V", publish_rate=50, drain_rate=900, backlog=900),),
        )
        World(layout, SystemClock(), path=self.folder / "world.json").save()
        for site in SITES:
            at = self.folder / site
            at.mkdir(mode=0o700)
            arguments = (
                str(self.folder / "world.json"),
                site,
                str(at),
                self.spaces.address(site, "op"),
                str(self.delay_s),
            )
            process = self.start(site, sys.executable, "-m", "tests.network.site", *arguments)
            stack.callback(end, process)
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.stderr.read() if process.stderr else ""
            self.told[site] = json.loads(line)
        sites = {site: self._described(site, self.spaces.address(site, "op")) for site in SITES}
        pairs = [{"name": "trading", "sites": list(SITES), "services": ["V"]}]
        self.inventory.write_text(json.dumps({"sites": sites, "pairs": pairs}), encoding="utf-8")
        (self.folder / "state").mkdir(mode=0o700)

    def _described(self, site: str, address: str) -> dict[str, Any]:
        told = self.told[site]
        device = {"name": told["node"], "address": address, "router_name": told["node"]}
        login = {"username": told["username"], "password": {"file": told["password"]}}
        if self.way == "semp":
            more = {"options": {"scheme": "http", "insecure_http": True}}
            devices = [{**device, "port": told["semp"]}]
            return {"adapter": "solace-semp", "simulated": True, "devices": devices, "login": login, **more}
        devices = [{**device, "port": told["ssh"], "host_key": told["host_key"]}]
        return {"adapter": "solace-cli", "simulated": True, "devices": devices, "login": login}

    @property
    def inventory(self) -> Path:
        return self.folder / "inventory.json"

    def start(self, name: str, *words: str) -> subprocess.Popen[str]:
        """A process in a namespace."""
        kept = {one: os.environ[one] for one in ("PATH", "HOME") if one in os.environ}
        own = {"FAILOVER_STATE": str(self.folder / "state"), "FAILOVER_USER": "ann", "LC_ALL": "C.UTF-8"}
        pipe = subprocess.PIPE
        return subprocess.Popen(
            ["ip", "netns", "exec", self.spaces.full(name), *words],
            cwd=ROOT,
            env={**kept, **own},
            stdin=pipe,
            stdout=pipe,
            stderr=pipe,
            text=True,
        )

    def failover(self, *words: str) -> subprocess.Popen[str]:
        """The orchestrator, in its own namespace."""
        process = self.start("op", FAILOVER, *words)
        self.started.append(process)
        return process

    def spoil(self, site: str, how: str) -> None:
        """What becomes of the packets of ``site``, in both directions: ``CUT`` or ``LOSSY``."""
        self.spaces.spoil(site, "op", how)

    def heal(self, site: str) -> None:
        """The cable of ``site`` is whole. What was lost until now is counted."""
        self.spaces.heal(site, "op")

    def world(self) -> World:
        return World.load(self.folder / "world.json", SystemClock())

    def tally(self) -> Tally:
        """The world's own account."""
        return self.world().tally("V")

    def roles(self) -> tuple[str, str]:
        return roles_of(self.world(), "V")


def end(process: subprocess.Popen[str]) -> None:
    """No process is left behind."""
    process.kill()
    process.communicate()


def end_all(processes: list[subprocess.Popen[str]]) -> None:
    """Those that were started by the end of a test."""
    for process in processes:
        end(process)


@pytest.fixture
def net(tmp_path: Path) -> Iterator[Callable[..., Net]]:
    """Makes the three namespaces with both sites served, or skips the test with the reason."""
    reason = why_not()
    if reason:
        pytest.skip(reason)
    with ExitStack() as stack:

        def make(way: str, *, delay_s: float = 0.0) -> Net:
            made = Net(tmp_path, way, delay_s)
            try:
                made.lay(stack)
                made.heal("ny")  # does the kernel know nftables?
            except subprocess.CalledProcessError as error:
                stack.close()
                pytest.skip(f"no network namespaces here: {' '.join(error.cmd[:4])}: {error.stderr.strip()}")
            made.serve(stack)
            stack.callback(end_all, made.started)
            return made

        yield make
