"""Keeps the readings of a site, for the time when it is lost."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress

from orchestrator.errors import FailoverError
from orchestrator.journal.last_readings import Answers, store_read
from orchestrator.model.inventory import Site
from orchestrator.operations.runtime import Tools


def remember(tools: Tools, site: Site, answers: Answers, services: Sequence[str], at: float) -> None:
    """Keep the newest readings: once a site is lost, they are its last known state. An unusable journal is ignored
    here, because the commands that need it report it."""
    with suppress(FailoverError), closing(tools.journal()) as journal:
        store_read(journal, site, services, answers, at)
