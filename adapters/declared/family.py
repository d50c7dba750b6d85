"""A family, made from the file that declares it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from adapters.declared.adapter import adapter_of
from adapters.declared.reading_models import reading_model
from orchestrator.family.moves import Given, Kind
from orchestrator.family.offers import Offering
from orchestrator.model.families import Words
from orchestrator.model.family_file import FamilyFile
from orchestrator.model.inventory import Site


@dataclass(frozen=True, slots=True)
class DeclaredFamily(Offering):
    """What ``file`` declares, and which of its runbooks a move means."""

    file: FamilyFile | None = None

    def runbook_for(self, kind: Kind, site: Site, given: Given) -> str:
        """A failed site whose fence plan has a command is fenced by it, where the family has a runbook that does."""
        commanded = f"{kind}-commanded"
        if site.fenced_by("command") is None or self.runbooks is None:
            return kind
        return commanded if (self.runbooks / f"{commanded}.yaml").is_file() else kind


def family_of(file: FamilyFile, runbooks: Path | None) -> Offering:
    """The family, with the adapter that it brings. ``runbooks``: the folder of its procedures, if it exists."""
    models = {name: reading_model(name, one) for name, one in file.readings.items()}
    return DeclaredFamily(
        name=file.family,
        words=Words(option="--service", **file.words.model_dump()),
        readings=models,
        runbooks=runbooks if runbooks is not None and runbooks.is_dir() else None,
        makes={(name, ""): {"": dict(one.makes)} for name, one in file.actions.items() if one.makes},
        adapters={file.family: adapter_of(file, models)},
        model=file.model,
        file=file,
    )
