"""A shell whose clock is stopped by somebody, and pairs to type commands about."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.processes import Bench
from tests.cli.shell import Shell
from tests.readiness.stopping import StoppedClock


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell with a folder and a simulated pair of its own; Ctrl-C is pressed when its clock says so."""
    for name in ("STATE", "JOURNAL", "INVENTORY", "TRACEBACK"):
        monkeypatch.delenv(f"FAILOVER_{name}", raising=False)
    monkeypatch.setenv("FAILOVER_USER", "ann")
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys, clock=StoppedClock())


@pytest.fixture
def make_bench(tmp_path: Path) -> Iterator[Callable[..., Bench]]:
    """``make_bench(**more)``: a folder with two simulated sites; its processes end with the test."""
    made: list[Bench] = []

    def make(**more: Any) -> Bench:
        made.append(Bench(tmp_path, **more))
        return made[-1]

    yield make
    for one in made:
        one.close()
