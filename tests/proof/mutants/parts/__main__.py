"""``python -m tests.proof.mutants.parts KIND``: tries the mutants of a part; prints those that get away, a line each."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.proof.mutants.parts import CONTROL, PARTS
from tests.proof.mutants.parts.catching import escaped


def main(argv: Sequence[str] | None = None) -> int:
    """0 when every mutant is caught, and 1 when one gets away or a test fails by itself."""
    parser = argparse.ArgumentParser(prog="python -m tests.proof.mutants.parts")
    parser.add_argument("kind", choices=(*PARTS, "control"))
    kind = parser.parse_args(argv).kind
    with tempfile.TemporaryDirectory() as folder:
        # Tests that look for examples keep those that failed, and these here fail for a mutant alone.
        os.environ |= {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "HYPOTHESIS_STORAGE_DIRECTORY": folder}
        wrong = escaped(PARTS.get(kind, (CONTROL,)), Path(folder))
    sys.stdout.writelines(f"{sentence}\n" for sentence in wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
