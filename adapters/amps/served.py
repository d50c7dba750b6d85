"""Reads the configuration that an instance serves (docs/sources/amps.md, 6.3), for values that its statistics lack.

It comes from another machine, so a file that it includes is never searched for on this one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from adapters.amps.config.configuration import parse_instance
from adapters.amps.config.model import Destination, Instance
from adapters.amps.config.settings import Assumptions
from adapters.amps.config.xmltree import Element, parse
from adapters.amps.options import Dumped, parse_size
from orchestrator.errors import DefinitionError
from orchestrator.files import read_document
from orchestrator.model.runbook import parse_duration

# The default of AMPS (configuration guide, "Admin", "Transaction Log").
INTERVAL_S = 10.0
_JOURNAL_SIZE = 1024**3
_SOURCE_FILE = "{device}: /amps/instance/config.xml"


@dataclass(frozen=True, slots=True)
class Served:
    """``instance`` as the validation models it; ``interval_s`` between samples; ``journal_bytes`` of one journal file."""

    instance: Instance
    interval_s: float
    journal_bytes: int

    def destination(self, *names: str | None) -> Destination | None:
        """The link out of the instance that has one of ``names`` as its name or its group."""
        wanted = {name for name in names if name}
        destinations = self.instance.destinations
        named = next((one for one in destinations if one.name in wanted), None)
        return named or next((one for one in destinations if not one.name and one.group in wanted), None)


def read_served(
    text: str,
    device: str,
    variables: Mapping[str, str] | None = None,
    assumptions: Assumptions | None = None,
) -> Served:
    """Read the configuration that ``device`` served. Raises ``DefinitionError``."""
    file = _SOURCE_FILE.format(device=device)
    root = parse(text, file=file)
    include = next(_includes(root), None)
    if include is not None:
        raise DefinitionError(
            "the configuration includes a file that exists only on the machine of the instance",
            hint="run `ampServer --dump-config` there, and name the output file in the site's options (configurations)",
            file=file,
            line=include.line,
        )
    instance = parse_instance(text, file, variables, assumptions)
    return Served(instance, _interval_s(root), _journal_bytes(root))


def read_dumped(dumped: Dumped, served: bytes, device: str) -> str:
    """The file that is used in place of what ``device`` serves. Raises ``DefinitionError`` when it cannot be read, or
    was made from another configuration than ``served``."""
    digest = hashlib.sha256(served).hexdigest()
    path = Path(dumped.file).expanduser()
    if digest != dumped.served_sha256:
        raise DefinitionError(
            f"{path} is stale: {device} now serves another configuration, with the SHA-256 {digest}",
            hint="run `ampServer --dump-config` there again, and set served_sha256 to that number",
        )
    try:
        return read_document(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DefinitionError(f"the configuration of {device} in {path} cannot be read: {error}") from error


def _includes(element: Element) -> Iterator[Element]:
    for child in element.children:
        if child.tag == "Include":
            yield child
        yield from _includes(child)


def _interval_s(root: Element) -> float:
    text = _text(root, ("Admin",), ("Interval",))
    try:
        return parse_duration(text) if text else INTERVAL_S
    except ValueError:
        return INTERVAL_S


def _journal_bytes(root: Element) -> int:
    text = _text(root, ("TransactionLog",), ("JournalSize", "MinJournalSize"))
    try:
        return parse_size(text) if text else _JOURNAL_SIZE
    except ValueError:
        return _JOURNAL_SIZE


def _text(root: Element, *path: tuple[str, ...]) -> str:
    found: Element | None = root
    for tags in path:
        found = found.first(*tags) if found is not None else None
    return "" if found is None else found.text
