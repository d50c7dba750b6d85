"""What a family adds to the advice at the end of a run: the next step where it is not the same for every family."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from orchestrator.model.readings import Role


class Stood(Protocol):
    """What the sites of a service were last read to be, by site; one that was not read is not in it."""

    @property
    def service(self) -> str: ...
    @property
    def roles(self) -> Mapping[str, Role]: ...
    @property
    def lets_clients_in(self) -> Mapping[str, bool]: ...
    @property
    def suspended(self) -> Mapping[str, bool]: ...


class NextSteps(Protocol):
    """Sentences for an operator; an empty one: what holds for every family is advised. ``kind``: the runbook, without
    the name of its family; ``named``: the option that names the service, as it is typed."""

    def after_success(self, kind: str, source: str, target: str, named: str) -> str:
        """After a run that did what it was to do."""
        ...

    def after_refusal(self, kind: str, source: str, target: str, stood: Stood, named: str) -> str:
        """After a run that did not start with a service."""
        ...
