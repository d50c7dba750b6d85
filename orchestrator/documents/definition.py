"""A definition file after reading: its value, or all its mistakes.

Also finds the place of mistakes that concern the whole document, because a model's validator cannot know that place.
This module must never see YAML. It works on plain values and on paths into them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from pydantic import BaseModel

from orchestrator.counting import counted
from orchestrator.documents.source_map import Lines, Path
from orchestrator.errors import DefinitionError
from orchestrator.model.findings import Finding, Level
from orchestrator.model.inventory import Inventory
from orchestrator.model.runbook import Runbook
from orchestrator.model.transactions import TransactionDecisions

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Definition(Generic[Model]):
    """``value`` is None if, and only if, ``findings`` has an error. ``lines`` finds the line of a path in the file.
    ``digest`` is the SHA-256 of the bytes that were read from the file."""

    file: str
    value: Model | None
    findings: tuple[Finding, ...]
    lines: Lines
    digest: str = ""

    def result(self) -> Model:
        """The value. Raises ``DefinitionError`` for the first error; its hint says how many follow."""
        if self.value is not None:
            return self.value
        first, *more = [finding for finding in self.findings if finding.level is Level.ERROR]
        count = f"{counted(len(more), 'more mistake')} in this file" if more else ""
        hint = "; ".join(part for part in (first.hint, count) if part)
        raise DefinitionError(first.message, hint=hint, file=self.file, line=first.line)


def whole_document(model: type[BaseModel], data: Any) -> Path:
    """The path at which a rule of the whole document is broken. ``data`` breaks no other rule of the model."""
    if model is Runbook:
        return _repeated(data["steps"], ("steps",), "id")
    if issubclass(model, TransactionDecisions):
        return _repeated(data["decisions"], ("decisions",), model.key)
    if model is Inventory:
        return _renamed(data) or _pair(data) or _repeated(data.get("hooks", ()), ("hooks",), "name")
    return ()


def _repeated(entries: Any, path: Path, key: str) -> Path:
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        if entry[key] in seen:
            return (*path, index, key)
        seen.add(entry[key])
    return ()


def _renamed(data: Any) -> Path:
    """The path of a site whose name differs from its key."""
    return next(
        (("sites", key, "name") for key, site in data["sites"].items() if site.get("name") not in (None, "", key)), ()
    )


def _pair(data: Any) -> Path:
    """The path of the first site that is not listed or service that is listed twice, in the order of the model."""
    seen: set[str] = set()
    for index, pair in enumerate(data["pairs"]):
        for side, site in enumerate(pair["sites"]):
            if site not in data["sites"]:
                return ("pairs", index, "sites", side)
        for position, service in enumerate(pair["services"]):
            if service in seen:
                return ("pairs", index, "services", position)
            seen.add(service)
    return ()
