"""Checkers of references: a fact names a document that a reader can open, and a section that is in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from tests.architecture.source import Source

# A class around one letter keeps each pattern from finding itself here.
PRIVATE: Mapping[str, re.Pattern[str]] = {
    "a file of facts": re.compile(r"\bfact[s]/\w|\b[Ff]act[s],? sections? \d|\b[Ff]act[s] on AMPS\b"),
    "a numbered seed": re.compile(r"\b[Ss]eed[s]? 0\d\d\b"),
    "a line of a copy": re.compile(r"\bDO[C]:\d"),
    "a design document": re.compile(r"\bDESIG[N]\b"),
}
_FOLDER = "docs/sources/"
_SECTION = r"(?:(?:un)?controlled \d[\d.]*\d|(?:un)?controlled \d|fail-back|\d[\d.]*\d|\d)"
_CITED = re.compile(rf"docs/sources/([\w-]+\.md)((?:(?:,? and|,| to) (?:only )?{_SECTION}(?![\w%]))*)")
_HEADING = re.compile(rf"^#+ ({_SECTION})(?![\w.])", flags=re.MULTILINE)
# A sentence may run over lines, behind the signs of a comment or of a document.
_NEXT_LINE = re.compile(r"\n\s*(?:#+ |-- )?")


def private(sources: Iterable[Source]) -> list[str]:
    """Lines that name a document that the repository does not have."""
    return [
        f"{source.path}:{number}: {what}"
        for source in sources
        for number, line in enumerate(source.text.splitlines(), start=1)
        for what, pattern in PRIVATE.items()
        if pattern.search(line)
    ]


def unfounded(sources: Iterable[Source], pages: Iterable[Source]) -> list[str]:
    """References to a page below docs/sources that is not there, or to a section that the page does not have."""
    known = {page.path.removeprefix(_FOLDER): set(_HEADING.findall(page.text)) for page in pages}
    found = []
    for source in sources:
        for page, said in _CITED.findall(_NEXT_LINE.sub(" ", source.text)):
            if page not in known:
                found.append(f"{source.path}: names {_FOLDER}{page}, which is not there")
                continue
            found += [
                f"{source.path}: {_FOLDER}{page} has no section {section}"
                for section in sections(said)
                if section not in known[page]
            ]
    return found


def sections(said: str) -> list[str]:
    """``controlled 2``, ``controlled 4`` and ``fail-back`` of ``, controlled 2, 4 and fail-back``."""
    found, kind = [], ""
    for section in re.findall(_SECTION, said):
        word, _, number = section.rpartition(" ")
        kind = word or kind
        found.append(section if section == "fail-back" else f"{kind} {number}".strip())
    return found
