"""A shell or a bench for each test, with nothing from the environment of whoever runs the tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import Bench
from tests.cli.shell import Shell


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell with a folder, a clock and a simulated pair of its own."""
    tidy(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)


@pytest.fixture
def make_bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Bench]]:
    """Makes a bench for processes, from what ``Bench`` takes; all of them are ended with the test."""
    tidy(monkeypatch)
    made: list[Bench] = []

    def make(**more: Any) -> Bench:
        made.append(Bench(tmp_path, **more))
        return made[-1]

    yield make
    for bench in made:
        bench.close()


def tidy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing from the environment of whoever runs the tests; ann types."""
    for name in ("STATE", "JOURNAL", "INVENTORY", "TRACEBACK"):
        monkeypatch.delenv(f"FAILOVER_{name}", raising=False)
    monkeypatch.setenv("FAILOVER_USER", "ann")
