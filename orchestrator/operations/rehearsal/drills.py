"""The faults of a rehearsal: texts that are written for any pair, and adapted to the rehearsed pair.

In a drill ``SOURCE`` and ``TARGET`` are the two ends of the run. The scene of the pair replaces them by its names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import resources
from pathlib import Path

from orchestrator.errors import DefinitionError
from orchestrator.suggestions import suggest
from simulator.world.fault_lines import lines_of

Fitted = Callable[[str], Iterable[str]]


def drill_file(name: str, folder: str = "") -> Path:
    """The file of a drill, by its path or by the name of a drill of the product in this ``folder``.

    Raises ``DefinitionError`` with the known names.
    """
    given = Path(name)
    if given.is_file():
        return given
    own = _folder() / folder
    path = own / f"{name}.txt"
    if "/" in name or not path.is_file():
        known = sorted(one.stem for one in own.glob("*.txt"))
        hint = suggest(name, known, label="drills") if known else "give the path of a file of faults"
        raise DefinitionError(f"there is no drill {name!r}", hint=hint)
    return path


def _folder() -> Path:
    """The drills of a checkout. An installed product contains no drills."""
    return Path(str(resources.files("orchestrator"))).parent / "examples" / "drills"


def faults_for(texts: Iterable[str], fitted: Fitted) -> list[str]:
    """The faults of ``texts``, adapted by ``fitted``. Each text is a fault or the name of a file of faults.

    Raises ``DefinitionError``, with file and line.
    """
    found: list[str] = []
    for text in texts:
        path = Path(text)
        if not path.is_file():
            found.extend(_fault_of(text, fitted))
            continue
        for number, line in enumerate(lines_of(path), start=1):
            try:
                found.extend(_fault_of(line, fitted))
            except DefinitionError as error:
                raise DefinitionError(str(error), hint=error.hint, file=path, line=number) from error
    return found


def _fault_of(line: str, fitted: Fitted) -> Iterable[str]:
    text = line.split("#", 1)[0].strip()
    return fitted(text) if text else ()
