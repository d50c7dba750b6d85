"""A shell for each test: `failover snapshot` on simulated sites, on the injected clock."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.shell import Shell


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell with a folder, a clock and a simulated pair of its own."""
    for name in ("STATE", "JOURNAL", "INVENTORY", "TRACEBACK"):
        monkeypatch.delenv(f"FAILOVER_{name}", raising=False)
    monkeypatch.setenv("FAILOVER_USER", "ann")
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)
