"""A shell whose clock is stopped by somebody, and pairs to type commands about."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.fixtures import make_bench as make_bench
from tests.cli.fixtures import tidy
from tests.cli.shell import Shell
from tests.readiness.stopping import StoppedClock


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell with a folder and a simulated pair of its own; Ctrl-C is pressed when its clock says so."""
    tidy(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys, clock=StoppedClock())
