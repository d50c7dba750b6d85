"""Collects the dumps of AMPS instances into an export: resumable, with progress, in bounded memory.

A log becomes one endpoint for each topic, and (client name hash, client seq) identifies its messages. A SOW becomes one
endpoint, and its keys identify its records (docs/sources/amps.md, 8.1: identities that are equal at both sites). Fields
that dumps do not report stay empty: whether the mate has a message, the number of deliveries, the role of the instance,
the contents of queues. Each dump is read once, from start to end. Committed data is not read again. Needs no Spark.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.clock import Clock
from orchestrator.errors import DefinitionError
from pipeline.amps.files import open_dump, pieces_of, remark_on
from pipeline.amps.found import Dump, Found
from pipeline.amps.instance import Instance, Topic
from pipeline.amps.journal_dump import Entry, JournalDump
from pipeline.amps.kinds import is_message
from pipeline.amps.quarantine import Quarantine
from pipeline.amps.sow_dump import SowDump, SowRecord
from pipeline.amps.text import Quarantined
from pipeline.collect import Job
from pipeline.commits import Commit, CommitLog, DumpMark, Opening, collecting
from pipeline.layout import MICROS
from pipeline.manifest import DumpsRead, Manifest
from pipeline.parts import Bounds, Parts
from pipeline.places import Place
from pipeline.rows import LOG, EndpointKey, Message, digest_of

# The fields of a message that no dump reports.
UNKNOWN = ("replicated", "redeliveries", "expires_at", "dmq_eligible", "priority")
NO_TIME = "the entry has no time, or its time is not in UTC"


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a collection. ``messages`` includes earlier attempts. ``has_ended``: the collection ended."""

    dumps: int
    dumps_total: int
    messages: int
    has_ended: bool = False


def dumps_of(instances: Mapping[str, Instance], made_at: float | None = None) -> list[Dump]:
    """Every dump of these services' instances, always in the same order.

    A dump does not contain the time when it was made. If ``made_at`` is None, the time of its file is used. Copying can
    only make this time later. So no older message is treated as one that came after the dump.
    """
    found = []
    for service, instance in sorted(instances.items()):
        files: list[tuple[Topic | None, Place]] = [(None, place) for place in instance.journals]
        files += sorted(instance.sow.items())
        for topic, place in files:
            found.append(Dump(service, topic, place, place.modified_at() if made_at is None else made_at))
    return found


def collect_dumps(
    dumps: list[Dump],
    directory: Path,
    job: Job,
    clock: Clock,
    *,
    observe: Callable[[Progress], None] = lambda _: None,
    bounds: Bounds | None = None,
) -> Manifest:
    """Read every dump into ``directory``; writes the manifest there and returns it.

    Raises ``DefinitionError`` when the directory holds another export, or a dump cannot be read; ``LeaseHeld`` when
    another process collects into it, ``OutputLost`` when it cannot be written. After any of these errors, the same call
    continues where this call stopped.
    """
    opening = Opening(site=job.site, run=job.run, dumps=_fingerprint(dumps), started_at=clock.now())
    with collecting(directory, opening) as log:
        found = _Collection(dumps, directory, job, log, observe, bounds).run()
        read = DumpsRead(
            dumps=len(dumps),
            left_aside=dict(sorted(found.left_aside.items())),
            unread=tuple(found.unread.values()),
            quarantine=tuple(log.quarantine),
        )
        return log.end(job.manifest(log, clock, found.endpoints(dumps), unknown=UNKNOWN, dumps=read))


def _fingerprint(dumps: list[Dump]) -> str:
    """A hash that identifies these dumps. It changes if a dump changes."""
    told = [f"{one.service}\n{one.place.name}\n{one.place.size()}\n{one.place.modified_at()}" for one in dumps]
    return hashlib.sha256("\n".join(told).encode()).hexdigest()


