"""The rules by which a step may ``compare`` both sites: what is read of each, and what keeps the step from being done.

Pure. A rule lists the reasons why something is not shown. It is shown if there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from orchestrator.core.failback import is_shown_unsafe, unsafe_reasons
from orchestrator.counting import counted
from orchestrator.model.plan import Outage
from orchestrator.model.reading import Reading
from orchestrator.model.readings_amps import Sow
from orchestrator.model.readings_solace import Endpoints
from orchestrator.model.runbook import Choice, Comparison, Side

RISK_GATE = "unsafe-return"
SOW_GATE = "sow-incomplete"

_BOTH: tuple[Side, ...] = ("source", "target")


@dataclass(frozen=True, slots=True)
class Rule:
    """``reading`` is read of both sites. ``reasons``: from the source's reading, the target's and what is known of the
    outage; None for readings of another kind. ``good``: the note when there are none. Otherwise ``gate`` asks, with
    ``why``. It does not offer ``attest`` of its ``choices`` if the readings ``is_refuted`` what would be attested.
    ``settles``: a difference may still go away, so the step waits its ``patience`` first. ``option``: what answers
    beforehand, if ``why`` does not name it."""

    reading: Literal["endpoints", "sow"]
    noun: str
    good: str
    gate: str
    why: str
    reasons: Callable[[Reading, Reading, Outage | None], list[str] | None]
    is_refuted: Callable[[Reading, Reading, Outage | None], bool]
    choices: tuple[Choice, ...]
    settles: bool = False
    option: str = ""


def sow_reasons(instance: Sow, mate: Sow) -> list[str]:
    """The SOW topics of ``mate`` of which ``instance`` has another number of records.

    The same number counts as the same records: a missing record and an extra one would have to balance. Where new records
    arrive all the time, the numbers may never be equal, because the two instances are sampled at different moments. Then
    a person decides.
    """
    if mate.items is None or instance.items is None:
        return ["how many records the SOW topics hold is unknown"]
    here = {item.key: item.records for item in instance.items}
    return [
        f"{item.topic}: {_number(here.get(item.key))} here, {_number(item.records)} at its mate"
        for item in mate.items
        if item.records is None or here.get(item.key) != item.records
    ]


def _number(records: int | None) -> str:
    return "an unknown number of records" if records is None else counted(records, "record")


def _of_endpoints(source: Reading, target: Reading, outage: Outage | None) -> list[str] | None:
    if not isinstance(source, Endpoints) or not isinstance(target, Endpoints):
        return None
    return unsafe_reasons(source, target, outage)


def _is_unsafe(source: Reading, target: Reading, outage: Outage | None) -> bool:
    if not isinstance(source, Endpoints) or not isinstance(target, Endpoints):
        return False
    return is_shown_unsafe(source, target, outage)


def _of_sow(source: Reading, target: Reading, outage: Outage | None) -> list[str] | None:
    return sow_reasons(source, target) if isinstance(source, Sow) and isinstance(target, Sow) else None


RULES: Mapping[Comparison, Rule] = {
    "failback-safe": Rule(
        "endpoints",
        "endpoint",
        "all safe",
        RISK_GATE,
        "it is not shown to be safe to go back",
        _of_endpoints,
        _is_unsafe,
        ("accept", "attest", "stop"),
    ),
    "sow-complete": Rule(
        "sow",
        "SOW topic",
        "all complete",
        SOW_GATE,
        "it is not shown that every record was restored",
        _of_sow,
        lambda source, target, outage: False,
        ("accept", "stop"),
        settles=True,
        option="--accept-sow TEXT",
    ),
}


def compared_by(comparison: Comparison | None) -> tuple[tuple[Side, str], ...]:
    """What a step reads, and of which site, to compare both; empty if it compares nothing."""
    return () if comparison is None else tuple((side, RULES[comparison].reading) for side in _BOTH)
