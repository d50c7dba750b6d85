"""The data about a collection of dumps, without the messages. Its size depends on endpoints and dumps only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.amps.instance import Topic
from pipeline.commits import Counted, DumpMark
from pipeline.layout import MICROS
from pipeline.manifest import EndpointSnapshot, UnreadDump
from pipeline.places import Place
from pipeline.rows import LOG, SOW, EndpointKey


@dataclass(frozen=True, slots=True)
class Dump:
    """One file. ``topic``: the SOW topic; None for a journal. ``made_at``: seconds since the epoch."""

    service: str
    topic: Topic | None
    place: Place
    made_at: float

    @property
    def sow(self) -> EndpointKey | None:
        """The endpoint of its records; None for a journal, which has messages of several endpoints."""
        return None if self.topic is None else EndpointKey(self.service, str(self.topic), SOW)

    def may_hold(self, key: EndpointKey) -> bool:
        """May the dump contain messages of this endpoint?"""
        return key == self.sow if self.sow else (key.service, key.kind) == (self.service, LOG)


class Found:
    """The data found so far, starting with ``mark``. ``begins``: the oldest entry of each service's log, microseconds."""

    def __init__(self, mark: DumpMark) -> None:
        self.messages = Counter({one.key: one.messages for one in mark.endpoints})
        self.begins = dict(mark.begins)
        self.left_aside = Counter(mark.left_aside)
        self.unread = {one.file: one for one in mark.unread}

    def mark(self, done: int, offset: int = 0, found: int = 0) -> DumpMark:
        """The data found so far in its stored form, with the position in the dumps."""
        counts = self.messages.items()
        return DumpMark(
            done=done,
            offset=offset,
            found=found,
            endpoints=tuple(Counted(service=k.service, name=k.name, kind=k.kind, messages=n) for k, n in counts),
            begins=self.begins,
            left_aside=self.left_aside,
            unread=tuple(self.unread.values()),
        )

    def not_read(self, file: str, reason: str, length: int) -> None:
        """Count a piece of a dump that went into quarantine."""
        so_far = self.unread.get(file) or UnreadDump(file=file, pieces=0, bytes=0, reason=reason)
        more = {"pieces": so_far.pieces + 1, "bytes": so_far.bytes + length}
        self.unread[file] = so_far.model_copy(update=more)

    def endpoints(self, dumps: Sequence[Dump]) -> tuple[EndpointSnapshot, ...]:
        """Each endpoint. An unreadable piece of a log may be of any topic, so it counts for all topics."""
        return tuple(
            self._snapshot(key, [one for one in dumps if one.may_hold(key)]) for key in sorted(self.messages)
        )

    def _snapshot(self, key: EndpointKey, dumps: Sequence[Dump]) -> EndpointSnapshot:
        # The newest entries of a log are in the dump that was made last.
        made_at = max(one.made_at for one in dumps)
        begins = self.begins.get(key.service) if key.kind == LOG else None
        return EndpointSnapshot(
            service=key.service,
            name=key.name,
            kind=key.kind,
            messages=self.messages[key],
            taken_from=made_at,
            taken_to=made_at,
            begins_at=None if begins is None else begins / MICROS,
            unread=sum(self.unread[one.place.name].pieces for one in dumps if one.place.name in self.unread),
        )
