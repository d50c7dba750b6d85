"""A pair of scripted AMPS instances and the command line on its clock, from an inventory as an operator writes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from adapters.amps.adapter import AmpsAdminAdapter
from orchestrator.family.contract import AdapterContext
from orchestrator.family.registry import Registry
from orchestrator.model.inventory import Site
from tests.amps_admin.pair import AmpsPair
from tests.amps_admin.stage import Secrets
from tests.cli.shell import Shell

INVENTORY = """\
sites:
  ny:
    adapter: amps-admin
    devices: [{{name: amps-1, address: ny.example.com, port: 8085}}]
    login: {{username: failover, password: {{env: AMPS_PASSWORD}}}}
    options:
      {{scheme: http, insecure_http: true, not_applications: ^monitor-, journal_capacity: 100MB, link: {link}}}
    fence: [{{attest: The operator switches the host off.}}]
  nj:
    adapter: amps-admin
    devices: [{{name: amps-2, address: nj.example.com, port: 8085}}]
    login: {{username: failover, password: {{env: AMPS_PASSWORD}}}}
    options:
      {{scheme: http, insecure_http: true, not_applications: ^monitor-, journal_capacity: 100MB, link: {link}}}
    fence: [{{attest: The operator switches the host off.}}]
pairs:
  - {{name: trading, sites: [ny, nj], services: [orders]}}
"""


class OverWires(Registry):
    """Hands out the adapter with the wires of one pair."""

    def __init__(self, pair: AmpsPair) -> None:
        super().__init__()

        class Wired(AmpsAdminAdapter):
            def __init__(self, site: Site, setting: AdapterContext) -> None:
                setting = AdapterContext(setting.clock, Secrets(), setting.read_only)
                super().__init__(site, setting, wire=lambda device: pair.wires[site.name])

        self._kind: Any = Wired

    def get(self, name: str) -> Any:
        return self._kind if name == "amps-admin" else super().get(name)


class Desk:
    """A pair, and the command line in process on its clock."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str], sync: str = "sync") -> None:
        self.pair = AmpsPair(folder, sync=sync)
        self.folder = folder
        self.shell = Shell(folder, capsys, clock=self.pair.clock, registry=OverWires(self.pair))
        self.inventory(sync)

    def inventory(self, link: str) -> None:
        (self.folder / "amps.yaml").write_text(INVENTORY.format(link=link), encoding="utf-8")

    def run(self, *words: str) -> Any:
        """A command about the pair."""
        return self.shell(*words, "--inventory", str(self.folder / "amps.yaml"))

    def codes(self) -> dict[str, str]:
        """What `failover check` finds: code and level."""
        self.pair.clock.advance(10.0)
        [value] = self.run("check", "--json").values
        [found] = value["pairs"]
        return {one["code"]: one["level"] for one in found["findings"]}
