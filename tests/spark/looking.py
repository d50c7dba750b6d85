"""Readings with a known course, kept as `failover watch` keeps them; and what the alerts about them must be."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from adapters.amps.reading_models import Link, Links, Queue, Queues, TransactionLog, Transport, Transports
from adapters.solace.reading_models import QueueDepth, ReplicationStatus
from orchestrator.journal.samples import ReadingSample
from orchestrator.model.readings import Role
from pipeline.watch.alerts import Alert, AnyCourse
from pipeline.watch.arrivals import Rules
from pipeline.watch.course import Kind
from pipeline.watch.fold import Folded, Key, Row, fold
from pipeline.watch.link import LinkKind

START = 1_795_143_600.0
RULES = Rules(window_s=300.0, stall_s=120.0, late_s=30.0, full_within_s=600.0)
WATCH_RULES = ("--window", "5m", "--stall", "2m", "--late", "30s", "--full-within", "10m")


@dataclass(frozen=True)
class Seen:
    """One reading. ``after``: seconds from the start; ``messages`` and ``usage_mb`` None: unknown."""

    after: float
    messages: int | None
    usage_mb: float | None = None
    quota_mb: float | None = None
    service: str = "Trading_VPN"
    site: str = "ny"
    role: Role | None = Role.STANDBY
    bound: bool | None = True
    failure: str = ""
    look: str = ""

    def line(self, look: str) -> ReadingSample:
        """As it is kept."""
        queue = QueueDepth(messages=self.messages, usage_mb=self.usage_mb, quota_mb=self.quota_mb)
        return ReadingSample.model_construct(
            look=look,
            by="watch",
            at=START + self.after,
            simulated=True,
            site=self.site,
            service=self.service,
            readings={
                **({} if self.failure else {"replication_queue": queue}),
                "replication": ReplicationStatus(role=self.role, queue_bound=self.bound),
            },
            failures={"replication_queue": self.failure} if self.failure else {},
        )


@dataclass(frozen=True)
class Joined:
    """One reading of an AMPS instance. ``connected`` None: unknown; ``failure``: it does not answer. ``out``: messages
    that went over the link; ``room_s``: for how long there is room for journals; ``closed``: no client may come in."""

    after: float
    behind_s: float | None
    out: int | None = 0
    connected: bool | None = True
    sync: bool = True
    calm_s: float = 0.0
    owned: int = 0
    percent: float = 10.0
    room_s: float = 90_000.0
    closed: bool = False
    service: str = "orders"
    site: str = "ldn"
    failure: str = ""
    look: str = ""

    def line(self, look: str) -> ReadingSample:
        """As it is kept."""
        link = Link(
            name="orders-ny",
            connected=self.connected,
            sync=self.sync,
            configured_sync=True,
            behind_s=self.behind_s,
            calm_s=self.calm_s,
            messages_out=self.out,
        )
        taken = max(self.percent, 0.1)
        log = TransactionLog(
            bytes=round(taken * 1_000),
            capacity_bytes=100_000,
            oldest_at=0.0,
            newest_at=self.room_s * taken / (100.0 - taken) if taken < 100 else 1.0,
        )
        had: dict[str, Any] = {
            "links": Links(mate="orders-ny", interval_s=10.0, items=(link,)),
            "queues": Queues(items=(Queue(name="jobs", depth=self.owned, owned=self.owned),)),
            "transaction_log": log,
            "transports": Transports(items=(Transport(name="tcp", replication=False, enabled=not self.closed),)),
        }
        return ReadingSample.model_construct(
            look=look,
            by="watch",
            at=START + self.after,
            simulated=True,
            site=self.site,
            service=self.service,
            mate="ny",
            failures=dict.fromkeys(had, self.failure) if self.failure else {},
            readings={} if self.failure else had,
        )


@dataclass
class TextLine:
    """A line as Spark gives it to the fold."""

    name: str
    written_at: float
    number: int
    text: str
    site: str | None
    service: str | None


@dataclass(frozen=True)
class File:
    """A look that has come. ``arrives``: seconds from the start, when it was written."""

    name: str
    arrives: float
    text: str

    def write(self, folder: Path) -> None:
        """Put it there as the writer does, with its own time."""
        folder.mkdir(exist_ok=True)
        beside = folder / f".{self.name}.unfinished"
        beside.write_text(self.text, encoding="utf-8")
        os.utime(beside, (START + self.arrives, START + self.arrives))
        beside.replace(folder / self.name)

    def rows(self) -> Iterator[TextLine]:
        """Its lines, with site and service where the text has them."""
        for number, text in enumerate(self.text.split("\n")):
            if text:
                whose = _whose(text)
                yield TextLine(self.name, START + self.arrives, number, text, *whose)


def _whose(text: str) -> tuple[str | None, str | None]:
    try:
        found = json.loads(text)
    except ValueError:
        return None, None
    whose = [found.get(name) if isinstance(found, dict) else None for name in ("site", "service")]
    site, service = (one if one is None else str(one) for one in whose)
    return site, service


def file_of(seen: Sequence[Seen | Joined], *, arrives: float | None = None, name: str = "") -> File:
    """One look; it arrives at once unless told otherwise."""
    look = seen[0].look or f"{seen[0].after:09.3f}-{seen[0].site}"
    text = b"".join(one.line(look).encoded() for one in seen).decode()
    return File(f"{name or look}.jsonl", seen[0].after if arrives is None else arrives, text)


def draining(rate: float, depth: int, *, until: float, every: float = 10.0, **more: Any) -> list[Seen]:
    """A queue that gets shorter by ``rate`` messages a second, down to 0."""
    steps = [every * number for number in range(int(until / every) + 1)]
    return [Seen(after, max(0, round(depth - rate * after)), **more) for after in steps]


def night() -> list[File]:
    """One service stalls while it drains, one fills up, one cannot be read for a while; see ``NIGHT``."""
    stalls = [
        replace(one, messages=max(0, round(6_000 - 10 * (min(one.after, 200) + max(0.0, one.after - 500)))))
        for one in draining(0, 0, until=1_000)
    ]
    fills = [
        Seen(one.after, round(one.after * 10), one.after, 1_000.0, "Risk_VPN", "ny", Role.ACTIVE, False)
        for one in stalls
    ]
    blind = [
        replace(one, service="Blind_VPN", failure="no answer" if 300 <= one.after < 400 else "", messages=0)
        for one in stalls
    ]
    return [file_of(look) for look in zip(stalls, fills, blind, strict=True)]


# (seconds from the start, service, what): by arithmetic from the course of each, with RULES. Alerts wait for 30 s of
# younger readings, so nothing after 970 is told.
NIGHT: list[tuple[float, str, Kind]] = [
    (140, "Risk_VPN", "drain.stalled"),  # not empty since 10, and nothing ever left
    (300, "Blind_VPN", "queue.unknown"),
    (330, "Trading_VPN", "drain.stalled"),  # moved last at 200; 320 is not longer than 120 s
    (400, "Blind_VPN", "queue.known"),
    (400, "Risk_VPN", "queue.full-soon"),  # 1 MB a second, 600 MB left
    (510, "Trading_VPN", "drain.moving"),
    (800, "Risk_VPN", "queue.high"),
    (900, "Trading_VPN", "queue.drained"),
]


def night_of_links() -> list[File]:
    """The link is cut, drains what came meanwhile, and later stalls; see ``NIGHT_OF_LINKS``."""
    seen = []
    for after in range(0, 1_000, 10):
        one = Joined(after, 0.0, out=after)
        if 100 <= after < 200:
            one = replace(one, connected=False, behind_s=after - 95.0, out=95)
        elif 200 <= after < 250:
            one = replace(one, behind_s=105.0 - 2.0 * (after - 200))
        elif 500 <= after < 700:
            one = replace(one, behind_s=after - 495.0, out=495)
        elif 800 <= after < 850:
            one = replace(one, failure="nobody listens")
        calm = after - max((start for start in (0, 250, 700, 850) if start <= after), default=0)
        seen.append(replace(one, calm_s=float(calm) if one.behind_s == 0.0 else 0.0))
    return [file_of([one]) for one in seen]


# (seconds from the start, service, what), by arithmetic from that course, with RULES.
NIGHT_OF_LINKS: list[tuple[float, str, LinkKind]] = [
    (100, "orders", "link.cut"),
    (200, "orders", "link.connected"),
    (270, "orders", "link.caught-up"),  # 0 behind since 250, for two whole intervals
    (630, "orders", "drain.stalled"),  # the last message went out before 500; 620 is not longer than 120 s
    (700, "orders", "drain.moving"),
    (720, "orders", "link.caught-up"),
    (800, "orders", "link.unknown"),
    (850, "orders", "link.known"),
]


def brief(alerts: Iterable[Alert]) -> list[tuple[float, str, str]]:
    """Alerts as ``NIGHT`` has them."""
    return sorted(
        (
            datetime.fromisoformat(one["time"]).timestamp() - START,
            one["data"]["service"],
            one["data"]["event"]["kind"],
        )
        for one in alerts
    )


def fold_all(files: Iterable[File], rules: Rules = RULES, before: Mapping[Key, AnyCourse] | None = None) -> Folded:
    """The plain fold over files in the order in which they come, without Spark."""
    rows: list[Row] = [row for one in sorted(files, key=lambda one: (one.arrives, one.name)) for row in one.rows()]
    rows.sort(key=lambda row: (row.site or "", row.service or ""))
    whole = Folded(courses=dict(before or {}))
    for part in fold(rows, before or {}, rules):
        whole.courses |= part.courses
        whole.alerts += part.alerts
        whole.lines += part.lines
        whole.unusable += part.unusable
        whole.others += part.others
    return whole


def by_id(alerts: Iterable[Alert]) -> list[Alert]:
    """In an order that does not depend on how they came."""
    return sorted(alerts, key=lambda one: str(one["id"]))
