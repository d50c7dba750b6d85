"""A definition file as it was read: its value, or everything that is wrong with it.

Also finds the place of those mistakes that concern a document as a whole, which a model's validator cannot know.
Must never see YAML: it works on plain values and on paths into them.
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
    """``value`` is None exactly if ``findings`` has an error. ``lines`` finds the line of a path in the file, ``digest``
    is the SHA-256 of what was read of it."""

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
    """Where a rule of the whole document is broken. ``data`` fits the model but for that rule."""
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
    """A site that has another name than its key."""
    return next(
        (("sites", key, "name") for key, site in data["sites"].items() if site.get("name") not in (None, "", key)), ()
    )


def _pair(data: Any) -> Path:
    """A site that is not listed, or a service that is listed again, whichever the model meets first."""
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
