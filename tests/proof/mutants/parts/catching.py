"""How a mutant of a part is caught: one test of that part fails while the product is broken, and passes while it is not.

Both are run with pytest in this process, so the process should be one that does nothing else.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.proof.mutants.swapping import Mutant, broken_by

# A run in a run: it keeps no cache, and is not spread over processes.
_OPTIONS = ("-q", "-p", "no:cacheprovider")


@dataclass(frozen=True, slots=True)
class PartMutant(Mutant):
    """A broken part. ``caught_by``: the pytest node id of the one test that has to fail for it."""

    caught_by: str = ""


class _Watch:
    """What became of the tests, by node id: ``passed`` only where all of a test did."""

    def __init__(self) -> None:
        self.ended: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called by pytest after each phase of a test."""
        if report.when == "call" or report.outcome != "passed":
            self.ended[report.nodeid] = report.outcome


def escaped(mutants: Sequence[PartMutant], folder: Path) -> list[str]:
    """What is wrong, a sentence each: tests that fail though nothing is broken, and mutants that their test lets by.

    ``folder`` is for the temporary directories of the tests.
    """
    tests = sorted({mutant.caught_by for mutant in mutants})
    ended, text = _run(tests, folder / "whole")
    wrong = [f"{test} is {ended.get(test, 'not found')} while nothing is broken" for test in tests]
    wrong = [sentence for test, sentence in zip(tests, wrong, strict=True) if ended.get(test) != "passed"]
    if wrong:
        return [*wrong, text]
    for number, mutant in enumerate(mutants):
        with broken_by(mutant):
            ended, _ = _run([mutant.caught_by], folder / str(number))
        if ended != {mutant.caught_by: "failed"}:
            wrong.append(f"{mutant.name} gets away: {mutant.caught_by} is {ended.get(mutant.caught_by, 'not found')}")
    return wrong


def _run(tests: Sequence[str], folder: Path) -> tuple[dict[str, str], str]:
    """How each test ended, and what pytest printed."""
    watch, printed = _Watch(), io.StringIO()
    with redirect_stdout(printed):
        pytest.main([*_OPTIONS, f"--basetemp={folder}", *tests], plugins=[watch])
    return watch.ended, printed.getvalue()
