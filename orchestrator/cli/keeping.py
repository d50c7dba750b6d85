"""Keeps what a look found when ``--readings`` asks for it; that this fails stops no look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from orchestrator.cli.terminal import say, say_error
from orchestrator.cli.wiring import Tools
from orchestrator.contract import Failure
from orchestrator.errors import OutputLost
from orchestrator.looks import By, LookFolder
from orchestrator.readings import Reading


class Keeping:
    """The looks of one command. Without a directory nothing is kept."""

    def __init__(self, tools: Tools, folder: Path | None, by: By) -> None:
        scrub = tools.secrets.redactor.scrub_data
        self._folder = None if folder is None else LookFolder(folder, by, scrub)
        self._failed = ""

    def keep(
        self,
        site: str,
        answers: Mapping[str, Mapping[str, Reading | Failure]],
        services: Sequence[str],
        at: float,
        *,
        simulated: bool,
        mate: str,
    ) -> None:
        """Keep one look; what keeps it from that is said once, and again when it has become another cause."""
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
