"""The families that files declare: those that come with the program, those beside an inventory, and those named.

A file that is wrong is in nobody else's way: `failover family list` says what is wrong with it, and so does the command
that needs it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import cast

from orchestrator.errors import DefinitionError
from orchestrator.family.composite import compose
from orchestrator.family.contract import Adapter
from orchestrator.family.reachability import with_reachability
from orchestrator.family.registry import Registry
from orchestrator.model.families import SHIPPED, family_called
from orchestrator.model.family_file import FamilyFile
from orchestrator.model.findings import Finding, Level
from orchestrator.model.installed import installed, offer, offer_recorded, readings_taken
from orchestrator.model.plan import Plan

# Files or folders, separated as in PATH.
VARIABLE = "FAILOVER_FAMILIES"
INVENTORY = "FAILOVER_INVENTORY"
# The folder beside an inventory.
FOLDER = "families"
# A distribution names a package here that has family files.
GROUP = "failover.family_files"


def offer_families(places: Iterable[Path] = ()) -> None:
    """Make the families known that are declared in ``places``, files or folders, in those of ``FAILOVER_FAMILIES``, in
    the folder beside ``FAILOVER_INVENTORY``, and in those of the installed distributions. Nothing is read before a family
    is asked for."""
    inventory = os.environ.get(INVENTORY)
    beside = [Path(inventory).parent / FOLDER] if inventory else []
    named = [Path(one) for one in os.environ.get(VARIABLE, "").split(os.pathsep) if one]
    packages = [Path(str(files(entry.value))) for entry in entry_points(group=GROUP)]
    for place in (SHIPPED, *packages, *named, *beside, *places):
        is_file = place.suffix == ".yaml"
        for path in [place] if is_file else sorted(place.glob("*.yaml")):
            _offer(path.absolute())


def files_of(kinds: Iterable[type[Adapter]]) -> tuple[FamilyFile, ...]:
    """The files that declare ``kinds`` of adapters, each once: what a plan records of them."""
    found = (getattr(kind, "file", None) for kind in kinds)
    return tuple({file.family: file for file in found if isinstance(file, FamilyFile)}.values())


def know_recorded(plan: Plan) -> None:
    """Have the families of ``plan`` as its run recorded them: their files may be gone, or say something else by now."""
    if plan.families:
        from adapters.declared.family import family_of

        for file in plan.families:
            known = family_called(file.family)
            if getattr(known, "file", None) != file:
                offer_recorded(file.family, family_of(file, getattr(known, "runbooks", None)))


def name_families(places: Iterable[Path]) -> None:
    """Have this process, and those that it starts, know these files too. Raises ``DefinitionError`` for none."""
    known = [os.environ[VARIABLE]] if os.environ.get(VARIABLE) else []
    for place in places:
        if not place.exists():
            raise DefinitionError(f"there is no family file {place}")
        known.append(str(place.absolute()))
    os.environ[VARIABLE] = os.pathsep.join(known)


def findings_of_file(path: Path) -> list[Finding]:
    """What is wrong with a family file; if nothing is, with the runbooks in the folder beside it."""
    from adapters.declared.family import family_of
    from orchestrator.documents.lint.runbook import lint
    from orchestrator.documents.loader import read_family, read_runbook

    read = read_family(path)
    if read.value is None:
        return list(read.findings)
    family = family_of(read.value, path.with_name(read.value.family))
    others = {name: one for name, one in installed().families.items() if name != family.name}
    taken = readings_taken(read.value.readings, others)
    if taken:
        line = read.lines.at(("readings",))
        return [Finding(level=Level.ERROR, code="reading-taken", message=taken, file=read.file, line=line)]
    local = Registry().get("local")  # a site may have commands of the operator's own
    kind = compose([cast("type[Adapter]", family.adapters[family.name]), local])
    found = list(read.findings)
    for one in sorted(family.runbooks.glob("*.yaml")) if family.runbooks is not None else ():
        runbook = read_runbook(one)
        found += runbook.findings
        if runbook.value is not None:
            readings = with_reachability(kind.readings)
            found += lint(runbook.value, readings, kind.actions, file=runbook.file, lines=runbook.lines)
    return found


def new_family_file(name: str) -> str:
    """A commented family file to begin with. Raises ``DefinitionError`` for what can be no name."""
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,40}", name):
        hint = "lower-case letters, digits and -, beginning with a letter"
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
