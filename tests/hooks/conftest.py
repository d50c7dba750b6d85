"""A journal and a clock for each test of hooks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.journal.journal import Journal
from orchestrator.journal.outbox import Outbox


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where the journal is."""
    return tmp_path / "journal.sqlite"


@pytest.fixture
def journal(path: Path) -> Iterator[Journal]:
    opened = Journal.at(path)
    yield opened
    opened.close()


@pytest.fixture
def outbox(path: Path, journal: Journal) -> Iterator[Outbox]:
    """An outbox with connections of its own, as a thread has it."""
    own = Outbox(Journal.at(path))
    own.hurry()
    yield own
    own.close()
