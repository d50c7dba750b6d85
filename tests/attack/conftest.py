"""A shell of one's own, with nothing from the environment of whoever runs the tests."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.fixtures import make_bench as make_bench
from tests.cli.shell import Shell


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    """The command line with a folder, a clock and a simulated pair of its own."""
    for name in ("STATE", "JOURNAL", "INVENTORY", "TRACEBACK"):
        monkeypatch.delenv(f"FAILOVER_{name}", raising=False)
    monkeypatch.setenv("FAILOVER_USER", "ann")
    monkeypatch.chdir(tmp_path)
    return Shell(tmp_path, capsys)


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """All that libraries and we log, at the level at which they say most."""
    caplog.set_level(logging.DEBUG)
    for name in ("paramiko", "httpx", "httpcore", "asyncio"):
        caplog.set_level(logging.DEBUG, logger=name)
    return lambda: [record.getMessage() for record in caplog.records]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder, whose files are written over for each example."""
    return tmp_path_factory.mktemp("attack")
