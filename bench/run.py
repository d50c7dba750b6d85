"""Runs the benchmarks: every module in this folder, or the modules named on the command line.

A benchmark is a module ``bench/<name>.py``. The first line of its docstring is its title, and its ``main()`` prints a
table. ``main()`` may take ``rows``, with a default. Benchmarks measure this machine now. This file must never judge,
store or compare figures.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from inspect import signature
from pathlib import Path
from types import ModuleType


def main(arguments: Sequence[str]) -> int:
    """Run the benchmarks named in ``arguments``, in alphabetical order. Returns the exit code: 2 for an unknown name."""
    known = names(Path(__file__).parent)
    parser = argparse.ArgumentParser(prog="make bench", description="Print figures, measured on this machine now.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which ones (default: all): {', '.join(known)}")
    parser.add_argument(
        "--rows", type=int, metavar="N", help="the number of rows, for measurements that can use any number"
    )
    parser.add_argument("--list", action="store_true", help="only list them")
    given = parser.parse_args(arguments)
    strangers = sorted(set(given.names) - set(known))
    if strangers:
        print(f"no such benchmark: {', '.join(strangers)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    for name in [name for name in known if name in given.names or not given.names]:
        benchmark = importlib.import_module(f"bench.{name}")
        print(f"\n== {name}: {title(benchmark)}", flush=True)
        if not given.list:
            takes_rows = given.rows is not None and "rows" in signature(benchmark.main).parameters
            benchmark.main(**({"rows": given.rows} if takes_rows else {}))
    return 0


def names(directory: Path) -> list[str]:
    """The benchmarks in ``directory``. A module whose name starts with ``_`` is only a helper."""
    modules = sorted(path.stem for path in directory.glob("*.py"))
    return [name for name in modules if name != "run" and not name.startswith("_")]


def title(module: ModuleType) -> str:
    """The first line of the module's docstring."""
    return (module.__doc__ or "untitled").strip().splitlines()[0]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
