"""The first line of a command that reads devices: which ones it connects to. An operator waits for them.

It is said before the rest of the program is loaded, so this module loads only what the names need.
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
    """On a terminal only. Raises ``DefinitionError`` for a pair that is none."""
    if not sys.stderr.isatty():
        return
    say_cut(_line(tools, inventory, (name for pair in pairs_of(inventory, only) for name in pair.sites)))


def say_connecting_to_move(tools: Tools, which: Selection, begin: Beginning, site: str | None) -> None:
    """Of a command that moves services, before its plan is made. With a key it is not yet clear that it connects to
    any. Raises ``DefinitionError`` where the services are not those of one pair, ``site`` is the one that was named."""
    if begin.as_json or begin.key is not None:
        return
    inventory = replace(tools, tell=lambda _: None).inventory(which.inventory)  # planning says what is odd about it
    _, pair = services_of(inventory, which)
    if site is None or site in pair.sites:
        say(_line(tools, inventory, pair.sites))


def say_connecting_for(plan: ev.Plan, *, as_json: bool) -> None:
    """Of a command that leads a run of ``plan``."""
    if not as_json:
        say(_words(plan.simulated, plan.inventory, (plan.source, plan.target)))


def _line(tools: Tools, inventory: Inventory, sites: Iterable[str]) -> str:
    return _words(tools.is_simulated(inventory), inventory, sites)


def _words(is_simulated: bool, inventory: Inventory, sites: Iterable[str]) -> str:
    devices = (device.name for name in dict.fromkeys(sites) for device in inventory.sites[name].devices)
    return f"{'SIMULATED  ' if is_simulated else ''}connecting to {', '.join(devices)}"
