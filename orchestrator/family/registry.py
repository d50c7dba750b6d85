"""The installed adapters, by name. Built-in adapters and those of third parties are found in the same way.

A distribution names its adapters in the entry point group ``failover.adapters``. An inventory writes the same name
under ``adapter``. An adapter is imported only when it is needed. An adapter that cannot be imported is reported, and
does not affect the others.

This module must never choose between two adapters of one name, and never keep state outside its instance.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from orchestrator.errors import DefinitionError
from orchestrator.family.composite import compose
from orchestrator.family.contract import Adapter, AdapterContext, family_named
from orchestrator.model.findings import Finding, Level
from orchestrator.model.installed import installed
from orchestrator.model.inventory import Site
from orchestrator.suggestions import suggest

GROUP = "failover.adapters"

_METHODS = ("open", "probe", "apply", "close")
_DECLARATIONS: Mapping[str, type] = {"readings": Mapping, "actions": Mapping, "simulated": bool}


class Registry:
    """Finds adapters. ``offered``: entry points to use instead of the installed ones."""

    def __init__(self, offered: Iterable[EntryPoint] | None = None) -> None:
        self._offered = None if offered is None else tuple(offered)
        self._loaded: dict[str, type[Adapter]] = {}

    def names(self) -> list[str]:
        """All offered names, sorted. No adapter is imported, so some of them may not work."""
        return sorted(self._entries)

    def get(self, name: str) -> type[Adapter]:
        """The adapter of this name. Raises ``DefinitionError``: unknown, offered twice, or broken."""
        if name not in self._entries and name in self._brought:
            return self._brought[name]  # not cached: a run uses the family as its record has it
        if name not in self._loaded:
            self._loaded[name] = _load(self._entry(name))
        return self._loaded[name]

    def declarations(self, site: Site) -> type[Adapter]:
        """The adapter class of ``site``. A runbook may use its ``readings`` and ``actions`` there.

        Raises ``DefinitionError`` as ``get`` does, and for options from which no declarations can be made.
        """
        return compose([_fitted(self.get(part.adapter), part) for part in site.parts])

    def of_family(self, family: str) -> list[str]:
        """The names of the adapters for ``family``, those of real devices first. Imports all adapters."""
        found = []
        for name in sorted({*self._entries, *self._brought}):
            with suppress(DefinitionError):  # a broken adapter does not block the others
                kind = self.get(name)
                if family_named(kind) == family:
                    found.append((kind.simulated, name))
        return [name for _, name in sorted(found)]

    def shared(self, site: Site, services: Sequence[str]) -> str:
        """The reason why ``services`` cannot be moved apart at ``site``, from one of its adapters; empty: they can."""
        for part in site.parts:
            says: Callable[[Site, Sequence[str]], str] | None = getattr(self.get(part.adapter), "shared", None)
            found = "" if says is None else says(part, services)
            if found:
                return found
        return ""

    def is_simulated(self, site: Site) -> bool:
        """Is the whole ``site`` simulated? The site of a lab declares it itself. Raises ``DefinitionError`` as ``get``
        does."""
        return site.simulated or all(self.get(part.adapter).simulated for part in site.parts)

    def adapter_for(self, site: Site, context: AdapterContext) -> Adapter:
        """A new adapter for ``site``, not yet open. Raises ``DefinitionError`` as ``get`` does."""
        return self.declarations(site)(site, context)

    def findings(self) -> list[Finding]:
        """The faults of the offered adapters. It imports all of them, so it is not called at every start."""
        return list(self._problems())

    def _problems(self) -> Iterator[Finding]:
        for name in self.names():
            try:
                self.get(name)
            except DefinitionError as error:
                code = "adapter-twice" if len(self._entries[name]) > 1 else "adapter-broken"
                yield Finding(level=Level.ERROR, code=code, message=str(error), hint=error.hint)

    @cached_property
    def _entries(self) -> Mapping[str, tuple[EntryPoint, ...]]:
        """The entry points of each name. Several entry points for one name are a conflict, which affects that name
        only."""
        offered = entry_points(group=GROUP) if self._offered is None else self._offered
        entries: dict[str, dict[tuple[str, str], EntryPoint]] = defaultdict(dict)
        for entry in offered:
            # One distribution that is found at two places of the path offers the same adapter twice. That is no
            # conflict.
            entries[entry.name].setdefault((entry.value, _distribution(entry)), entry)
        return {name: tuple(found.values()) for name, found in entries.items()}

    @property
    def _brought(self) -> Mapping[str, type[Adapter]]:
        """The adapters that families bring themselves, by name."""
        found: dict[str, type[Adapter]] = {}
        for _, family in sorted(installed().families.items()) if self._offered is None else ():
            found = {**getattr(family, "adapters", {}), **found}
        return found

    def _entry(self, name: str) -> EntryPoint:
        found = self._entries.get(name, ())
        if not found:
            for file, why in installed().problems.items() if self._offered is None else ():
                if Path(file).stem == name:
                    hint = f"see `failover family lint {file}`"
                    raise DefinitionError(f"the family file {file} cannot be used: {why}", hint=hint)
            raise DefinitionError(
                f"no adapter is called {name!r}",
                hint=suggest(name, sorted({*self._entries, *self._brought}), label="installed"),
            )
        if len(found) > 1:
            owners = " and ".join(sorted(f"{_distribution(entry)} ({entry.value})" for entry in found))
            raise DefinitionError(
                f"more than one package offers the adapter {name}: {owners}", hint="uninstall one of these packages"
            )
        return found[0]


def _fitted(kind: type[Adapter], site: Site) -> type[Adapter]:
    """``kind`` with its declarations for ``site``. Most adapters have the same declarations for all sites."""
    fitted: Callable[[Site], type[Adapter]] | None = getattr(kind, "fitted", None)
    return kind if fitted is None else fitted(site)


def _load(entry: EntryPoint) -> type[Adapter]:
    """Import one adapter and check that it fits the contract."""
    owner = _distribution(entry)
    try:
        loaded = entry.load()
    except Exception as error:  # importing runs foreign code, which may raise any exception
        sentence = f"the adapter {entry.name} of {owner} cannot be imported: {type(error).__name__}: {error}"
        raise DefinitionError(
            sentence, hint="install the packages that the adapter needs, or uninstall the adapter"
        ) from error
    lacking = [name for name in _METHODS if not callable(getattr(loaded, name, None))]
    lacking += [name for name, kind in _DECLARATIONS.items() if not isinstance(getattr(loaded, name, None), kind)]
    if not isinstance(loaded, type) or lacking:
        what = f"the adapter has no {', '.join(lacking)}" if lacking else "the entry point is not a class"
        raise DefinitionError(f"the adapter {entry.name} of {owner} does not fit the contract: {what}")
    adapter: type[Adapter] = loaded
    return adapter


def _distribution(entry: EntryPoint) -> str:
    """The distribution that offers the entry point; its target if the distribution is unknown."""
    return entry.value if entry.dist is None else entry.dist.name
