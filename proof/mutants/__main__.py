"""``python -m proof.mutants [FILE]``: hunts every mutant, and writes the seed that catches each, if any, as JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from proof.mutants import MUTANTS
from proof.mutants.hunting import hunt


def main() -> int:
    """The number of mutants that got away, as exit code."""
    found = {}
    for mutant in MUTANTS:
        caught = hunt(mutant)
        if caught is not None:
            found[mutant.name] = caught.story.seed
        what = "GOT AWAY" if caught is None else f"{caught.story.seed}: {caught.broken[0]}"
        sys.stderr.write(f"{mutant.name}: {what}\n")
    text = json.dumps(found, indent=2) + "\n"
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)
    return len(MUTANTS) - len(found)


if __name__ == "__main__":
    sys.exit(main())
