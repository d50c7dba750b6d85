"""The runbooks that come with the installed families: the paths of their files, and the runbooks made for file-based
families."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from orchestrator.documents.generic_runbooks import KINDS, can_be_made, generic_runbook
from orchestrator.errors import DefinitionError
from orchestrator.model.declared.file import FamilyFile
from orchestrator.model.families import family_called, known_families
from orchestrator.model.runbook import Runbook
from orchestrator.suggestions import suggest


def shipped_runbooks() -> list[str]:
    """The sorted names of the runbooks that come with the installed families or are made for file-based families."""
    return sorted(name for family in known_families() for name in shipped_of(family))


def shipped_of(family: str) -> list[str]:
    """The names of the runbooks of one family, sorted."""
    own, file = _runbooks_of(family), _declared(family)
    if file is None:
        return sorted(own)
    named = {f"{family}/{kind}" for kind in KINDS if can_be_made(file, kind, _kinds(own, family))}
    return sorted(named.union(own))


def offers_repair(family: str) -> bool:
    """Does a family ship the runbook that repairs a pair with two active sites, or with none?"""
    return f"{family}/repair-standby" in shipped_of(family)


def _declared(family: str) -> FamilyFile | None:
    """The file that declares a family, or None."""
    file = getattr(family_called(family), "file", None)
    return file if isinstance(file, FamilyFile) else None


def generic_named(name: str) -> Runbook | None:
    """The runbook made for a file-based family, or None if the family has its own runbook of this name. Raises
    ``DefinitionError`` with the reason if the runbook cannot be made."""
    family, _, kind = name.partition("/")
    file = _declared(family)
    if file is None or kind not in KINDS:
        return None
    own = _runbooks_of(family)
    return None if name in own else generic_runbook(file, kind, _kinds(own, family))


def _kinds(names: Iterable[str], family: str) -> set[str]:
    """The kinds of a family's own runbooks, taken from ``names``."""
    return {name.partition("/")[2] for name in names if name.startswith(f"{family}/")}


def _shipped() -> dict[str, Path]:
    """Every runbook of every family, by name."""
    return {name: path for family in known_families() for name, path in _runbooks_of(family).items()}


def _runbooks_of(family: str) -> dict[str, Path]:
    """The runbook files of a family, by runbook name. The family's folder holds them as ``<kind>.yaml``. Empty if the
    family is unknown."""
    folder = getattr(family_called(family), "runbooks", None)
    return {} if folder is None else {f"{family}/{path.stem}": path for path in folder.glob("*.yaml")}


def shipped_path(name: str) -> Path:
    """The file of a shipped runbook. Raises ``DefinitionError`` if no shipped runbook has this name."""
    known = _runbooks_of(name.partition("/")[0])
    if name not in known:
        hint = f"the name of a runbook file ends in .yaml; {suggest(name, _shipped(), label='shipped')}"
        raise DefinitionError(f"no shipped runbook is called {name}", hint=hint)
    return known[name]
