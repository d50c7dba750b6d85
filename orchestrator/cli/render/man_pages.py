"""Makes manual pages from the text of the help: one for the program, and one for each command."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from orchestrator.cli.help import command_groups, option_groups
from orchestrator.errors import DefinitionError

_ROOT = "failover"
_VERBATIM = "\b"


def write_manual(program: Any, context: Any, directory: Path, version: str) -> int:
    """Write ``failover.1``, ``failover-status.1``, … to ``directory``. Returns the number of pages."""
    pages = dict(_pages(program, context, (_ROOT,), version))
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (directory / f"{name}.1").write_text(text, encoding="utf-8")
    except OSError as error:
        raise DefinitionError(f"{directory} cannot be written: {error.strerror}", hint="name another one") from error
    return len(pages)


def _pages(command: Any, context: Any, words: tuple[str, ...], version: str) -> Iterator[tuple[str, str]]:
    yield "-".join(words), "\n".join(_page(command, context, words, version)) + "\n"
    for name, inner in getattr(command, "commands", {}).items():
        if not inner.hidden:
            below = type(context)(inner, info_name=name, parent=context)
            yield from _pages(inner, below, (*words, name), version)


def _page(command: Any, context: Any, words: tuple[str, ...], version: str) -> Iterator[str]:
    name = "-".join(words)
    yield f'.TH "{_safe(name.upper())}" 1 "" "failover {version}" "failover"'
    yield ".SH NAME"
    yield f"{_safe(name)} \\- {_safe(command.get_short_help_str(200).rstrip('.'))}"
    yield ".SH SYNOPSIS"
    yield f"\\fB{_safe(' '.join(words))}\\fR {_safe(' '.join(command.collect_usage_pieces(context)))}"
    yield ".SH DESCRIPTION"
    yield from _paragraphs(command.help or "")
    for title, rows in option_groups(command, context).items():
        yield f'.SH "{_safe(title.upper())}"'
        for option, text in rows:
            yield from (".TP", f"\\fB{_safe(option)}\\fR", _safe(text) or "\\&")
    if hasattr(command, "commands"):
        for title, listed in command_groups(command, context).items():
            yield f'.SH "{_safe(title.upper())}"'
            for inner, one in listed:
                page = _safe("-".join((*words, inner)))
                yield from (".TP", f"\\fB{page}\\fR(1)", _safe(one.get_short_help_str(200)))
    if command.epilog:
        yield ".SH NOTES"
        yield from _paragraphs(command.epilog)
    if len(words) > 1:
        yield from (".SH SEE ALSO", f"\\fB{_safe('-'.join(words[:-1]))}\\fR(1)")


def _paragraphs(text: str) -> Iterator[str]:
    for number, part in enumerate(re.split(r"\n\s*\n", text.strip())):
        if number:
            yield ".PP"
        lines = [line.strip("\n") for line in part.split("\n")]
        if lines[0].strip() != _VERBATIM:
            yield _safe(" ".join(line.strip() for line in lines))
            continue
        yield from (".nf", *(_safe(line) for line in lines[1:]), ".fi")


def _safe(text: str) -> str:
    """``text`` without roff commands. A hyphen stays a hyphen that can be copied."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    escaped = "".join(one if one.isascii() else f"\\[u{ord(one):04X}]" for one in escaped)
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
