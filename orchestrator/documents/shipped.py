"""The runbooks that come with the installed families: where their files are, and those made for families in files."""

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
    """The names of the runbooks that come with the installed families, sorted; with those made for families in files."""
    own = _shipped()
    generic = (
        f"{name}/{kind}"
        for name in known_families()
        if (file := _declared(name)) is not None
        for kind in KINDS
        if f"{name}/{kind}" not in own and can_be_made(file, kind, _kinds(own, name))
    )
    return sorted([*own, *generic])


def _declared(family: str) -> FamilyFile | None:
    """The file that declares a family, or None."""
    file = getattr(family_called(family), "file", None)
    return file if isinstance(file, FamilyFile) else None


def generic_named(name: str) -> Runbook | None:
    """The runbook of a family in a file that has none of its own of this name. Raises ``DefinitionError`` with the reason
    where none can be made."""
    family, _, kind = name.partition("/")
    file, own = _declared(family), _shipped()
    if file is None or kind not in KINDS or name in own:
        return None
    return generic_runbook(file, kind, _kinds(own, family))


def _kinds(names: Iterable[str], family: str) -> set[str]:
    """Of the names of runbooks, the kinds that a family has itself."""
    return {name.partition("/")[2] for name in names if name.startswith(f"{family}/")}


def _shipped() -> dict[str, Path]:
    """Every runbook of every family, by name. A family's folder holds its procedures as ``<kind>.yaml``."""
    folders = {name: family_called(name) for name in known_families()}
    return {
        f"{name}/{path.stem}": path
        for name, family in folders.items()
        if family is not None and family.runbooks is not None
        for path in family.runbooks.glob("*.yaml")
    }


def shipped_path(name: str) -> Path:
    """The file of a shipped runbook. Raises ``DefinitionError`` for a name that none has."""
    known = _shipped()
    if name not in known:
        hint = f"the name of a file ends in .yaml; {suggest(name, known, label='shipped')}"
        raise DefinitionError(f"no shipped runbook is called {name}", hint=hint)
    return known[name]
