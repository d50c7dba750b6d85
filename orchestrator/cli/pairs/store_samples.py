"""Keeps the readings: the newest of each kind in the journal, and all of them in the folder of ``--readings``. A failure
to keep a reading does not stop the command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from orchestrator.cli.render.terminal import say, say_error
from orchestrator.errors import OutputLost
from orchestrator.journal.last_readings import Answers
from orchestrator.journal.samples import By, SampleFolder
from orchestrator.model.inventory import Inventory
from orchestrator.operations.pairs.last_readings import remember
from orchestrator.operations.runtime import Tools


class SampleStore:
    """Keeps the readings of one command from the sites of ``inventory``. Without a folder only the newest are kept."""

    def __init__(self, tools: Tools, inventory: Inventory, folder: Path | None, by: By) -> None:
        scrub = tools.secrets.redactor.scrub_data
        self._tools, self._sites = tools, inventory.sites
        self._folder = None if folder is None else SampleFolder(folder, by, scrub)
        self._failed = ""

    def keep(
        self,
        site: str,
        answers: Answers,
        services: Sequence[str],
        at: float,
        *,
        simulated: bool,
        mate: str,
    ) -> None:
        """Keep one round of readings. A failure is reported once, and again if its cause changes."""
        remember(self._tools, self._sites[site], answers, services, at)
        if self._folder is None:
            return
        try:
            self._folder.keep(site, answers, services, at, simulated=simulated, mate=mate)
        except OutputLost as error:
            if str(error) != self._failed:
                self._failed = str(error)
                say_error(str(error), hint=error.hint)
            return
        if self._failed:
            self._failed = ""
            say("the readings can be kept again")
