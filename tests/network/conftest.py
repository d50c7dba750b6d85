"""Three network namespaces: two sites and the orchestrator between them, with cables that can be cut."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections import Counter
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

ROOT = Path(__file__).parents[2]
SITES = ("ny", "nj")
CUT = "counter drop"
LOSSY = "numgen random mod 100 < 5 counter drop"


def why_not() -> str:
    """Why there can be no namespaces here; empty if there can."""
    if os.geteuid() != 0:
        return "network namespaces want root"
    missing = [tool for tool in ("ip", "nft") if shutil.which(tool) is None]
    return f"not installed: {', '.join(missing)} (Debian: iproute2, nftables)" if missing else ""


def sh(*words: str, typed: str = "") -> str:
    """Run a command of the system's; what it prints."""
    return subprocess.run(words, input=typed, check=True, capture_output=True, text=True).stdout


@dataclass
class Net:
    """The namespaces, what runs in them, and the world behind. ``way``: ``cli`` or ``semp``."""

    folder: Path
    way: str
    delay_s: float = 0.0
    told: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    started: list[subprocess.Popen[str]] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)  # packets of each site that were lost, once it is healed
    # Timers heal a site while the test cuts it again: a rule set is read and replaced by one of them at a time.
    _rules: threading.Lock = field(default_factory=threading.Lock)

    def space(self, name: str) -> str:
        return f"fo{os.getpid()}{name}"

    def cable(self, site: str) -> str:
        return f"fo{os.getpid()}{site}"[-15:]

    def lay(self, stack: ExitStack) -> None:
        """Make the namespaces and the cables between them. Raises ``CalledProcessError`` where that cannot be."""
        for name in ("op", *SITES):
            sh("ip", "netns", "add", self.space(name))
            stack.callback(sh, "ip", "netns", "del", self.space(name))
            sh("ip", "-n", self.space(name), "link", "set", "lo", "up")
        for number, site in enumerate(SITES):
            one, other = self.cable(site), f"{self.cable(site)[:13]}x"
            sh(
                "ip",
                "link",
                "add",
                one,
                "netns",
                self.space("op"),
                "type",
                "veth",
                "peer",
                other,
                "netns",
                self.space(site),
            )
            for name, cable, last in (("op", one, 1), (site, other, 2)):
                sh("ip", "-n", self.space(name), "addr", "add", f"10.77.{number}.{last}/24", "dev", cable)
                sh("ip", "-n", self.space(name), "link", "set", cable, "up")

    def serve(self, stack: ExitStack) -> None:
        """Start both sites, and write the inventory that reaches them."""
        layout = WorldLayout(
            (SiteLayout("ny", ("NY_Appliance1",)), SiteLayout("nj", ("NJ_Appliance1",))),
            (VpnLayout("V", publish_rate=50, drain_rate=900, backlog=900),),
        )
        World(layout, SystemClock(), path=self.folder / "world.json").save()
        for number, site in enumerate(SITES):
            at = self.folder / site
            at.mkdir(mode=0o700)
            arguments = (str(self.folder / "world.json"), site, str(at), f"10.77.{number}.2", str(self.delay_s))
            process = self.start(site, sys.executable, "-m", "tests.network.site", *arguments)
            stack.callback(end, process)
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line, process.stderr.read() if process.stderr else ""
            self.told[site] = json.loads(line)
        sites = {site: self._described(site, f"10.77.{number}.2") for number, site in enumerate(SITES)}
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
            ["ip", "netns", "exec", self.space(name), *words],
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
        cable = f"{self.cable(site)[:13]}x"
        chains = "".join(
            f"chain {hook} {{ type filter hook {hook} priority 0; {word} {cable} {how}; }}\n"
            for hook, word in (("input", "iifname"), ("output", "oifname"))
        )
        with self._rules:
            self._nft(site, f"table inet spoilt {{ {chains} }}\n")

    def heal(self, site: str) -> None:
        """The cable of ``site`` is whole. What was lost until now is counted."""
        with self._rules:
            self._nft(site, "table inet spoilt\n")  # so that there is one
            listed = sh("ip", "netns", "exec", self.space(site), "nft", "list", "table", "inet", "spoilt")
            self.dropped[site] += sum(map(int, re.findall(r"counter packets (\d+)", listed)))
            self._nft(site, "table inet spoilt\ndelete table inet spoilt\n")

    def _nft(self, site: str, rules: str) -> None:
        sh("ip", "netns", "exec", self.space(site), "nft", "-f", "-", typed=rules)

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
