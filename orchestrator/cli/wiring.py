"""Puts the parts together: state directory, journal, secrets, inventory, adapters, fleet. Decides nothing."""

from __future__ import annotations

import getpass
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestrator import events as ev
from orchestrator.cli.terminal import is_attended, say
from orchestrator.clock import Clock, SystemClock
from orchestrator.contract import Adapter, Setting
from orchestrator.errors import DefinitionError, JournalUnavailable
from orchestrator.journal import Journal
from orchestrator.redact import SecretStore
from orchestrator.registry import Registry
from orchestrator.runbook import Side
from orchestrator.site import Inventory

STATE_VARIABLE = "FAILOVER_STATE"
JOURNAL_VARIABLE = "FAILOVER_JOURNAL"
INVENTORY_VARIABLE = "FAILOVER_INVENTORY"


@dataclass(frozen=True, slots=True)
class Tools:
    """What every command that touches runs or devices works with."""

    state: Path
    clock: Clock
    secrets: SecretStore
    registry: Registry

    def journal(self) -> Journal:
        """The journal: SQLite in the state directory, or the database that ``FAILOVER_JOURNAL`` names by URL."""
        url = os.environ.get(JOURNAL_VARIABLE)
        if url:
            return Journal(url, scrub=self.secrets.redactor.scrub)
        path = self.state / "journal.sqlite"
        _make_private(path)
        return Journal.at(path, scrub=self.secrets.redactor.scrub)

    def inventory(self, path: Path | None) -> Inventory:
        """The inventory from ``path``, from ``FAILOVER_INVENTORY``, or the embedded simulated pair."""
        named = path or (Path(os.environ[INVENTORY_VARIABLE]) if os.environ.get(INVENTORY_VARIABLE) else None)
        if named is None:
            from adapters.mock.embedded import embedded_inventory, embedded_world

            embedded_world(self.world_file, self.clock).close()
            return embedded_inventory(self.world_file)
        from orchestrator.loader import load_inventory

        inventory, findings = load_inventory(named)
        for finding in findings:
            if finding.level != "note":
                say(str(finding))
        return inventory

    @property
    def world_file(self) -> Path:
        """Where the embedded simulated pair keeps its state between commands."""
        return self.state / "world.json"

    def is_simulated(self, inventory: Inventory) -> bool:
        """Is every site of it simulated? Half a simulation is none."""
        sites = inventory.sites.values()
        return all(site.simulated or self.registry.get(site.adapter).simulated for site in sites)

    @contextmanager
    def adapters(self, plan: ev.Plan, *, read_only: bool = False) -> Iterator[Mapping[Side, Adapter]]:
        """The adapters of both sides of ``plan``, open; closed afterwards."""
        made = self.make_adapters(plan, read_only=read_only)
        try:
            for adapter in made.values():
                adapter.open()
            yield made
        finally:
            for adapter in made.values():
                adapter.close()

    def make_adapters(self, plan: ev.Plan, *, read_only: bool = False) -> dict[Side, Adapter]:
        """The same, not yet open."""
        setting = Setting(clock=self.clock, secrets=self.secrets, read_only=read_only)
        sites = plan.inventory.sites
        return {
            "source": self.registry.adapter_for(sites[plan.source], setting),
            "target": self.registry.adapter_for(sites[plan.target], setting),
        }


def tools() -> Tools:
    """The tools of this process, with a state directory that nobody else can write to."""
    ask = (lambda what: getpass.getpass(f"{what}: ")) if is_attended() else None
    return Tools(_state_directory(), SystemClock(), SecretStore(ask), Registry())


def user_name() -> str:
    """Who asks for this, for the record."""
    return os.environ.get("FAILOVER_USER") or getpass.getuser()


def _state_directory() -> Path:
    named = os.environ.get(STATE_VARIABLE)
    if named:
        path = Path(named)
    else:
        from platformdirs import user_state_path

        path = user_state_path("failover")
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
        found = path.stat()
    except OSError as error:
        raise JournalUnavailable(
            f"the state directory {path} cannot be used: {error.strerror}",
            hint=f"set {STATE_VARIABLE} to another one",
        ) from error
    if found.st_uid != os.getuid() or stat.S_IMODE(found.st_mode) & 0o022:
        raise DefinitionError(
            f"the state directory {path} can be written by others, so its record proves nothing",
            hint=f"make it yours alone: chmod 700 {path}",
        )
    return path


def _make_private(path: Path) -> None:
    """Create the file readable by its owner only, before a library creates it readable by all."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
    except OSError as error:
        raise JournalUnavailable(
            f"the journal {path} cannot be opened: {error.strerror}",
            hint="mend the cause (disk full? read-only? a link?); nothing was sent",
        ) from error