class _Collection:
    """One attempt at a collection."""

    def __init__(
        self,
        dumps: list[Dump],
        directory: Path,
        job: Job,
        log: CommitLog,
        observe: Callable[[Progress], None],
        bounds: Bounds | None,
    ) -> None:
        self._dumps = dumps
        self._job = job
        self._log = log
        self._observe = observe
        self._begun = log.mark or DumpMark(done=0)
        self._found = Found(self._begun)
        self._parts = Parts(directory, job.site, first=log.next_file, bounds=bounds)
        self._quarantine = Quarantine(directory, first=len(log.quarantine) + 1)
        self._messages = sum(file.rows for file in log.files)
        self._uncommitted = 0

    def run(self) -> Found:
        try:
            for number in range(self._begun.done, len(self._dumps)):
                self._read(number)
            self._commit(self._found.mark(len(self._dumps)))
        finally:
            self._parts.abandon()
        self._observe(Progress(len(self._dumps), len(self._dumps), self._messages, has_ended=True))
        return self._found

    def _read(self, number: int) -> None:
        dump = self._dumps[number]
        name = dump.place.name
        is_begun = number == self._begun.done
        offset, found = (self._begun.offset, self._begun.found) if is_begun else (0, 0)
        if dump.sow is not None:
            self._found.messages[dump.sow] += 0  # a SOW without records is an endpoint, too
        try:
            with open_dump(name) as stream:
                stream.seek(offset)
                text = JournalDump(stream, offset) if dump.sow is None else SowDump(stream)
                for one in pieces_of(text):
                    found += self._take(number, one, text.offset)
                    # The number of records is at the end of each SOW file, so a SOW file is read without a commit.
                    if self._uncommitted >= self._job.rows_a_commit and dump.sow is None:
                        self._commit(self._found.mark(number, text.offset, found))
        except OSError as error:
            raise DefinitionError(f"this dump cannot be read: {error.strerror or error}", file=name) from error
        remark = remark_on(text.total, found)
        if remark is not None:
            self._quarantine.remark(name, remark)
            self._found.not_read(name, remark, 0)
        if self._uncommitted >= self._job.rows_a_commit:
            self._commit(self._found.mark(number + 1))

    def _take(self, number: int, one: Entry | SowRecord | Quarantined, offset: int) -> int:
        """Store one piece as a message, a count or in quarantine. Returns 1 for a record of the dump."""
        dump = self._dumps[number]
        if isinstance(one, Quarantined):
            self._set_aside(dump, one)
            return 0
        if isinstance(one, Entry) and not is_message(one.type):
            self._found.left_aside[one.type] += 1
            return 1
        if one.micros is None:
            self._set_aside(dump, Quarantined(one.offset, offset - one.offset, NO_TIME, b""))
            return 1
        key, message = _of_log(dump, one, one.micros) if isinstance(one, Entry) else _of_sow(dump, one, one.micros)
        if key.kind == LOG:
            self._found.begins[key.service] = min(self._found.begins.get(key.service, one.micros), one.micros)
        self._parts.add(key, message.position or 0, message)
        self._found.messages[key] += 1
        self._messages += 1
        self._uncommitted += 1
        if self._messages % self._job.rows_a_report == 0:
            self._observe(Progress(number, len(self._dumps), self._messages))
        return 1

    def _set_aside(self, dump: Dump, one: Quarantined) -> None:
        self._quarantine.piece(dump.place.name, one)
        self._found.not_read(dump.place.name, one.reason, one.length)

    def _commit(self, mark: DumpMark) -> None:
        files, aside = tuple(self._parts.close_all()), tuple(self._quarantine.close_all())
        self._log.commit(Commit(files=files, quarantine=aside, mark=mark, next_file=self._parts.next_number))
        self._uncommitted = 0


def _of_log(dump: Dump, entry: Entry, micros: int) -> tuple[EndpointKey, Message]:
    """The message of a log entry. Its position is its txid, which grows along the log and is local to the instance."""
    topic = str(Topic(entry.topic, entry.message_type))
    digest = None if entry.data is None else digest_of(entry.data)
    identity = f"{entry.client}|{entry.sequence}"
    message = Message(identity, micros / MICROS, size=entry.size, digest=digest, position=entry.txid)
    return EndpointKey(dump.service, topic, LOG), message


def _of_sow(dump: Dump, record: SowRecord, micros: int) -> tuple[EndpointKey, Message]:
    """The message of a SOW record. Records have no order, so positions are made of keys and are equal at both sites."""
    assert dump.sow is not None  # only a SOW dump has records
    size, digest, place = record.size, digest_of(record.data), int(record.key) >> 1
    return dump.sow, Message(record.key, micros / MICROS, size=size, digest=digest, position=place)
