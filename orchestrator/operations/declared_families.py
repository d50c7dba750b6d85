"""The families that files declare: those that come with the program, those beside an inventory, and those named.

A file that is wrong is in nobody else's way: `failover family list` says what is wrong with it, and so does the command
that needs it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path

from orchestrator.errors import DefinitionError
from orchestrator.model.families import SHIPPED
from orchestrator.model.installed import offer

# Files or folders, separated as in PATH.
VARIABLE = "FAILOVER_FAMILIES"
# The folder beside an inventory.
FOLDER = "families"
# A distribution names a package here that has family files.
GROUP = "failover.family_files"


def offer_families(places: Iterable[Path] = ()) -> None:
    """Make the families known that are declared in ``places``, files or folders, in those of ``FAILOVER_FAMILIES``, and
    in those of the installed distributions. Nothing is read before a family is asked for."""
    named = [Path(one) for one in os.environ.get(VARIABLE, "").split(os.pathsep) if one]
    packages = [Path(str(files(entry.value))) for entry in entry_points(group=GROUP)]
    for place in (SHIPPED, *packages, *named, *places):
        is_file = place.suffix == ".yaml"
        for path in [place] if is_file else sorted(place.glob("*.yaml")):
            _offer(path.absolute())


def name_families(places: Iterable[Path]) -> None:
    """Have this process, and those that it starts, know these files too. Raises ``DefinitionError`` for none."""
    known = [os.environ[VARIABLE]] if os.environ.get(VARIABLE) else []
    for place in places:
        if not place.exists():
            raise DefinitionError(f"there is no family file {place}")
        known.append(str(place.absolute()))
    os.environ[VARIABLE] = os.pathsep.join(known)


def _offer(path: Path) -> None:
    def load() -> object:
        from adapters.declared.family import family_of
        from orchestrator.documents.loader import read_family

        file = read_family(path).result()
        return family_of(file, path.with_name(file.family))

    offer(str(path), load)
