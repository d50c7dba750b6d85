"""``failover runs report --html FILE`` and ``-o FILE``: the report of a run as a document. The file name determines the
format."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from orchestrator.cli.render.terminal import say
from orchestrator.errors import DefinitionError, OutputLost
from orchestrator.family.secrets import Redactor
from orchestrator.operations.runs.run_document import StoryWithRecords, read_story
from orchestrator.operations.runtime import Tools

_FORMATS = {".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown", ".json": "json"}
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC


def formats_of(html: Path | None, outputs: Sequence[Path]) -> list[tuple[Path, str]]:
    """Each file with its format. Raises ``DefinitionError`` for a name without a known format."""
    found = [] if html is None else [(html, "html")]
    for path in outputs:
        known = _FORMATS.get(path.suffix.lower())
        if known is None:
            raise DefinitionError(
                f"cannot tell the file format from the name {path.name!r}",
                hint="use a name that ends in .html, .md or .json; `--html FILE` accepts any name",
            )
        found.append((path, known))
    return found


def write_documents(tools: Tools, name: str | None, files: Sequence[tuple[Path, str]]) -> None:
    """Write the report of one run, read once, into each of the files."""
    found = read_story(tools, name)
    for path, kind in files:
        _write(path, _document(found, kind, tools.secrets.redactor))
        say(f"run {found.story.report.run}: {kind} report in {path}")


def _document(found: StoryWithRecords, kind: str, redactor: Redactor) -> bytes:
    if kind == "html":
        from orchestrator.reports.page.html import page_of

        return page_of(found.story, found.lines, redactor.scrub)
    if kind == "markdown":
        from orchestrator.reports.page.markdown import markdown_of

        return markdown_of(found.story, redactor.scrub)
    import json

    plain = redactor.scrub_data(found.story.model_dump(mode="json"))
    return (json.dumps(plain, indent=1) + "\n").encode()


def _write(path: Path, data: bytes) -> None:
    """Write a file that only its owner may read, like the journal, because it has plans, names and reasons."""
    try:
        with os.fdopen(os.open(path, _NEW, 0o600), "wb") as file:
            file.write(data)
    except OSError as error:
        raise OutputLost(f"{path} cannot be written: {error.strerror}", hint="name another file") from error
