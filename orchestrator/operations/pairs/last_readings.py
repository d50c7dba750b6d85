"""Keeps what was read of a site, for when it is lost."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress

from orchestrator.errors import FailoverError
from orchestrator.journal.last_readings import Answers, store_read
from orchestrator.model.inventory import Site
from orchestrator.operations.runtime import Tools


def remember(tools: Tools, site: Site, answers: Answers, services: Sequence[str], at: float) -> None:
    """The newest is what is last known of a site once it is lost. A journal that cannot be used is the business of
    those commands that need it."""
    with suppress(FailoverError), closing(tools.journal()) as journal:
        store_read(journal, site, services, answers, at)
