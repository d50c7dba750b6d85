"""How another Python process is started: never with code from the working directory (CWE-427).

``python -m`` and ``python -c`` search for modules in the working directory first, which may belong to anybody. This is
the only place that names the interpreter; all who start one do so through it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

# Does for a process that takes no flags of ours, and for all that it starts, what -P does (Python 3.11).
SAFE_PATH = {"PYTHONSAFEPATH": "1"}


def isolated(script: str) -> list[str]:
    """The command that runs one file of the standard library's alone: no variable, no site, no installed package."""
    return [sys.executable, "-I", "-S", script]


def module(name: str, *arguments: str) -> list[str]:
    """The command that runs one of our own modules; see ``same_code`` for its environment."""
    return [sys.executable, "-P", "-m", name, *arguments]


def same_code() -> Mapping[str, str]:
    """The environment in which another process finds the very code that runs here, wherever that came from: installed,
    a checkout, or a program in one file, of which the interpreter itself knows nothing.

    An empty entry of the search path means the working directory, and is not handed on.
    """
    places = [str(Path(place).absolute()) for place in sys.path if place]
    return {**os.environ, **SAFE_PATH, "PYTHONPATH": os.pathsep.join(places)}


def executable() -> str:
    """The interpreter, for a program that starts it by itself; needs ``SAFE_PATH`` in the environment there."""
    return sys.executable


@contextmanager
def safe_children() -> Iterator[None]:
    """Within this block no process that is started with this one's environment imports from the working directory."""
    before = {name: os.environ.get(name) for name in SAFE_PATH}
    os.environ.update(SAFE_PATH)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
