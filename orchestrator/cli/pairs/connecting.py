"""The first line of a command that reads devices. It names the devices, because an operator has to wait for them.

The line is printed before the rest of the program is loaded, so this module loads only the code for the names.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from orchestrator.cli.render.terminal import say, say_cut
from orchestrator.model.inventory import Inventory
from orchestrator.operations.runtime import Tools
from orchestrator.operations.selection import pairs_of, services_of

if TYPE_CHECKING:
    from orchestrator.cli.options import Selection
    from orchestrator.cli.run_options import Beginning
    from orchestrator.model import events as ev


def say_connecting(tools: Tools, inventory: Inventory, only: str | None) -> None:
    """Print the line, on a terminal only. Raises ``DefinitionError`` for an unknown pair."""
    if not sys.stderr.isatty():
        return
    say_cut(_line(tools, inventory, (name for pair in pairs_of(inventory, only) for name in pair.sites)))


def say_connecting_to_move(tools: Tools, which: Selection, begin: Beginning, site: str | None) -> None:
    """Print the line of a command that moves services, before its plan is made. With a key nothing is printed, because
    the command may connect to no device. ``site`` is the named site. Raises ``DefinitionError`` if the services do not
    belong to one pair."""
    if begin.as_json or begin.key is not None:
        return
    inventory = replace(tools, tell=lambda _: None).inventory(which.inventory)  # planning prints its warnings
    _, pair = services_of(inventory, which)
    if site is None or site in pair.sites:
        say(_line(tools, inventory, pair.sites))


def say_connecting_for(plan: ev.Plan, *, as_json: bool) -> None:
    """Print the line of a command that leads a run of ``plan``."""
    if not as_json:
        say(_words(plan.simulated, plan.inventory, (plan.source, plan.target)))


def _line(tools: Tools, inventory: Inventory, sites: Iterable[str]) -> str:
    return _words(tools.is_simulated(inventory), inventory, sites)


def _words(is_simulated: bool, inventory: Inventory, sites: Iterable[str]) -> str:
    devices = (device.name for name in dict.fromkeys(sites) for device in inventory.sites[name].devices)
    return f"{'SIMULATED  ' if is_simulated else ''}connecting to {', '.join(devices)}"
