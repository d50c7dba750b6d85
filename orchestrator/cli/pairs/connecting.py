"""The first line of a command that reads devices: which ones it connects to. An operator waits for them.

It is said before the rest of the program is loaded, so this module loads only what the names need.
"""

from __future__ import annotations

import sys

from orchestrator.cli.render.terminal import say_cut
from orchestrator.model.inventory import Inventory
from orchestrator.operations.runtime import Tools
from orchestrator.operations.selection import pairs_of


def say_connecting(tools: Tools, inventory: Inventory, only: str | None) -> None:
    """On a terminal only. Raises ``DefinitionError`` for a pair that is none."""
    if not sys.stderr.isatty():
        return
    sites = dict.fromkeys(name for pair in pairs_of(inventory, only) for name in pair.sites)
    devices = ", ".join(device.name for name in sites for device in inventory.sites[name].devices)
    marker = "SIMULATED  " if tools.is_simulated(inventory) else ""
    say_cut(f"{marker}connecting to {devices}")
