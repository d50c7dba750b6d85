"""Finds a Java that Spark can run on, and says in one sentence what to do when there is none.

Order: ``JAVA_HOME``, then ``java`` on the PATH. Spark 4 needs Java 17 or newer, with all modules of a JRE: it names
``jdk.incubator.vector``, which cut-down run-times lack.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import DefinitionError

OLDEST = 17
HINT = (
    "install Java 17 or newer, on Debian: apt-get install openjdk-17-jre-headless;"
    " or set JAVA_HOME to the directory of one"
)
_PATIENCE_S = 60.0
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_NEEDED_MODULE = "jdk.incubator.vector"


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that will do. ``home`` is its directory, for ``JAVA_HOME``."""

    home: Path
    version: int


def find_java(environment: Mapping[str, str] = os.environ) -> Java:
    """The Java to run Spark on. Raises ``DefinitionError``: there is none, it is too old, or lacks a module."""
    named = environment.get("JAVA_HOME")
    if named:
        program = Path(named) / "bin" / "java"
        if not program.is_file():
            raise DefinitionError(f"JAVA_HOME is {named}, and there is no Java", hint=HINT)
    else:
        found = shutil.which("java", path=environment.get("PATH", ""))
        if found is None:
            raise DefinitionError("Spark needs Java, and there is none", hint=HINT)
        program = Path(found)
    return _examined(program)


def _examined(program: Path) -> Java:
    text = _said(program, "-version")
    version = _VERSION.search(text)
    if version is None:
        raise DefinitionError(f"{program} does not say which Java it is", hint=HINT)
    if int(version[1]) < OLDEST:
        raise DefinitionError(f"{program} is Java {version[1]}, and Spark needs {OLDEST} or newer", hint=HINT)
    if _NEEDED_MODULE not in _said(program, "--list-modules"):
        raise DefinitionError(f"{program} is a cut-down Java without the module {_NEEDED_MODULE}", hint=HINT)
    return Java(program.resolve().parent.parent, int(version[1]))


def _said(program: Path, option: str) -> str:
    try:
        done = subprocess.run([program, option], capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DefinitionError(f"{program} does not run: {error}", hint=HINT) from error
    return done.stderr + done.stdout
