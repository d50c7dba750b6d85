"""A site with commands of its own: small programs in a folder, each noting that it ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from adapters.local.adapter import LocalAdapter
from orchestrator.clock import SystemClock
from orchestrator.family.contract import AdapterContext, Call, Result
from orchestrator.family.secrets import SecretStore
from orchestrator.model.inventory import Site
from tests.cli.shell import Shell
from tests.seam import Permits


@dataclass
class Bench:
    """Makes programs and speaks to the adapter that runs them."""

    folder: Path
    commands: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    fence: str | None = None
    secrets: SecretStore = field(default_factory=SecretStore)
    permits: Permits = field(default_factory=Permits)

    def program(self, name: str, *lines: str) -> str:
        """A shell script that notes its words in ``diary``, and does what ``lines`` say; its absolute path."""
        path = self.folder / name
        note = f'printf "%s\\n" "{name} $*" >> {self.folder}/diary'
        path.write_text("\n".join(("#!/bin/sh", note, *lines)) + "\n", encoding="utf-8")
        path.chmod(0o755)
        return str(path)

    def command(self, name: str, *lines: str, words: Sequence[str] = (), **more: Any) -> None:
        """A command of the site whose program does what ``lines`` say."""
        self.commands[name] = {"argv": [self.program(name, *lines), *words], **more}

    @property
    def diary(self) -> list[str]:
        """What ran, with its words, in order."""
        path = self.folder / "diary"
        return [line.strip() for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []

    @property
    def site(self) -> Site:
        return Site.model_validate(
            {
                "name": "ny",
                "adapter": "local",
                "devices": [{"name": "ny1"}],
                "options": {"commands": self.commands},
                "fence": [] if self.fence is None else [{"command": self.fence}],
            }
        )

    def adapter(self, *, read_only: bool = False) -> LocalAdapter:
        setting = AdapterContext(SystemClock(), self.secrets, read_only=read_only)
        return LocalAdapter.fitted(self.site)(self.site, setting)

    def run(self, name: str, *services: str, action: str = "run") -> list[Result]:
        """Run the command once for each of ``services`` in one request."""
        calls = [Call(service, {"command": name}) for service in services or ("Trading_VPN",)]
        return list(self.adapter().apply(action, calls, self.permits))

    def one(self, name: str, *, action: str = "run") -> Result:
        """Run the command for one service."""
        [result] = self.run(name, action=action)
        return result

    def set_fence(self, state: str, *services: str) -> list[Result]:
        calls = [Call(service, {"state": state}) for service in services or ("Trading_VPN",)]
        return list(self.adapter().apply("set_external_fence", calls, self.permits))

    def fence_of(self, *services: str) -> Mapping[str, Any]:
        return self.adapter().probe("external_fence", services or ("Trading_VPN",))

    def with_switch(self, **more: Any) -> None:
        """A fence: ``cut`` makes the file ``is-cut``, ``open`` takes it away, and the check looks for it."""
        mark = self.folder / "is-cut"
        check = [self.program("look", f"test -e {mark}")]
        self.command("cut", f"touch {mark}", check=check, undo="open", **more)
        self.command("open", f"rm -f {mark}", **more)
        self.fence = "cut"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """A bench in a folder of its own."""
    return Bench(tmp_path)


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The command line with a clock and simulated sites of its own, with nothing from whoever runs the tests."""
    for name in ("STATE", "JOURNAL", "INVENTORY", "TRACEBACK"):
        monkeypatch.delenv(f"FAILOVER_{name}", raising=False)
    monkeypatch.setenv("FAILOVER_USER", "ann")
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)
