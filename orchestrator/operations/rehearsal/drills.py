"""What goes wrong in a rehearsal: faults as text, written for any pair, made to fit the one that is rehearsed.

In a drill ``SOURCE`` and ``TARGET`` stand for the two sites of the run, and ``SOURCE/*`` for each node of one: a line
with it becomes a line for each. For AMPS they stand for the two instances of a service.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path

from orchestrator.errors import DefinitionError
from orchestrator.suggestions import suggest
from simulator.amps.faults import parse_amps_fault
from simulator.solace.faults import parse_fault
from simulator.world.fault_lines import lines_of

_WORD = re.compile(r"(?<![\w./-])(SOURCE|TARGET)(?![\w.-])")


def drill_file(name: str, family: str = "") -> Path:
    """The file of a drill, by its path or by the name of one that comes with the product for this ``family``.

    Raises ``DefinitionError`` with the names there are.
    """
    given = Path(name)
    if given.is_file():
        return given
    folder = _folder() / family
    path = folder / f"{name}.txt"
    if "/" in name or not path.is_file():
        known = sorted(one.stem for one in folder.glob("*.txt"))
        hint = suggest(name, known, label="drills") if known else "give the path of a file of faults"
        raise DefinitionError(f"there is no drill {name!r}", hint=hint)
    return path


def _folder() -> Path:
    """The drills of a checkout; an installed product has none of its own."""
    return Path(str(resources.files("orchestrator"))).parent / "examples" / "drills"


def faults_for(texts: Iterable[str], sites: Mapping[str, Sequence[str]]) -> list[str]:
    """The faults of ``texts`` (each one a fault or the name of a file of them) for these sites.

    ``sites``: the source and then the target, each with its nodes. Raises ``DefinitionError``, with file and line.
    """
    return _each_fitted(texts, lambda text: _fitted(text, sites))


def amps_faults_for(texts: Iterable[str], pairs: Sequence[tuple[str, str]]) -> list[str]:
    """The same for AMPS. ``pairs``: the instances of each service, the source's and then the target's; a line with
    SOURCE or TARGET becomes a line for each service. Raises ``DefinitionError``, with file and line."""
    return _each_fitted(texts, lambda text: _fitted_to_instances(text, pairs))


def _each_fitted(texts: Iterable[str], fitted: Callable[[str], Iterable[str]]) -> list[str]:
    found: list[str] = []
    for text in texts:
        path = Path(text)
        if not path.is_file():
            found.extend(_said(text, fitted))
            continue
        for number, line in enumerate(lines_of(path), start=1):
            try:
                found.extend(_said(line, fitted))
            except DefinitionError as error:
                raise DefinitionError(str(error), hint=error.hint, file=path, line=number) from error
    return found


def _said(line: str, fitted: Callable[[str], Iterable[str]]) -> Iterable[str]:
    text = line.split("#", 1)[0].strip()
    return fitted(text) if text else ()


def _fitted(text: str, sites: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """A fault as this pair has it, once for each node it is about."""
    names = dict(zip(("SOURCE", "TARGET"), sites, strict=True))
    text = _WORD.sub(lambda word: names[word[1]], text)
    everywhere = next((site for site in sites if f"{site}/*" in text), None)
    nodes = [""] if everywhere is None else sites[everywhere]
    for node in nodes:
        fault = text.replace(f"{everywhere}/*", f"{everywhere}/{node}") if everywhere is not None else text
        parse_fault(fault)
        yield fault


def _fitted_to_instances(text: str, pairs: Sequence[tuple[str, str]]) -> list[str]:
    fitting = dict.fromkeys(
        _WORD.sub(lambda word, pair=pair: pair[word[1] == "TARGET"], text)  # type: ignore[misc]
        for pair in pairs
    )
    for fault in fitting:
        parse_amps_fault(fault)
    return list(fitting)
