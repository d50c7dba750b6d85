"""Checks and prints which laws a family keeps. With an inventory it connects to the sites of that family."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

from orchestrator.cli.render.families import FINDINGS
from orchestrator.cli.render.terminal import say_unless, show, show_json
from orchestrator.errors import DefinitionError, NotStarted
from orchestrator.model.families import Family, needed_family
from orchestrator.operations.active_runs import open_runs
from orchestrator.operations.conformance import Opened, Verdict, verdicts_of
from orchestrator.operations.conformance_changes import Changed, verdicts_of_changes
from orchestrator.operations.families import family_of
from orchestrator.operations.read_only_sessions import changing, reading_only
from orchestrator.operations.runtime import Tools


def print_laws(
    tools: Tools, name: str, inventory: Path | None, pair: str | None, change: str | None, *, as_json: bool
) -> int:
    """Print which laws hold. Laws of changes are checked only with a site to ``change``. Returns 0, or 4 if a law is
    broken."""
    family = needed_family(name)
    with ExitStack() as stack:
        opened = [] if inventory is None else list(_sessions(stack, tools, family, inventory, pair))
        changed = None if change is None else _changed(stack, tools, inventory, change, opened)
        if changed is not None:
            tell = say_unless(as_json)
            tell(f"CHANGES {changed.site}: each action is done at {changed.service} and rolled back")
        found = list(verdicts_of(family, tools.registry, opened))
        found += [] if changed is None else verdicts_of_changes(family, changed, tools.clock)
    broken = [one for one in found if one.outcome == "broken"]
    code = FINDINGS if broken else 0
    if as_json:
        laws = [{"law": one.law, "outcome": one.outcome, "details": one.details} for one in found]
        show_json({"family": name, "laws": laws, "exit_code": code})
        return code
    for one in found:
        for line in _lines(one):
            show(line)
    kept = sum(one.outcome == "holds" for one in found)
    show(
        f"{name}: {kept} of {len(found)} laws hold, {len(broken)} broken, {len(found) - kept - len(broken)} not checked"
    )
    return code


def _lines(one: Verdict) -> Iterator[str]:
    yield f"{one.outcome.upper() if one.outcome == 'broken' else one.outcome:<11}  {one.law}"
    yield from (f"             {detail}" for detail in one.details)


def _sessions(stack: ExitStack, tools: Tools, family: Family, inventory: Path, pair: str | None) -> Iterator[Opened]:
    """Read-only sessions with every site of the family. Raises ``DefinitionError`` if there is no such site."""
    whole = tools.inventory(inventory)
    pairs = [one for one in whole.pairs if pair in (None, one.name)]
    services = {site: one.services for one in pairs for site in one.sites}
    sites = {site: some for site, some in services.items() if family_of(tools, whole.sites[site]) == family.name}
    if not sites:
        raise DefinitionError(
            f"no pair of the inventory belongs to the family {family.name}", hint="name another inventory"
        )
    for site, some in sites.items():
        yield Opened(site, stack.enter_context(reading_only(tools, whole.sites[site])), some)


def _changed(stack: ExitStack, tools: Tools, inventory: Path | None, site: str, opened: Sequence[Opened]) -> Changed:
    """A session that may change ``site``. Raises ``DefinitionError`` for a site of another family, and ``NotStarted``
    while a run holds, or may hold, its services."""
    services = {one.site: one.services for one in opened}
    if site not in services:
        known = ", ".join(services) or "unknown: name an inventory with --inventory"
        raise DefinitionError(f"--change {site}: the family has no such site", hint=f"its sites are {known}")
    whole = tools.inventory(inventory)
    runs = open_runs(tools, whole, [pair for pair in whole.pairs if site in pair.sites])
    for line in runs.lines():
        raise NotStarted(
            f"--change {site}: {line}", hint="finish that run first, because two commands must not change one site"
        )
    return Changed(site, stack.enter_context(changing(tools, whole.sites[site])), services[site][0])
