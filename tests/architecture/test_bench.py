"""The dispatcher of the benchmarks finds all of them, and nothing else."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from bench import run
from tests.architecture.source import ROOT

NAMES = run.names(ROOT / "bench")


@pytest.mark.parametrize("name", NAMES)
def test_each_benchmark_can_be_run(name: str) -> None:
    """A benchmark has a title and a ``main``, and importing it measures nothing and prints nothing."""
    benchmark = importlib.import_module(f"bench.{name}")
    assert callable(benchmark.main)
    assert run.title(benchmark) != "untitled"


def test_they_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """``--list`` shows each benchmark with its title and runs none."""
    assert run.main(["--list"]) == 0
    shown = capsys.readouterr().out.split("\n== ")[1:]
    assert [line.split(":")[0] for line in shown] == NAMES


def test_a_slip_of_the_keyboard_runs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown name is exit code 2, and the answer says what there is."""
    assert run.main(["starttup"]) == 2
    caught = capsys.readouterr()
    assert caught.out == ""
    assert "no such benchmark: starttup" in caught.err
    assert ", ".join(NAMES) in caught.err


def test_helpers_are_no_benchmarks(tmp_path: Path) -> None:
    """A module whose name begins with ``_`` helps others; the dispatcher itself is not one either."""
    for name in ("_pairs.py", "run.py", "b.py", "a.py", "notes.txt", "__init__.py"):
        (tmp_path / name).write_text("")
    assert run.names(tmp_path) == ["a", "b"]
