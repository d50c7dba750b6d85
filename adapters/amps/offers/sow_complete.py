"""The rule ``sow-complete``: whether an instance that came back by bootstrap has every SOW record of its mate. Pure."""

from __future__ import annotations

from adapters.amps.reading_models import Sow
from orchestrator.counting import counted
from orchestrator.model.comparisons import Rule
from orchestrator.model.plan import Outage
from orchestrator.model.reading import Reading


def sow_reasons(instance: Sow, mate: Sow) -> list[str]:
    """The SOW topics of ``mate`` of which ``instance`` has another number of records.

    The same number counts as the same records: a missing record and an extra one would have to balance. Where new records
    arrive all the time, the numbers may never be equal, because the two instances are sampled at different moments. Then
    a person decides.
    """
    if mate.items is None or instance.items is None:
        return ["the number of records in the SOW topics is unknown"]
    here = {item.key: item.records for item in instance.items}
    return [
        f"{item.topic}: {_number(here.get(item.key))} here, {_number(item.records)} at its mate"
        for item in mate.items
        if item.records is None or here.get(item.key) != item.records
    ]


def _number(records: int | None) -> str:
    return "an unknown number of records" if records is None else counted(records, "record")


def _reasons(source: Reading, target: Reading, outage: Outage | None) -> list[str] | None:
    del outage
    return sow_reasons(source, target) if isinstance(source, Sow) and isinstance(target, Sow) else None


SOW_COMPLETE = Rule(
    "sow",
    "SOW topic",
    "all complete",
    "sow-incomplete",
    "the readings do not show that every record was restored",
    _reasons,
    lambda source, target, outage: False,
    ("accept", "stop"),
    settles=True,
    option="--accept-sow TEXT",
)
