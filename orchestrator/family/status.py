"""What a family adds to the row of ``failover status``: its own figures, and remarks that no facet gives.

The facets show the rest, for every family in the same way (``orchestrator.core.pair_position``): which site serves,
whether the link holds, how much is left behind and whether replication is suspended.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading

# By reading and service.
Answers = Mapping[str, Mapping[str, Reading | Failure]]
# The figures of a service at one site, by name; None is unknown.
Figures = Mapping[str, object]


def _no_remark(word: str, ends: Mapping[str, Figures]) -> str:
    return ""


def _no_repair(service: str, ends: Mapping[str, Figures]) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class StatusPart:
    """``readings``: the readings of each site. ``figures``: one end of a service, for machines and for ``cells``, which
    fill ``columns``. The columns in ``numbers`` are aligned to the right. ``remark``: a problem besides ``word``, the
    verdict by facets, given both ends by site; empty: none. ``repair``: the remedy if both sites are active, or
    neither; empty: the family has no command for it."""

    readings: Sequence[str]
    columns: Sequence[str]
    numbers: frozenset[str]
    figures: Callable[[Answers, str], Figures]
    cells: Callable[[Figures], Sequence[str]]
    remark: Callable[[str, Mapping[str, Figures]], str] = _no_remark
    repair: Callable[[str, Mapping[str, Figures]], str] = _no_repair


def first_failure(answers: Answers, readings: Sequence[str], service: str) -> dict[str, object]:
    """The figure ``error``: the error of the first of ``readings`` that failed; an empty dict if none failed."""
    found = (answers[reading].get(service) for reading in readings)
    return next(({"error": one.text} for one in found if isinstance(one, Failure)), {})


def shown(value: object) -> str:
    """The text of a figure in a cell."""
    return "unknown" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
