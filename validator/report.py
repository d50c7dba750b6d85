"""The result of a validation as data. Table, JSON, SARIF and drawing are made from this data.

The JSON of a report is published. ``report.schema.json`` in this folder is generated from these models, and a test
checks that it is current. This module formats only single sentences for people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, computed_field

from adapters.amps.config.model import Place

EXIT_CLEAN = 0
EXIT_FINDINGS = 4


class Level(StrEnum):
    """How much a finding matters.

    ``error``: AMPS would refuse the link, or documents that this must not be. ``risk``: AMPS makes the link, and the
    mate is no fail-over target for the topic. ``note``: worth knowing. ``undecided``: the configurations do not report.
    """

    ERROR = "error"
    RISK = "risk"
    UNDECIDED = "undecided"
    NOTE = "note"


LEVELS = (Level.ERROR, Level.RISK, Level.UNDECIDED, Level.NOTE)


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Spot(_Strict):
    """A file and a line, counted from 1."""

    file: str
    line: int

    @classmethod
    def of(cls, place: Place | None) -> Spot | None:
        return None if place is None else cls(file=place.file, line=place.line)

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Fix(_Strict):
    """The change that fixes it: ``xml`` goes to ``where`` in the configuration of ``instance``, at ``at``."""

    instance: str
    where: str
    xml: str
    at: Spot


class ValidationFinding(_Strict):
    """One thing found. ``check`` is one of AMPS's nine checks, or the id of a rule of ours.

    ``source`` and ``destination`` are names of instances (for a finding about one instance, ``source`` alone);
    ``topic`` is the plain name of the topic, or an expression where nothing else is known.
    """

    check: str
    level: Level
    source: str | None = None
    destination: str | None = None
    topic: str | None = None
    message_type: str | None = None
    message: str = Field(description="what is wrong, in one sentence")
    consequence: str = Field(default="", description="what AMPS does, or the effect of the problem")
    excluded: bool = Field(default=False, description="ExcludeValidation switches this check off for the topic")
    source_at: Spot | None = None
    destination_at: Spot | None = None
    fix: Fix | None = None

    @property
    def sort_key(self) -> tuple[int, str, str, str, str, str, str, str]:
        """The order of a report: by level, the most important first, then by link."""
        return (
            LEVELS.index(self.level),
            self.source or "",
            self.destination or "",
            self.topic or "",
            self.message_type or "",
            self.check,
            f"{self.source_at}",
            self.message,
        )


class Suggestion(_Strict):
    """An ``ExcludeValidation`` that makes an intended asymmetry pass, and what it gives up."""

    source: str
    destination: str
    topic: str = Field(description="the name or expression of the Topic entry that gets the exclusion")
    message_type: str
    add: tuple[str, ...] = Field(description="the checks to exclude in addition")
    because: tuple[str, ...]
    gives_up: tuple[str, ...]
    also_relaxes: tuple[str, ...] = Field(
        default=(), description="topics of the same entry that do not need the exclusion"
    )
    fix: Fix


class PlanStep(_Strict):
    """One restart of one instance, or, where several are named, of all of them together."""

    number: int
    stage: str
    instances: tuple[str, ...]
    together: bool = Field(default=False, description="all of these are offline at the same time")
    what: str
    changes: tuple[Fix, ...] = ()
    refused: tuple[str, ...] = Field(default=(), description="links that AMPS refuses after this step")


class Node(_Strict):
    """One instance of the fabric."""

    name: str
    group: str
    file: str


class Edge(_Strict):
    """One link of the fabric: how many known topics it carries, and the worst that was found on it."""

    source: str
    destination: str
    sync: bool
    topics: int
    worst: Level | None = None


class ValidationReport(_Strict):
    """The result of one validation. Findings are in ``ValidationFinding.sort_key`` order."""

    version: Literal[1] = 1
    instances: tuple[Node, ...]
    links: tuple[Edge, ...]
    topics: int = Field(description="how many topics are known by name in the whole fabric")
    findings: tuple[ValidationFinding, ...]
    assumptions: Mapping[str, Any] = Field(description="the assumptions where 60East documents nothing")
    suggestions: tuple[Suggestion, ...] | None = None
    plan: tuple[PlanStep, ...] | None = None
    plan_refused: str | None = Field(default=None, description="why there is no plan although one was asked for")

    @computed_field(description="findings of each level")  # type: ignore[prop-decorator]
    @property
    def summary(self) -> dict[str, int]:
        counted = Counter(finding.level for finding in self.findings)
        return {level.value: counted[level] for level in LEVELS}

    @property
    def exit_code(self) -> int:
        """4 when there is an error, else 0: risks, notes and undecided findings do not fail a build."""
        return EXIT_FINDINGS if self.summary[Level.ERROR] else EXIT_CLEAN

    def to_json(self) -> str:
        """The published form; ``report_schema`` describes it."""
        return self.model_dump_json(indent=2)


def report_schema() -> dict[str, Any]:
    """The JSON schema of ``ValidationReport.to_json``, as published in ``report.schema.json``."""
    schema = ValidationReport.model_json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
