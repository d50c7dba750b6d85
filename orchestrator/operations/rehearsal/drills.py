"""What goes wrong in a rehearsal: faults as text, written for any pair, made to fit the one that is rehearsed.

In a drill ``SOURCE`` and ``TARGET`` stand for the two ends of the run; the scene of the pair says which these are.
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
    """The file of a drill, by its path or by the name of one that comes with the product in this ``folder``.

    Raises ``DefinitionError`` with the names there are.
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
    """The drills of a checkout; an installed product has none of its own."""
    return Path(str(resources.files("orchestrator"))).parent / "examples" / "drills"


def faults_for(texts: Iterable[str], fitted: Fitted) -> list[str]:
    """The faults of ``texts`` (each one a fault or the name of a file of them), as ``fitted`` has each of them.

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
