"""The command line in process, on the injected clock: what a test types, and what came of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from orchestrator.cli.main import main
from orchestrator.clock import VirtualClock
from orchestrator.engine.dispatch import InlineFleet
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.operations.runtime import Tools
from simulator.embedded import embedded_inventory, embedded_world
from simulator.solace.account import Tally
from simulator.solace.layout import WorldLayout
from simulator.solace.world import World

VPN = "Trading_VPN"
XIDS = ("0021B028-00-01", "0021ABC4-00-01")
DECISIONS = f"""\
decisions:
  - {{xid: {XIDS[0]}, choice: commit, reason: "the log says so"}}
  - {{xid: {XIDS[1]}, choice: rollback, reason: "the order was cancelled"}}
"""


SHIPPED = Path(str(files("orchestrator"))).parent / "runbooks" / "solace" / "controlled.yaml"


def hasty_runbook(grace: str, delay: str = "5s") -> str:
    """The shipped procedure with short times: the same steps, less to wait for."""
    text = SHIPPED.read_text(encoding="utf-8")
    for long, short in (
        ("grace: 60s", f"grace: {grace}"),
        ("after: 2m", f"after: {grace}"),
        ("delay: 3m", f"delay: {delay}"),
    ):
        assert long in text
        text = text.replace(long, short)
    return text


@dataclass(frozen=True, slots=True)
class Ended:
    """What a command ended with."""

    code: int
    out: str
    err: str

    @property
    def values(self) -> list[Any]:
        """The JSON values of stdout, a line each."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def result(self) -> Any:
        """The result object that the JSON ends in."""
        return self.values[-1]["result"]

    @property
    def complaint(self) -> str:
        """The one sentence a command failed with."""
        [line] = [line for line in self.err.splitlines() if line.startswith("failover: ")]
        return line.removeprefix("failover: ")

    @property
    def hint(self) -> str:
        """What to do about it."""
        [line] = [line for line in self.err.splitlines() if line.startswith("  what to do: ")]
        return line.removeprefix("  what to do: ")


@dataclass
class Shell:
    """Types commands. The clock goes on between them, as the simulated pair does."""

    folder: Path
    capture: pytest.CaptureFixture[str]
    clock: VirtualClock = field(default_factory=VirtualClock)
    registry: Registry = field(default_factory=Registry)
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def world_file(self) -> Path:
        return self.state / "world.json"

    @property
    def decisions(self) -> str:
        """A file that decides on both prepared transactions of the embedded pair."""
        return str(self.write("decisions.yaml", DECISIONS))

    def __call__(self, *arguments: str) -> Ended:
        self.capture.readouterr()
        code = main(arguments, self.tools())
        out, err = self.capture.readouterr()
        return Ended(code, out, err)

    def tools(self) -> Tools:
        self.state.mkdir(mode=0o700, exist_ok=True)
        secrets = SecretStore(None, environment=self.environment)
        return Tools(
            self.state, self.clock, secrets, self.registry, lambda a, p, c, desk: InlineFleet(a, p, c, prompter=desk)
        )

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def move(self, *more: str) -> Ended:
        """The embedded pair's busiest service, from ny to nj, unattended, with its decisions made."""
        return self("controlled", "--vpn", VPN, "--yes", "--xa", self.decisions, *more)

    def world(self) -> World:
        """The embedded pair's world, as it is now."""
        return embedded_world(self.world_file, self.clock)

    def roles(self, vpn: str = VPN) -> tuple[str, str]:
        """Who serves: ny and nj, as their own management shows it."""
        return roles_of(self.world(), vpn)

    def tally(self, vpn: str = VPN) -> Tally:
        """The world's own account."""
        return self.world().tally(vpn)

    def run_name(self) -> str:
        """The newest run."""
        return str(self("runs", "list", "--json").values[0]["run"])

    def disturb(self, *faults: str) -> None:
        """Give the embedded pair faults without any command."""
        from simulator.solace.faults import parse_faults

        world = self.world()
        world.inject(parse_faults(faults))
        world.close()

    def inventory(self, layout: WorldLayout | None = None, *, name: str = "inventory.yaml", **replaced: Any) -> Path:
        """An inventory file of two simulated sites; with ``layout``, over a world of that layout.

        ``replaced`` are keys of the pair, or of the document.
        """
        world_file = self.folder / f"{name}.world.json"
        if layout is not None:
            World(layout, self.clock, path=world_file).save()
        plain = embedded_inventory(world_file).model_dump(mode="json", exclude_defaults=True)
        for site in plain["sites"].values():
            site.pop("name", None)
        pair = plain["pairs"][0]
        for key, value in replaced.items():
            (pair if key in pair else plain)[key] = value
        return self.write(name, json.dumps(plain))


def roles_of(world: World, vpn: str = VPN) -> tuple[str, str]:
    """Who serves: ny and nj."""
    with world.request():
        nodes = (world.appliance("ny", "NY_Appliance1"), world.appliance("nj", "NJ_Appliance1"))
        first, second = (node.replication(vpn).role for node in nodes)
    return first, second
