"""Keeps what was read: the newest of each reading in the journal, and all of them where ``--readings`` asks for it. That
this fails stops no reading."""

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
    """What one command reads of the sites of ``inventory``. Without a directory only the newest of it is kept."""

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
        """Keep one round; what keeps it from that is reported once, and again when it has become another cause."""
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
            say("readings are kept again")
