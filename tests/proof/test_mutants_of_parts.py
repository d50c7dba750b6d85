"""Hooks, redaction and idempotency keys: the tests of these parts notice that a guard is gone."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from orchestrator.interpreter import module, same_code
from tests.proof.mutants import MUTANTS
from tests.proof.mutants.parts import CONTROL, PARTS

pytestmark = pytest.mark.realtime

ENOUGH = {"hooks": 8, "redaction": 6, "keys": 4}
WITHIN_S = 300.0
ROOT = Path(__file__).parents[2]


def test_there_are_enough() -> None:
    """Law: several guards of each part are removed one by one; each mutant has a name of its own, and names its test."""
    names = [mutant.name for mutant in (*MUTANTS, *(one for mutants in PARTS.values() for one in mutants))]
    assert len(set(names)) == len(names)
    assert {kind: len(mutants) >= ENOUGH[kind] for kind, mutants in PARTS.items()} == dict.fromkeys(ENOUGH, True)
    assert all("::test_" in mutant.caught_by for mutants in PARTS.values() for mutant in mutants)


def tried(kind: str) -> tuple[int, str]:
    """The exit code, and who got away. The product is broken in a process of its own, by one after the other."""
    own = {name: value for name, value in same_code().items() if not name.startswith("PYTEST_")}
    done = subprocess.run(
        module("tests.proof.mutants.parts", kind),
        env=own,
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=WITHIN_S,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("kind", PARTS)
def test_a_broken_part_is_caught(kind: str) -> None:
    """Law: for each mutant of a part the test that it names fails, and passes while nothing is broken."""
    code, said = tried(kind)
    assert (code, said) == (0, ""), said


def test_what_is_not_broken_gets_away() -> None:
    """Negative control: a mutant that changes nothing is named as one that its test does not catch."""
    code, said = tried("control")
    assert (code, said) == (1, f"nothing gets away: {CONTROL.caught_by} is passed\n")
