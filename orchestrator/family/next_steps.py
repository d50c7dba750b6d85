"""What a family adds to the advice at the end of a run: next steps that are not the same for every family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from orchestrator.model.readings import Role


class Stood(Protocol):
    """The last known state of the sites of a service, by site. A site that was not read is missing."""

    @property
    def service(self) -> str: ...
    @property
    def roles(self) -> Mapping[str, Role]: ...
    @property
    def lets_clients_in(self) -> Mapping[str, bool]: ...
    @property
    def suspended(self) -> Mapping[str, bool]: ...
    @property
    def remedy(self) -> str: ...


class NextSteps(Protocol):
    """Sentences for an operator. An empty sentence means the advice for every family. ``kind``: the runbook, without
    the name of its family. ``named``: the option that names the service, as it is typed."""

    def after_success(self, kind: str, source: str, target: str, named: str) -> str:
        """The advice after a run that succeeded."""
        ...

    def after_refusal(self, kind: str, source: str, target: str, stood: Stood, named: str) -> str:
        """The advice after a run that did not start with a service."""
        ...
