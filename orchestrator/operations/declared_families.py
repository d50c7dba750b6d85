"""The families that files declare: those of the program, those beside an inventory, and those that are named.

A faulty file does not affect other commands. `failover family list` reports its faults, and so does a command that
needs it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, cast

from orchestrator.documents.source_map import Diagnostic, Lines, findings_of
from orchestrator.errors import DefinitionError
from orchestrator.family.composite import compose
from orchestrator.family.contract import Adapter
from orchestrator.family.reachability import with_made_readings
from orchestrator.family.registry import Registry
from orchestrator.model.families import SHIPPED, Family, family_called
from orchestrator.model.findings import Finding, Level
from orchestrator.model.installed import offer, offer_recorded, offered

if TYPE_CHECKING:
    from orchestrator.model.declared.file import FamilyFile
    from orchestrator.model.plan import Plan

# Files or folders, separated as in PATH.
VARIABLE = "FAILOVER_FAMILIES"
INVENTORY = "FAILOVER_INVENTORY"
# The folder beside an inventory.
FOLDER = "families"
# In this entry point group, a distribution names a package with family files.
GROUP = "failover.family_files"


def offer_families(places: Iterable[Path] = ()) -> None:
    """Make known the families that are declared in ``places``, files or folders, and in three other sources: the files
    of ``FAILOVER_FAMILIES``, the folder beside ``FAILOVER_INVENTORY``, and the installed distributions. A file is read
    only when its family is needed."""
    inventory = os.environ.get(INVENTORY)
    beside = [Path(inventory).parent / FOLDER] if inventory else []
    named = [Path(one) for one in os.environ.get(VARIABLE, "").split(os.pathsep) if one]
    packages = [Path(str(files(entry.value))) for entry in entry_points(group=GROUP)]
    for place in (SHIPPED, *packages, *named, *beside, *places):
        is_file = place.suffix == ".yaml"
        for path in [place] if is_file else sorted(place.glob("*.yaml")):
            _offer(path.absolute())


def files_of(kinds: Iterable[type[Adapter]]) -> tuple[FamilyFile, ...]:
    """The files that declare ``kinds`` of adapters, each once. A plan records them."""
    from orchestrator.model.declared.file import FamilyFile

    found = (getattr(kind, "file", None) for kind in kinds)
    return tuple({file.family: file for file in found if isinstance(file, FamilyFile)}.values())


def know_recorded(plan: Plan) -> None:
    """Make known the families of ``plan`` as its run recorded them: their files may have been deleted or changed."""
    if plan.families:
        from adapters.declared.family import family_of

        for file in plan.families:
            known = family_called(file.family)
            if getattr(known, "file", None) != file:
                offer_recorded(file.family, family_of(file, getattr(known, "runbooks", None)))


def name_families(places: Iterable[Path]) -> None:
    """Make these files known to this process, and to those that it starts. Raises ``DefinitionError`` for no family
    file."""
    known = [os.environ[VARIABLE]] if os.environ.get(VARIABLE) else []
    for place in places:
        if not place.exists():
            raise DefinitionError(f"there is no family file {place}")
        if not place.is_dir() and place.suffix != ".yaml":
            raise DefinitionError(f"{place} is not a family file: the name of a family file ends in .yaml")
        known.append(str(place.absolute()))
    os.environ[VARIABLE] = os.pathsep.join(known)


def findings_of_file(path: Path) -> list[Finding]:
    """The faults of a family file; if it has none, those of the runbooks in the folder beside it."""
    from adapters.declared.family import family_of
    from orchestrator.documents.loader import read_family

    read = read_family(path)
    if read.value is None:
        return list(read.findings)
    family = family_of(read.value, path.with_name(read.value.family))
    # The runbooks of the family may name each other.
    with offered(str(path.absolute()), lambda: family):
        return [
            *read.findings,
            *_of_the_whole(read.value, family.runbooks, read.file, read.lines),
            *_of_runbooks(family, read.value),
        ]


def _of_runbooks(family: Family, file: FamilyFile) -> Iterator[Finding]:
    """The faults of the runbooks in the folder beside the family file."""
    from orchestrator.documents.lint.family_conduct import lint_closing
    from orchestrator.documents.lint.runbook import lint
    from orchestrator.documents.loader import read_runbook

    local = Registry().get("local")  # a site may have commands of the operator's own
    kind = compose([cast("type[Adapter]", family.adapters[family.name]), local])
    for one in sorted(family.runbooks.glob("*.yaml")) if family.runbooks is not None else ():
        runbook = read_runbook(one)
        yield from runbook.findings
        if runbook.value is not None:
            readings = with_made_readings(kind.readings)
            yield from lint(runbook.value, readings, kind.actions, file=runbook.file, lines=runbook.lines)
            yield from findings_of(lint_closing(runbook.value, file), file=runbook.file, lines=runbook.lines)


def _of_the_whole(file: FamilyFile, runbooks: Path | None, name: str, lines: Lines) -> list[Finding]:
    """The faults that depend on the other families, the folder beside the file and this machine."""
    from adapters.declared.sql import driver_problem
    from orchestrator.documents.generic_runbooks import generic_runbook

    told: list[Diagnostic] = []

    def warn(path: tuple[str | int, ...], code: str, message: str, hint: str = "") -> None:
        told.append(Diagnostic(path, Level.WARNING, code, message, hint))

    other = family_called(file.family)
    if other is not None and getattr(other, "file", None) != file:
        what = f"another family has the name {file.family}, so this file is not used while that family is installed"
        warn(("family",), "family-taken", what, "give the family of this file another name")
    for kind in ("controlled", "uncontrolled"):
        if runbooks is None or not (runbooks / f"{kind}.yaml").exists():
            try:
                generic_runbook(file, kind)
            except DefinitionError as error:
                warn(("readings",), "no-runbook", str(error))
    named = {one.stem for one in runbooks.glob("*.yaml")} if runbooks is not None else set[str]()
    if "uncontrolled-commanded" in named and "restore-commanded" not in named:
        what = "no restore opens what the command of a fence plan has closed, so clients could not connect again"
        warn(
            ("family",),
            "fence-not-opened",
            what,
            "write restore-commanded.yaml: the steps of restore, and a step that opens the site",
        )
    if file.connect.sql is not None and (problem := driver_problem(file.connect.sql.driver)):
        warn(("connect", "sql", "driver"), "no-driver", problem)
    return findings_of(told, file=name, lines=lines)


def new_family_file(name: str) -> str:
    """A commented family file to start with. Raises ``DefinitionError`` for an invalid name."""
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,40}", name):
        hint = "use lower-case letters, digits and -, and start with a letter"
        raise DefinitionError(f"{name!r} cannot be the name of a family", hint=hint)
    template = files("orchestrator.documents").joinpath("family_template.yaml").read_text(encoding="utf-8")
    return template.replace("NAME", name)


def _offer(path: Path) -> None:
    def load() -> object:
        from adapters.declared.family import family_of
        from orchestrator.documents.loader import read_family

        file = read_family(path).result()
        return family_of(file, path.with_name(file.family))

    offer(str(path), load)
