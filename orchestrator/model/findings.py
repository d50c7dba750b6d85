"""The findings of checks: one model for lint, readiness and validation, printed as text or as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from orchestrator.counting import counted


class Level(StrEnum):
    """How much a finding matters. ``unknown``: the check could not be made, which is never ``ok``."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"
    UNKNOWN = "unknown"


class Finding(BaseModel):
    """One finding. ``code`` is stable, for machines. ``message`` is a sentence. ``hint`` says what to do."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    level: Level
    code: str
    message: str
    hint: str = ""
    file: str | None = None
    line: int | None = None

    def __str__(self) -> str:
        where = "" if self.file is None else f"{self.file}:{self.line}: " if self.line else f"{self.file}: "
        hint = f" ({self.hint})" if self.hint else ""
        return f"{where}{self.level}: {self.message}{hint} [{self.code}]"


_ORDER = (Level.ERROR, Level.UNKNOWN, Level.WARNING, Level.NOTE)
# A mistake that a whole file repeats must not fill the output.
SHOWN_MAX = 100


def first_of(findings: Sequence[Finding]) -> Sequence[Finding]:
    """At most ``SHOWN_MAX`` findings. If there are more, those that matter most, and a last one with the number of the
    others."""
    if len(findings) <= SHOWN_MAX:
        return findings
    shown = sorted(findings, key=lambda finding: _ORDER.index(finding.level))[:SHOWN_MAX]
    rest = counted(len(findings) - SHOWN_MAX, "more finding")
    last = Finding(level=Level.NOTE, code="more-findings", message=f"{rest} not shown", hint="fix these first")
    return [*shown, last]


def worst(findings: Iterable[Finding]) -> Level | None:
    """The level that matters most among ``findings``; None when there are none."""
    levels = {finding.level for finding in findings}
    return next((level for level in _ORDER if level in levels), None)
