"""What the tests of the engine run on: a pair, a journal in a file, and one line to lead or resume a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.journal.journal import Journal
from tests.core.leading import Lead
from tests.core.scripted import ScriptedPair


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def pair(clock: VirtualClock) -> ScriptedPair:
    return ScriptedPair(clock, depth=100, rate=100)


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    journal = Journal.at(tmp_path / "journal.sqlite")
    yield journal
    journal.close()


@pytest.fixture
def lead(pair: ScriptedPair, journal: Journal) -> Lead:
    return Lead(pair, journal)
