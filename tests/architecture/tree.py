"""Checkers of the project as a tree of files: it belongs to no machine, and its documents name what is there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping

from tests.architecture.source import Source

# What must stand in no file. A class around one letter keeps each pattern from finding itself here.
FOREIGN: Mapping[str, re.Pattern[str]] = {
    "a path of one machine": re.compile(r"(?<![\w.$}~])/(?:hom[e]/\w|roo[t]/|User[s]/\w|wor[k]/|tm[p]/bash_)"),
    "an interpreter of one machine": re.compile(r"\.pyen[v]/|/op[t]/\w*py|site-package[s]/\w"),
    "a registry's host": re.compile(r"py[p]i\.(?:org|python)|pythonhoste[d]\.org|conda\.anacond[a]\.org"),
    "an option of a registry": re.compile(r"--(?:extra-)?index-ur[l]\b|--find-link[s]\b|--trusted-hos[t]\b"),
}
# What may be named all the same, with the reason: `make pins` has to name an option to leave it out.
EXCEPTED: Mapping[str, str] = {
    "--no-emit-index-url": "keeps the registry out of the pins",
    "--no-index --find-links wheels": "the offline bundle installs from its own folder",
}


def foreign(sources: Iterable[Source]) -> list[str]:
    """Lines that name a machine's path, or where packages come from."""
    found = []
    for source in sources:
        for number, line in enumerate(source.text.splitlines(), start=1):
            for allowed in EXCEPTED:
                line = line.replace(allowed, "")
            found += [f"{source.path}:{number}: {what}" for what, pattern in FOREIGN.items() if pattern.search(line)]
    return found


def broken_links(documents: Iterable[Source], exists: Callable[[str], bool]) -> list[str]:
    """Links of a Markdown document to files that are not there. ``exists`` takes a path relative to the project."""
    found = []
    for document in documents:
        folder = document.path.rpartition("/")[0]
        for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", document.text):
            if "://" not in target and not exists(f"{folder}/{target}".lstrip("/")):
                found.append(f"{document.path}: links to {target}, which is not there")
    return found


def unknown_targets(documents: Iterable[Source], makefile: str) -> list[str]:
    """``make x`` in a document (in a code span or block) though the Makefile has no such target."""
    targets = set(re.findall(r"^([a-z-]+):(?!=)", makefile, flags=re.MULTILINE))
    return [
        f"{document.path}: `make {name}`, and there is no such target"
        for document in documents
        for name in re.findall(r"(?:^|`)make(?: [A-Z]+=\S+)* ([a-z-]+)", document.text, flags=re.MULTILINE)
        if name not in targets
    ]


def missing_files(document: Source, exists: Callable[[str], bool]) -> list[str]:
    """Files of the project that a document names in a code span, and that are not there."""
    named = re.findall(
        r"`((?:orchestrator|adapters|simulator|validator|proof|tests|runbooks|docs|examples|bench)/[\w./-]+)`",
        document.text,
    )
    return [f"{document.path}: names {name}, which is not there" for name in named if not exists(name)]
