"""Completions for a shell: names from the inventory and from the record. Completion connects to no device and changes
nothing.

Completion reports no mistake in a file, because the shell cannot show it. The command itself reports the mistake.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from orchestrator.errors import FailoverError

if TYPE_CHECKING:
    from orchestrator.model.inventory import Inventory

_RUNS = 20


def services(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of services. If a pair was typed before, only services of that pair."""
    pair = ctx.params.get("pair")
    return _fitting(
        ctx, incomplete, lambda of: (s for one in of.pairs if pair in (None, one.name) for s in one.services)
    )


def sites(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of sites."""
    return _fitting(ctx, incomplete, lambda of: of.sites)


def pairs(ctx: typer.Context, incomplete: str) -> list[str]:
    """Names of pairs."""
    return _fitting(ctx, incomplete, lambda of: (one.name for one in of.pairs))


def runs(incomplete: str) -> list[str]:
    """``last``, and the names of the newest runs."""
    from contextlib import closing

    from orchestrator.cli.tools import make_tools

    try:
        tools = make_tools()
        if not tools.has_journal:
            return []
        with closing(tools.journal()) as journal:
            names = ["last", *(row.run for row in journal.runs()[:_RUNS])]
    except FailoverError:
        return []
    return [name for name in names if name.startswith(incomplete)]


def _fitting(ctx: typer.Context, incomplete: str, names: Callable[[Inventory], Iterable[str]]) -> list[str]:
    try:
        found = _inventory(ctx.params.get("inventory"))
    except FailoverError:
        return []
    typed: Sequence[str] = ctx.params.get("names") or ()
    return sorted({name for name in names(found) if name.startswith(incomplete) and name not in typed})


def _inventory(named: object) -> Inventory:
    path = str(named or os.environ.get("FAILOVER_INVENTORY") or "")
    if not path:
        from simulator.embedded import embedded_inventory

        return embedded_inventory(Path("world.json"))
    from orchestrator.documents.loader import load_inventory
    from orchestrator.operations.declared_families import FOLDER, offer_families

    offer_families([Path(path).parent / FOLDER])
    return load_inventory(Path(path).expanduser())[0]
