"""Finds and reads the configurations of one validation: files, and the AMPS configurations inside folders.

One error reports all files that cannot be read, each with its line. This module never judges the content of a
configuration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from adapters.amps.config.configuration import read_instance
from adapters.amps.config.model import Instance
from adapters.amps.config.settings import Assumptions
from orchestrator.errors import DefinitionError
from orchestrator.files import read_document

_ROOT = b"<AMPSConfig"


class UnreadableConfigurations(DefinitionError):
    """Several files could not be read; ``problems`` has one error each."""

    def __init__(self, problems: Sequence[DefinitionError]) -> None:
        super().__init__("; ".join(str(problem) for problem in problems))
        self.problems = tuple(problems)
        self.file, self.line = problems[0].file, problems[0].line


def read_all(
    paths: Iterable[Path | str], variables: Mapping[str, str], assumptions: Assumptions
) -> tuple[Instance, ...]:
    """Read one instance from each file. A folder means every ``.xml`` or ``.XML`` file below it that has an
    ``AMPSConfig``.

    Raises ``DefinitionError`` when there is nothing to read, ``UnreadableConfigurations`` when files are broken.
    """
    files = list(dict.fromkeys(file for path in paths for file in _files(Path(path))))
    if not files:
        raise DefinitionError(
            "no AMPS configuration was given", hint="give configuration files, or a folder that has them"
        )
    instances: list[Instance] = []
    problems: list[DefinitionError] = []
    for file in files:
        try:
            instances.append(read_instance(file, variables, assumptions))
        except DefinitionError as problem:
            problems.append(problem)
    if len(problems) == 1:
        raise problems[0]
    if problems:
        raise UnreadableConfigurations(problems)
    return tuple(instances)


def _files(path: Path) -> Iterator[Path]:
    if not path.is_dir():
        yield path
        return
    for file in sorted(path.rglob("*")):
        if file.suffix.lower() == ".xml" and file.is_file() and _is_configuration(file):
            yield file


def _is_configuration(file: Path) -> bool:
    """Is the file an instance? The same folders have included fragments and other XML, without this root element."""
    try:
        # In UTF-16, every second byte of the root element is zero, in both byte orders.
        return _ROOT in read_document(file).replace(b"\0", b"")
    except OSError:
        return True  # reading the file later raises the error with the reason
