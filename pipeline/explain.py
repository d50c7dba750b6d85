"""The data that explains why only one site has a message (``why`` of ``sql/reconcile.sql``).

The time between the two snapshots explains two kinds: messages that were spooled after the other site was read, and
messages that were consumed before it was read. A message can only have been consumed when it was at the head of its
endpoint, before the first message that both sites still hold. This assumes that consumers take messages in order, and
the report states the assumption. An endpoint that does not exist consumed nothing.

A message that another endpoint of the same service gained was moved there, for example to a dead message queue. A
message that had expired when the other site was read may be gone there.

Nothing is consumed from a log or a SOW of AMPS. Each instance removes the oldest entries of its log on its own. So
a publisher's numbers below the lowest number in the other log may have been there (docs/sources/amps.md, 9.8).
This needs no clock. A missing number between the lowest and the highest number is a hole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from pipeline.layout import MICROS
from pipeline.manifest import EndpointSnapshot
from pipeline.rows import EndpointKey
from pipeline.sides import LEFT, RIGHT


@dataclass(frozen=True, slots=True)
class Setting:
    """The data that explains the differences of one endpoint. ``first_common_*``: position of the first message that both
    sites hold; ``snapshot_*`` None: the endpoint does not exist there, or was not read."""

    key: EndpointKey
    first_common_l: int | None
    first_common_r: int | None
    snapshot_l: EndpointSnapshot | None
    snapshot_r: EndpointSnapshot | None
    active: str | None
    failover_at: float | None


_SCHEMA = pa.schema(
    [
        *(pa.field(name, pa.string()) for name in ("service", "endpoint", "kind")),
        *(pa.field(name, pa.int64()) for name in ("first_common_l", "first_common_r")),
        *(pa.field(f"{name}_{side}", pa.int64()) for side in "lr" for name in ("from", "to", "begins")),
        pa.field("active", pa.int32()),
        pa.field("failover", pa.int64()),
    ]
)


def as_table(settings: Sequence[Setting]) -> pa.Table:
    """The settings as a table, with times in microseconds."""
    columns = [list(column) for column in zip(*map(_row, settings), strict=True)] or [[] for _ in _SCHEMA]
    return pa.table([pa.array(*one) for one in zip(columns, _SCHEMA.types, strict=True)], schema=_SCHEMA)


def _row(setting: Setting) -> tuple[object, ...]:
    times = [_micros(one) for side in (setting.snapshot_l, setting.snapshot_r) for one in _moments(side)]
    active: Mapping[str | None, int] = {"left": LEFT, "right": RIGHT}
    return (
        *(setting.key.service, setting.key.name, setting.key.kind),
        *(setting.first_common_l, setting.first_common_r, *times),
        active.get(setting.active),
        _micros(setting.failover_at),
    )


def _moments(snapshot: EndpointSnapshot | None) -> tuple[float | None, ...]:
    return (snapshot.taken_from, snapshot.taken_to, snapshot.begins_at) if snapshot else (None, None, None)


def _micros(moment: float | None) -> int | None:
    return None if moment is None else round(moment * MICROS)
