"""``python -m tests.proof.mutants FILE [--enough N] [--jobs N] [--only NAME …]``: hunts mutants; writes what caught each.

FILE is JSON: for each mutant the first seed that catches it, and how many do of how many that were played. Those that
are not hunted keep what stands there.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from tests.proof.mutants import MUTANTS
from tests.proof.mutants.hunting import Catch, measure

_BY_NAME = {mutant.name: mutant for mutant in MUTANTS}


def main(argv: Sequence[str] | None = None) -> int:
    """The number of mutants that got away, as exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof.mutants")
    parser.add_argument("file", type=Path)
    parser.add_argument("--only", nargs="+", metavar="NAME", dest="names", default=[])
    parser.add_argument("--enough", type=int, default=1, help="so many seeds that catch it are enough")
    parser.add_argument("--seeds", type=int, default=1_000)
    parser.add_argument("--jobs", type=int, default=1)
    wish = parser.parse_args(argv)
    names = wish.names or [mutant.name for mutant in MUTANTS]
    found: dict[str, Any] = json.loads(wish.file.read_text("utf-8")) if wish.file.exists() else {}
    got_away = 0
    with ProcessPoolExecutor(wish.jobs) as workers:
        hunting = workers.map(partial(_measured, enough=wish.enough, seeds=wish.seeds), names)
        for name, catch in zip(names, hunting, strict=True):
            got_away += catch.seed is None
            found[name] = [catch.seed, catch.caught, catch.played]
            what = "GOT AWAY" if catch.seed is None else f"{catch.seed}, {catch.caught}/{catch.played}: {catch.words}"
            sys.stderr.write(f"{name}: {what}\n")
            sys.stderr.flush()
    known = {name: found[name] for name in _BY_NAME if name in found}
    wish.file.write_text(
        json.dumps(known, indent=1).replace("[\n  ", "[").replace(",\n  ", ", ").replace("\n ]", "]") + "\n"
    )
    return got_away


def _measured(name: str, *, enough: int, seeds: int) -> Catch:
    return measure(_BY_NAME[name], enough=enough, seeds_max=seeds)


if __name__ == "__main__":
    sys.exit(main())
