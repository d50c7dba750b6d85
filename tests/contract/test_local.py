"""The adapter of the operator's own commands keeps the laws: its site is a folder of small programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from orchestrator.clock import SystemClock
from orchestrator.errors import AdapterError, CommandRejected
from orchestrator.family.contract import Adapter, AdapterContext, Call
from orchestrator.family.registry import Registry
from orchestrator.family.secrets import SecretStore
from orchestrator.model.inventory import Site
from tests.contract.laws import Bench, Laws, Spoil

pytestmark = pytest.mark.realtime

MAIN, OTHER = "Trading_VPN", "Risk VPN"
# What is ordered for the next run that changes something happens to that one; each says aloud what it was trusted with.
CHANGES = """\
#!/bin/sh
order=$(cat spoil 2>/dev/null); rm -f spoil
case "$order" in
  "lose request") kill -9 $$ ;;
  refuse) echo "not tonight"; exit 3 ;;
esac
echo "$(basename "$0") $*" >> ledger
case "$order" in
  "lose reply") kill -9 $$ ;;
  "garbage reply") printf '\\377\\000<~#'; kill -9 $$ ;;
esac
echo "as $TOKEN wanted"
"""
SHUTS, OPENS, TELLS = CHANGES + "touch shut\n", CHANGES + "rm -f shut\n", "#!/bin/sh\ntest -e shut\n"


class LocalBench:
    """A site ``ny`` with commands for its services, and a fence of its own. Any service is one: a command knows none."""

    services: Sequence[str] = (MAIN, OTHER)
    missing = ""
    by_service: frozenset[str] = frozenset()
    odd: Sequence[str] = ("%23", "a/b", "..", "$(reboot)", "#x", "a,b", "a=b")
    calls: Mapping[str, Sequence[Call]] = {
        "run": [Call(MAIN, {"command": "flush"}), Call(OTHER, {"command": "flush"})],
        "ensure": [Call(MAIN, {"command": "tag"}), Call(OTHER, {"command": "tag"})],
        "set_external_fence": [Call(MAIN, {"state": "closed"})],
    }
    secret = "correct-horse-battery-staple"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "token").write_text(self.secret)
        (folder / "token").chmod(0o600)
        (folder / "bin").mkdir()
        for name, text in {"flush": CHANGES, "tag": CHANGES, "bar": SHUTS, "unbar": OPENS, "barred": TELLS}.items():
            program = folder / "bin" / name
            program.write_text(text.replace("#!/bin/sh\n", f"#!/bin/sh\ncd '{folder}'\n"))
            program.chmod(0o755)

    def _command(self, name: str, *words: str, **more: object) -> Mapping[str, object]:
        trusted = {"TOKEN": {"file": str(self.folder / "token")}}
        return {"argv": [str(self.folder / "bin" / name), *words], "secrets": trusted, **more}

    @property
    def site(self) -> Site:
        commands = {
            "flush": self._command("flush", "{service}", per="service"),
            "tag": self._command("tag", "{service}", per="service", idempotent=True),
            "bar": self._command("bar", check=[str(self.folder / "bin" / "barred")], undo="unbar"),
            "unbar": self._command("unbar"),
        }
        site = {
            "name": "ny",
            "adapter": "local",
            "devices": [{"name": "ny1"}],
            "options": {"commands": commands},
            "fence": [{"command": "bar"}],
        }
        return Site.model_validate(site)

    def adapter(self, *, read_only: bool = False) -> Adapter:
        return Registry().adapter_for(
            self.site, AdapterContext(SystemClock(), SecretStore(None), read_only=read_only)
        )

    @property
    def _ledger(self) -> list[str]:
        path = self.folder / "ledger"
        return path.read_text().splitlines() if path.exists() else []

    def arrived(self) -> int:
        return len(self._ledger)

    def state(self) -> object:
        return self._ledger, (self.folder / "shut").exists()

    def spoil(self, how: Spoil) -> None:
        (self.folder / "spoil").write_text(how)

    def go_away(self) -> None:
        (self.folder / "bin").rename(self.folder / "away")

    def come_back(self) -> None:
        (self.folder / "away").rename(self.folder / "bin")


class TestLocal(Laws):
    """``local``. A program that is not there needs a person: that is a no, and not silence that may pass."""

    away: ClassVar[type[AdapterError]] = CommandRejected

    @pytest.fixture
    def bench(self, tmp_path: Path) -> Iterator[Bench]:
        yield LocalBench(tmp_path)
