"""What a family adds to the row of ``failover status``: figures of its own, and what no facet shows.

Who serves, whether the link holds, what is left behind and whether replication is suspended comes from the facets, for
every family alike (``orchestrator.core.pair_position``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.model.outcome import Failure
from orchestrator.model.reading import Reading

# By reading and service.
Answers = Mapping[str, Mapping[str, Reading | Failure]]
# One site's side of a service, by figure; None is unknown.
Figures = Mapping[str, object]


def _no_remark(word: str, ends: Mapping[str, Figures]) -> str:
    return ""


def _no_repair(service: str, ends: Mapping[str, Figures]) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class StatusPart:
    """``readings``: what is read of each site. ``figures``: one end of a service, for machines and for ``cells``, which
    fill ``columns``; the columns in ``numbers`` are set to the right. ``remark``: what is wrong besides ``word``, the
    verdict by facets, given both ends by site; empty: nothing. ``repair``: what to do where both sites are active, or
    none is; empty: the family has no command for it.
    """

    readings: Sequence[str]
    columns: Sequence[str]
    numbers: frozenset[str]
    figures: Callable[[Answers, str], Figures]
    cells: Callable[[Figures], Sequence[str]]
    remark: Callable[[str, Mapping[str, Figures]], str] = _no_remark
    repair: Callable[[str, Mapping[str, Figures]], str] = _no_repair


def first_failure(answers: Answers, readings: Sequence[str], service: str) -> dict[str, object]:
    """The figure ``error``: why the first of ``readings`` that could not be had was not; without a failure nothing."""
    found = (answers[reading].get(service) for reading in readings)
    return next(({"error": one.text} for one in found if isinstance(one, Failure)), {})


def shown(value: object) -> str:
    """A figure in a cell."""
    return "unknown" if value is None else f"{value:,}" if isinstance(value, int) else str(value)
