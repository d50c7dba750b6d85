"""Runs over the scripted pair, and their reports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from orchestrator.clock import VirtualClock
from orchestrator.journal.journal import Journal
from orchestrator.model import events as ev
from orchestrator.reports.report import LaneReport, RunReport, build
from tests.core.leading import RUN, Lead
from tests.core.scripted import ScriptedPair

RULING = ev.Ruling(choice="commit", reason="all other branches are committed", by="ann")


class Told:
    """A pair, whoever leads a run over it, and what the report says of that."""

    def __init__(self, folder: Path, **pair: Any) -> None:
        self.pair = ScriptedPair(VirtualClock(), **pair)
        self.journal = Journal.at(folder / "journal.sqlite")
        self.lead = Lead(self.pair, self.journal)

    def records(self) -> list[ev.Record]:
        return list(self.journal.records(RUN))

    def report(self) -> RunReport:
        return build(self.records())

    def lane(self) -> LaneReport:
        [lane] = self.report().lanes
        return lane


@pytest.fixture
def tell(tmp_path: Path) -> Iterator[Callable[..., Told]]:
    """A scripted pair with a journal; as ``ScriptedPair`` takes it."""
    made: list[Told] = []

    def make(**pair: Any) -> Told:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        made.append(Told(folder, **pair))
        return made[-1]

    yield make
    for told in made:
        told.journal.close()
